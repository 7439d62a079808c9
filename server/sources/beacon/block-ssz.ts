// Reads a signed block from its SSZ bytes, for the forks since Altair. It reads only the fields that ratings need, at
// the offsets that the consensus specifications define (decisions/compute-states-with-the-library-of-a-client.md).

import {
  type Attestation,
  type Bid,
  type Block,
  type BuilderWithdrawal,
  type ExecutionRequests,
  inBoth,
  type Payload,
  type PayloadAttestation,
  payloadOf,
  type Withdrawal,
} from './block.ts'
import { blockTypeOf } from './block-type.ts'
import { type ConsensusRules, type Fork, isForkFrom as isFrom } from './consensus.ts'
import { builderIn, builderOf, withdrawalSize } from './gloas.ts'
import { SszError, View } from './ssz.ts'
import { rootOf } from './ssz-type.ts'

const dataSize = 128
const signatureSize = 96
const headerSize = 208
const depositSize = 1240
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
  // From Deneb to Fulu, the offsets of payload, credentials changes, blob commitments and requests follow. Since Gloas,
  // they are those of credentials changes, bid, payload attestations and requests.
  const payloadAt = syncAt + syncSize + signatureSize
  const isGloas = isFrom(fork, 'gloas')
  const changesAt = payloadAt + (isGloas ? 0 : 4)
  const committeeBytes = isFrom(fork, 'electra') ? Math.ceil(rules.committeesPerSlotMax / 8) : 0
  const proposerSlashings = list(0).list(2 * headerSize)
  return {
    fork,
    slot: message.u64(0),
    proposer: message.u64(8),
    parentRoot: message.hex(16, 32),
    proposerSlashings: proposerSlashings.map((slashing) => slashing.u64(8)),
    slashedSlots: proposerSlashings.map((slashing) => slashing.u64(0)),
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
    payload:
      isFrom(fork, 'bellatrix') && !isGloas
        ? payloadOf(payloadFrom(body.variable(payloadAt, isFrom(fork, 'capella') ? changesAt : undefined), fork))
        : undefined,
    exits: body
      .variable(listsAt + 4 * 4, isFrom(fork, 'bellatrix') ? payloadAt : undefined)
      .list(exitSize)
      .map((exit) => exit.u64(8)),
    credentialsChanges: isFrom(fork, 'capella')
      ? body
          .variable(changesAt, isFrom(fork, 'deneb') ? changesAt + 4 : undefined)
          .list(credentialsChangeSize)
          .map((change) => change.u64(0))
      : [],
    requests: isFrom(fork, 'electra') ? requestsFrom(body.variable(payloadAt + 12), isGloas) : undefined,
    bid: isGloas ? bidFrom(body.variable(payloadAt + 4, payloadAt + 8).variable(0)) : undefined,
    payloadAttestations: isGloas
      ? payloadAttestationsFrom(body.variable(payloadAt + 8, payloadAt + 12), rules)
      : undefined,
  }
}

const noBytes = new Uint8Array(0)

const requestsFrom = (view: View, isGloas: boolean): ExecutionRequests => ({
  deposits: view.variable(0, 4).bytes,
  withdrawals: view.variable(4, 8).bytes,
  consolidations: view.variable(8, isGloas ? 12 : undefined).bytes,
  ...(isGloas && { builderDeposits: view.variable(12, 16).bytes, builderExits: view.variable(16).bytes }),
})

const bidFrom = (view: View): Bid => ({
  parentBlockHash: view.hex(0, 32),
  parentBlockRoot: view.hex(32, 32),
  blockHash: view.hex(64, 32),
  prevRandao: view.part(96, 128).bytes,
  feeRecipient: view.hex(128, 20),
  gasLimit: view.u64(148),
  builder: builderOf(view.u64(156)),
  slot: view.u64(164),
  value: view.u64(172),
  executionPayment: view.u64(180),
  requestsRoot: view.hex(192, 32),
})

function payloadAttestationsFrom(view: View, { payloadCommitteeSize }: ConsensusRules): PayloadAttestation[] {
  const bits = Math.ceil(payloadCommitteeSize / 8)
  return view.list(bits + 42 + signatureSize).map((attestation) => ({
    slot: attestation.u64(bits + 32),
    blockRoot: attestation.hex(bits, 32),
    isPresent: attestation.bytes[bits + 40] === 1,
    hasBlobs: attestation.bytes[bits + 41] === 1,
    bits: attestation.part(0, bits).bytes,
  }))
}

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

export function payloadFrom(view: View, fork: Fork): Payload {
  const hasWithdrawals = isFrom(fork, 'capella')
  const withdrawals = hasWithdrawals ? view.variable(508, isFrom(fork, 'gloas') ? 528 : undefined) : new View(noBytes)
  const transactions = view.variable(504, hasWithdrawals ? 508 : undefined)
  return {
    feeRecipient: view.hex(32, 20),
    prevRandao: view.part(372, 404).bytes,
    number: view.u64(404),
    baseFeeWei: BigInt(`0x${Buffer.from(view.part(440, 472).bytes).reverse().toString('hex')}`),
    hash: view.hex(472, 32),
    transactions: transactions.countVariable(),
    lastTransactions: transactions.lastVariable(3).map(({ bytes }) => bytes),
    ...withdrawalsFrom(withdrawals),
  }
}

/** Reads a list of withdrawals. */
export function withdrawalsFrom(view: View): Required<Pick<Payload, 'withdrawals' | 'builderWithdrawals'>> {
  const withdrawals: Withdrawal[] = []
  const builderWithdrawals: BuilderWithdrawal[] = []
  for (const record of view.list(withdrawalSize)) {
    const [validator, amount] = [record.u64(8), record.u64(36)]
    const builder = builderIn(validator)
    if (builder === undefined) withdrawals.push({ validator, amount })
    else builderWithdrawals.push({ builder, amount })
  }
  return { withdrawals, builderWithdrawals }
}
