// A signed block from the Beacon API's JSON, for nodes that do not offer SSZ.
import type { Fork } from '#core/consensus.ts'
import { type Attestation, type Block, inBoth, type Payload, payloadOf } from './block.ts'
import { bytesOf, type Fields, fieldsOf, figureOf, hexOf, listOf } from './json.ts'

export function blockFromJson(signed: unknown, fork: Fork): Block {
  const message = fieldsOf(fieldsOf(signed, 'data').message, 'message')
  const body = fieldsOf(message.body, 'body')
  const each = <T>(name: string, of: (fields: Fields) => T): T[] =>
    listOf(body[name], name).map((member) => of(fieldsOf(member, name)))
  return {
    fork,
    slot: figureOf(message.slot, 'slot'),
    proposer: figureOf(message.proposer_index, 'proposer_index'),
    parentRoot: hexOf(message.parent_root, 'parent_root', 32),
    proposerSlashings: each('proposer_slashings', ({ signed_header_1 }) => {
      const header = fieldsOf(fieldsOf(signed_header_1, 'signed_header_1').message, 'message')
      return figureOf(header.proposer_index, 'proposer_index')
    }),
    attesterSlashings: each('attester_slashings', ({ attestation_1, attestation_2 }) =>
      inBoth(indicesOf(attestation_1), indicesOf(attestation_2)),
    ),
    attestations: each('attestations', attestationOf),
    deposits: each('deposits', (deposit) => {
      const data = fieldsOf(deposit.data, 'data')
      return { pubkey: hexOf(data.pubkey, 'pubkey', 48), amount: figureOf(data.amount, 'amount') }
    }),
    syncBits: bytesOf(fieldsOf(body.sync_aggregate, 'sync_aggregate').sync_committee_bits, 'sync_committee_bits'),
    payload: body.execution_payload == null ? undefined : payloadOf(payloadFrom(body.execution_payload)),
  }
}

const indicesOf = (indexed: unknown): number[] =>
  listOf(fieldsOf(indexed, 'attestation').attesting_indices, 'attesting_indices').map((index) =>
    figureOf(index, 'attesting_indices'),
  )

function attestationOf(fields: Fields): Attestation {
  const data = fieldsOf(fields.data, 'data')
  const target = fieldsOf(data.target, 'target')
  return {
    slot: figureOf(data.slot, 'slot'),
    index: figureOf(data.index, 'index'),
    blockRoot: hexOf(data.beacon_block_root, 'beacon_block_root', 32),
    targetEpoch: figureOf(target.epoch, 'epoch'),
    targetRoot: hexOf(target.root, 'root', 32),
    bits: bytesOf(fields.aggregation_bits, 'aggregation_bits'),
    committeeBits: fields.committee_bits == null ? undefined : bytesOf(fields.committee_bits, 'committee_bits'),
  }
}

function payloadFrom(value: unknown): Payload {
  const payload = fieldsOf(value, 'execution_payload')
  const withdrawals = payload.withdrawals == null ? [] : listOf(payload.withdrawals, 'withdrawals')
  return {
    feeRecipient: hexOf(payload.fee_recipient, 'fee_recipient', 20),
    number: figureOf(payload.block_number, 'block_number'),
    hash: hexOf(payload.block_hash, 'block_hash', 32),
    transactions: listOf(payload.transactions, 'transactions').length,
    withdrawals: withdrawals.map((member) => {
      const { validator_index, amount } = fieldsOf(member, 'withdrawals')
      return { validator: figureOf(validator_index, 'validator_index'), amount: figureOf(amount, 'amount') }
    }),
  }
}
