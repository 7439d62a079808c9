// Processes the epochs of a segment one after the other, from the state that the previous segment left or from epochs
// that are read again.
import { strict as assert } from 'node:assert'
import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { withdrawalAddressOf } from '#sources/beacon/validator-keys.ts'
import { packNetworkRows } from '#validators/duties/network-rows.ts'
import type { UnexplainedChange } from '#validators/duties/unexplained.ts'
import { toHex } from '#validators/registry/registry.ts'
import { findRegistryChanges, type RegistrySnapshot, takeRegistrySnapshot } from '#validators/registry/sync-registry.ts'
import { chainOf, type EpochData } from '../read/epoch.ts'
import type { EpochSource } from '../read/epoch-source.ts'
import { type ExecutionSource, executedBlocks } from '../read/execution.ts'
import { findPayloadVotes } from '../rules/payload-votes.ts'
import { createWatchList, type SelectWatched } from '../watch/watch-list.ts'
import { MissedDutyCollector } from './missed-duties.ts'
import { seatsOf } from './payload-seats.ts'
import { type Carry, processEpoch } from './process-epoch.ts'
import type { ProcessedSegment, SegmentRequest } from './processed-segment.ts'
import { Sums } from './sums.ts'

export interface SegmentProcessorOptions {
  readonly watch: readonly string[]
  readonly execution: ExecutionSource | undefined
  /** Whether segments have the rows of the network, if there is a watch list. */
  readonly summarizesNetwork: boolean
}

/** The initial state of a segment. */
interface SegmentStart {
  readonly at: number
  readonly carry: Carry | undefined
  /** What the registry already has. Undefined: unknown. */
  readonly knownRegistry: RegistrySnapshot | undefined
}

export class SegmentProcessor {
  readonly #execution: ExecutionSource | undefined
  readonly #summarizesNetwork: boolean
  readonly #sums = new Sums()
  readonly #missedDuties = new MissedDutyCollector()
  #selectWatched: SelectWatched
  #watchesDeposits: boolean
  #rules: ConsensusRules | undefined
  #starts: readonly SegmentStart[] = []

  constructor({ watch, execution, summarizesNetwork }: SegmentProcessorOptions) {
    this.#selectWatched = createWatchList(watch)
    this.#watchesDeposits = namesDeposits(watch)
    this.#execution = execution
    this.#summarizesNetwork = summarizesNetwork
  }

  setWatch(names: readonly string[]): void {
    this.#selectWatched = createWatchList(names)
    this.#watchesDeposits = namesDeposits(names)
    // The registry lacks validators that were not on the list.
    this.#starts = this.#starts.map((start) => ({ ...start, knownRegistry: undefined }))
  }

  /** Drops everything that was read. The next segment has the whole registry. */
  startAgain(): void {
    this.#starts = []
  }

  async process(
    { from, until, isPast }: SegmentRequest,
    epochs: EpochSource,
    { rules }: Chain,
    signal: AbortSignal,
  ): Promise<ProcessedSegment> {
    // A fork was scheduled since the last segment: what was read may not have been decoded as it should.
    if (this.#rules && this.#rules !== rules) this.startAgain()
    this.#rules = rules
    const start = this.#starts.find(({ at }) => at === from) ?? (await this.#startAt(epochs, rules, from))
    // The segment before this one is not repeated any more: release the memory of its start.
    this.#starts = [start]
    let { carry } = start
    let last: EpochData | undefined
    let countBefore = 0
    const unexplained: UnexplainedChange[] = []
    const blocks: Block[] = []
    this.#sums.clear()
    this.#missedDuties.clear()
    for (let epoch = from; epoch < until; epoch++) {
      signal.throwIfAborted()
      const data = await epochs.read(epoch)
      if (epoch === from) countBefore = data.atStart.count
      const addressOf = (proposer: number) => {
        const address = withdrawalAddressOf(data.atStart, proposer)
        return address && toHex(address)
      }
      const execution = await this.#execution?.read(executedBlocks(rules, data), addressOf, signal)
      const processed = processEpoch(rules, { ...data, execution }, carry, this.#sums)
      const seats = seatsOf(rules, data.atStart.payloads, 'now')
      const payloadVotes = seats && findPayloadVotes(rules, firstSlotAt(rules, epoch), seats, chainOf(data))
      const { votes, effects, proposals } = processed
      this.#missedDuties.collect(rules, data, votes, effects, { proposals, payloadVotes })
      if (processed.unexplained) unexplained.push(processed.unexplained)
      blocks.push(...data.blocks.filter(({ slot }) => slot < firstSlotAt(rules, epoch + 1)))
      carry = processed.carry
      last = data
    }
    assert(carry && last, 'a segment needs at least one epoch')
    const { atEnd } = last
    const kept = this.#selectWatched(atEnd)
    const registry = findRegistryChanges(atEnd, start.knownRegistry, kept)
    this.#starts = [start, { at: until, carry, knownRegistry: takeRegistrySnapshot(atEnd) }]
    const watched = kept && { validators: listIndices(kept), countBefore, count: kept.length }
    const isKept = (index: number) => kept?.[index] !== 0
    // Before the columns are reduced to the kept validators.
    const network =
      kept && this.#summarizesNetwork ? packNetworkRows(this.#sums.isPresent, this.#sums.columns) : undefined
    const proposed = blocks.filter(({ proposer }) => isKept(proposer)).map(withoutVotes)
    const deposits = this.#watchesDeposits ? atEnd.pending.deposits.slice() : undefined
    return {
      ...this.#sums.take(isKept),
      missed: this.#missedDuties.take(isKept),
      ...{ registry, unexplained, watched, network },
      alerts: kept && !isPast ? { proposed, deposits } : undefined,
      payloadSeats: {
        now: seatsOf(rules, atEnd.payloads, 'now'),
        next: seatsOf(rules, atEnd.payloads, 'next'),
      },
    }
  }

  /** The start of a segment that does not follow the last one. */
  async #startAt(epochs: EpochSource, rules: ConsensusRules, from: number): Promise<SegmentStart> {
    this.#starts = []
    if (from === 0) return { at: from, carry: undefined, knownRegistry: undefined }
    const { carry } = processEpoch(rules, await epochs.read(from - 1), undefined, this.#sums)
    return { at: from, carry, knownRegistry: undefined }
  }
}

/** Keys and addresses may be those of deposits without a validator. */
const namesDeposits = (names: readonly string[]): boolean => names.some((name) => name.startsWith('0x'))

/** A copy, because the bytes of a block are large, and they would be sent to another thread as a whole. */
function withoutVotes(block: Block): Block {
  const { payload } = block
  const lastTransactions = payload?.lastTransactions.map((bytes) => bytes.slice()) ?? []
  const prevRandao = payload?.prevRandao.slice() ?? new Uint8Array()
  return {
    ...block,
    ...{ attestations: [], syncBits: new Uint8Array() },
    payload: payload && { ...payload, lastTransactions, prevRandao },
  }
}

function listIndices(kept: Uint8Array): Int32Array {
  const indices = new Int32Array(kept.length)
  let count = 0
  for (let index = 0; index < kept.length; index++) if (kept[index] === 1) indices[count++] = index
  return indices.slice(0, count)
}
