// Deposits and consolidations that wait in a state, since Electra: they explain balances that change without a duty.
// Both are kept as SSZ records, one after another, whichever form they came in.
import type { ConsensusRules } from './consensus.ts'
import { View } from './ssz.ts'
import { bytesType, containerType, listType, uintType } from './ssz-type.ts'

export interface PendingQueues {
  readonly deposits: Uint8Array
  readonly consolidations: Uint8Array
}

/** Before Electra nothing waits. */
export const emptyPendingQueues: PendingQueues = { deposits: new Uint8Array(0), consolidations: new Uint8Array(0) }

export interface PendingDeposit {
  /** As 0x text. */
  readonly pubkey: string
  readonly gwei: number
  /** 0: not a deposit of its own, but a balance that the chain put into the queue. */
  readonly slot: number
}

export interface PendingConsolidation {
  readonly source: number
  readonly target: number
}

const depositSize = 192
const consolidationSize = 16
const uint64 = uintType(8)

const depositList = listType(
  containerType({
    pubkey: bytesType(48),
    withdrawal_credentials: bytesType(32),
    amount: uint64,
    signature: bytesType(96),
    slot: uint64,
  }),
  2 ** 27,
)
const consolidationList = listType(containerType({ source_index: uint64, target_index: uint64 }), 2 ** 18)

/** The queues of `/eth/v1/beacon/states/{state}/pending_deposits` and `…/pending_consolidations`, by their JSON. */
export const pendingDepositsFromJson = (data: unknown): Uint8Array => depositList.fromJson(data, 'pending_deposits')
export const pendingConsolidationsFromJson = (data: unknown): Uint8Array =>
  consolidationList.fromJson(data, 'pending_consolidations')

/** Copies them out of a state of Electra or later. `from`: where the offset of the first field behind the inactivity scores lies. */
export function pendingFromState(state: View, from: number, rules: ConsensusRules): PendingQueues {
  const syncCommittee = (rules.syncCommitteeSize + 1) * 48
  // Two sync committees, the payload's header, two withdrawal indices, the historical summaries, six figures of churn.
  const at = from + 2 * syncCommittee + 4 + 16 + 4 + 48
  // Partial withdrawals lie between the two.
  const [deposits, partials, consolidations] = [state.u32(at), state.u32(at + 4), state.u32(at + 8)]
  return {
    deposits: new Uint8Array(state.part(deposits, partials).bytes),
    consolidations: new Uint8Array(state.part(consolidations, state.length).bytes),
  }
}

export interface PendingChange {
  /** Left the queue: carried out or dropped. */
  readonly deposits: readonly PendingDeposit[]
  readonly consolidations: readonly PendingConsolidation[]
  /** New in the queue. */
  readonly queued: readonly PendingDeposit[]
}

export function pendingChange(before: PendingQueues, after: PendingQueues): PendingChange {
  const deposits = recordChange(before.deposits, after.deposits, depositSize)
  return {
    deposits: deposits.removed.map(depositIn),
    queued: deposits.added.map(depositIn),
    consolidations: recordChange(before.consolidations, after.consolidations, consolidationSize).removed.map(
      (record) => {
        const view = new View(record)
        return { source: view.u64(0), target: view.u64(8) }
      },
    ),
  }
}

function depositIn(record: Uint8Array): PendingDeposit {
  const view = new View(record)
  return { pubkey: view.hex(0, 48), gwei: view.u64(80), slot: view.u64(184) }
}

/** So many are looked for at the front before all records are compared. */
const frontMax = 64

function recordChange(before: Uint8Array, after: Uint8Array, size: number) {
  const [old, now] = [bufferOf(before), bufferOf(after)]
  // Records leave at the front and come in at the end: what is left of the old queue begins the new one.
  for (let gone = 0; gone <= Math.min(frontMax, old.length / size); gone++) {
    const kept = old.length - gone * size
    if (kept > now.length || old.compare(now, 0, kept, gone * size) !== 0) continue
    // One that was put off is gone at the front and back at the end.
    return withoutCommon(recordsIn(old.subarray(0, gone * size), size), recordsIn(now.subarray(kept), size))
  }
  return withoutCommon(recordsIn(old, size), recordsIn(now, size))
}

/** The same memory. */
const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length)

const recordsIn = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: bytes.length / size }, (_, at) => bytes.subarray(at * size, (at + 1) * size))

function withoutCommon(removed: readonly Buffer[], added: readonly Buffer[]) {
  const counts = new Map<string, number>()
  for (const record of added) counts.set(record.toString('latin1'), (counts.get(record.toString('latin1')) ?? 0) + 1)
  const left = removed.filter((record) => {
    const key = record.toString('latin1')
    const count = counts.get(key) ?? 0
    if (count > 0) counts.set(key, count - 1)
    return count === 0
  })
  const fresh = added.filter((record) => {
    const key = record.toString('latin1')
    const count = counts.get(key) ?? 0
    if (count > 0) counts.set(key, count - 1)
    return count > 0
  })
  return { removed: left, added: fresh }
}
