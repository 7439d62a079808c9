// The queues of pending deposits and consolidations in a state, since Electra. They explain balance changes that are
// not caused by duties. Both queues are concatenated SSZ records.
import { type ConsensusRules, type Fork, isForkFrom } from './consensus.ts'
import { View } from './ssz.ts'
import { electraOffsets, gloasOffsets } from './state-layout.ts'

export interface PendingQueues {
  readonly deposits: Uint8Array
  readonly consolidations: Uint8Array
}

/** The queues of states before Electra. */
export const emptyPendingQueues: PendingQueues = { deposits: new Uint8Array(0), consolidations: new Uint8Array(0) }

export interface PendingDeposit {
  /** 0x text. */
  readonly pubkey: string
  readonly gwei: number
  /** 0: a balance that the chain put into the queue, not a deposit. */
  readonly slot: number
}

export interface QueuedDeposit extends PendingDeposit {
  /** The withdrawal address in the credentials, as lower-case 0x text. */
  readonly address: string | undefined
}

export interface PendingConsolidation {
  readonly source: number
  readonly target: number
}

export const depositSize = 192
export const consolidationSize = 16
/** Copies the queues from a state of Electra or later. */
export function pendingFromState(state: View, rules: ConsensusRules, fork: Fork): PendingQueues {
  const at = electraOffsets(rules, fork).pendingDeposits
  // Pending partial withdrawals are between the two queues. Since Gloas, the builders are behind them.
  const [deposits, partials, consolidations] = [state.u32(at), state.u32(at + 4), state.u32(at + 8)]
  const end = isForkFrom(fork, 'gloas') ? state.u32(gloasOffsets(rules).builders) : state.length
  return {
    deposits: new Uint8Array(state.part(deposits, partials).bytes),
    consolidations: new Uint8Array(state.part(consolidations, end).bytes),
  }
}

export interface PendingChange {
  /** Left the queue: applied or dropped. */
  readonly deposits: readonly PendingDeposit[]
  readonly consolidations: readonly PendingConsolidation[]
  /** Added to the queue. */
  readonly queued: readonly PendingDeposit[]
}

export function pendingChange(before: PendingQueues, after: PendingQueues): PendingChange {
  const deposits = recordChange(before.deposits, after.deposits, depositSize)
  return {
    deposits: deposits.removed.map(depositIn),
    queued: deposits.added.map(depositIn),
    consolidations: recordChange(before.consolidations, after.consolidations, consolidationSize).removed.map(
      consolidationIn,
    ),
  }
}

/** In the order of the queue. */
export const queuedDepositsIn = (deposits: Uint8Array): QueuedDeposit[] =>
  new View(deposits).list(depositSize).map((record) => {
    const prefix = record.bytes[48] ?? 0
    return { ...depositIn(record.bytes), address: prefix === 1 || prefix === 2 ? record.hex(60, 20) : undefined }
  })

export function depositIn(record: Uint8Array): PendingDeposit {
  const view = new View(record)
  return { pubkey: view.hex(0, 48), gwei: view.u64(80), slot: view.u64(184) }
}

export function consolidationIn(record: Uint8Array): PendingConsolidation {
  const view = new View(record)
  return { source: view.u64(0), target: view.u64(8) }
}

/** How many removed records at the front are tried before comparing all records. */
const frontMax = 64

function recordChange(before: Uint8Array, after: Uint8Array, size: number) {
  const [old, now] = [bufferOf(before), bufferOf(after)]
  // Records leave at the front and are added at the end, so the rest of the old queue is the start of the new one.
  for (let removed = 0; removed <= Math.min(frontMax, old.length / size); removed++) {
    const rest = old.length - removed * size
    if (rest > now.length || old.compare(now, 0, rest, removed * size) !== 0) continue
    // The chain moves a postponed record from the front to the end. Such a record is neither removed nor added.
    return withoutCommon(recordsIn(old.subarray(0, removed * size), size), recordsIn(now.subarray(rest), size))
  }
  return withoutCommon(recordsIn(old, size), recordsIn(now, size))
}

const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length)

const recordsIn = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: bytes.length / size }, (_, at) => bytes.subarray(at * size, (at + 1) * size))

function withoutCommon(removed: readonly Buffer[], added: readonly Buffer[]) {
  const counts = new Map<string, number>()
  for (const record of added) counts.set(record.toString('latin1'), (counts.get(record.toString('latin1')) ?? 0) + 1)
  const takeOne = (record: Buffer): boolean => {
    const key = record.toString('latin1')
    const count = counts.get(key) ?? 0
    if (count > 0) counts.set(key, count - 1)
    return count > 0
  }
  // In this order: the counts that `removed` leaves are those of records that were only added.
  const onlyRemoved = removed.filter((record) => !takeOne(record))
  return { removed: onlyRemoved, added: added.filter(takeOne) }
}
