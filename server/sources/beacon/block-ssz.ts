// Reads a signed block from its SSZ bytes, for the forks from Altair to Fulu. It reads only the fields that ratings
// need, at the offsets that the consensus specifications define (decisions/read-ssz-in-place.md).

import { type Attestation, type Block, inBoth, type Payload, payloadOf } from './block.ts'
import { blockTypeOf } from './block-type.ts'
import { type ConsensusRules, type Fork, isForkFrom as isFrom } from './consensus.ts'
import { SszError, View } from './ssz.ts'
import { rootOf } from './ssz-type.ts'

const dataSize = 128
const signatureSize = 96
const headerSize = 208
const depositSize = 1240
const withdrawalSize = 44
const exitSize = 112
const credentialsChangeSize = 172
/** In the body, the offsets of five lists follow randao_reveal, eth1_data and graffiti. */
const listsAt = 96 + 72 + 32
const syncAt = listsAt + 5 * 4

export function blockFromSsz(view: View, fork: Fork, rules: ConsensusRules): Block {
  const fields = blockParts(view, fork, rules)
  return { ...fields, root: rootOf(blockTypeOf(fork, rules).message, view.variable(0).bytes) }
}

/** Converts JSON to SSZ, so that the same code reads and hashes both forms. */
export const blockFromJson = (signed: unknown, fork: Fork, rules: ConsensusRules): Block =>
  blockFromSsz(new View(blockTypeOf(fork, rules).signed.fromJson(signed, 'block')), fork, rules)

/** All fields except the root. */
export function blockParts(view: View, fork: Fork, rules: ConsensusRules): Omit<Block, 'root'> {
  if (fork === 'phase0') throw new SszError('blocks before Altair are not supported')
  const message = view.variable(0)
  const body = message.variable(80)
  const list = (offset: number, next = offset + 1) => body.variable(listsAt + offset * 4, listsAt + next * 4)
  const syncSize = Math.ceil(rules.syncCommitteeSize / 8)
  const payloadAt = syncAt + syncSize + signatureSize
  const committeeBytes = isFrom(fork, 'electra') ? Math.ceil(rules.committeesPerSlotMax / 8) : 0
  return {
    fork,
    slot: message.u64(0),
    proposer: message.u64(8),
    parentRoot: message.hex(16, 32),
    proposerSlashings: list(0)
      .list(2 * headerSize)
      .map((slashing) => slashing.u64(8)),
    attesterSlashings: list(1)
      .listVariable()
      .map((slashing) => inBoth(indicesOf(slashing.variable(0, 4)), indicesOf(slashing.variable(4)))),
    attestations: list(2)
      .listVariable()
      .map((attestation) => attestationOf(attestation, committeeBytes)),
    deposits: list(3)
      .list(depositSize)
      .map((deposit) => ({ pubkey: deposit.hex(1056, 48), amount: deposit.u64(1056 + 80) })),
    syncBits: body.part(syncAt, syncAt + syncSize).bytes,
    payload: isFrom(fork, 'bellatrix')
      ? payloadOf(payloadFrom(body.variable(payloadAt, isFrom(fork, 'capella') ? payloadAt + 4 : undefined), fork))
      : undefined,
    exits: body
      .variable(listsAt + 4 * 4, isFrom(fork, 'bellatrix') ? payloadAt : undefined)
      .list(exitSize)
      .map((exit) => exit.u64(8)),
    credentialsChanges: isFrom(fork, 'capella')
      ? body
          .variable(payloadAt + 4, isFrom(fork, 'deneb') ? payloadAt + 8 : undefined)
          .list(credentialsChangeSize)
          .map((change) => change.u64(0))
      : [],
    requests: isFrom(fork, 'electra') ? requestsFrom(body.variable(payloadAt + 12)) : undefined,
  }
}

const requestsFrom = (view: View): Block['requests'] => ({
  deposits: view.variable(0, 4).bytes,
  withdrawals: view.variable(4, 8).bytes,
  consolidations: view.variable(8).bytes,
})

function indicesOf(indexed: View): number[] {
  const indices = indexed.variable(0)
  return indices.list(8).map((index) => index.u64(0))
}

function attestationOf(view: View, committeeBytes: number): Attestation {
  const committeesAt = 4 + dataSize + signatureSize
  return {
    slot: view.u64(4),
    index: view.u64(12),
    blockRoot: view.hex(20, 32),
    targetEpoch: view.u64(4 + 88),
    targetRoot: view.hex(4 + 96, 32),
    bits: view.variable(0).bytes,
    committeeBits: committeeBytes > 0 ? view.part(committeesAt, committeesAt + committeeBytes).bytes : undefined,
  }
}

function payloadFrom(view: View, fork: Fork): Payload {
  const hasWithdrawals = isFrom(fork, 'capella')
  const transactions = view.variable(504, hasWithdrawals ? 508 : undefined)
  return {
    feeRecipient: view.hex(32, 20),
    prevRandao: view.part(372, 404).bytes,
    number: view.u64(404),
    baseFeeWei: BigInt(`0x${Buffer.from(view.part(440, 472).bytes).reverse().toString('hex')}`),
    hash: view.hex(472, 32),
    transactions: transactions.countVariable(),
    lastTransactions: transactions.lastVariable(3).map(({ bytes }) => bytes),
    withdrawals: hasWithdrawals
      ? view
          .variable(508)
          .list(withdrawalSize)
          .map((withdrawal) => ({ validator: withdrawal.u64(8), amount: withdrawal.u64(36) }))
      : [],
  }
}
