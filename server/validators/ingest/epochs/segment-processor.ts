// Processes the epochs of a segment one after the other, from the state that the previous segment left or from epochs
// that are read again.
import { strict as assert } from 'node:assert'
import type { Beacon } from '#sources/beacon/client.ts'
import { type ConsensusRules, firstSlotAt, readableUntil } from '#sources/beacon/consensus.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { withdrawalAddressOf } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { AuditLine, UnexplainedChange } from '#validators/duties/audits.ts'
import { packNetworkRows } from '#validators/duties/network-rows.ts'
import type { ScoreHistory } from '#validators/duties/score-history.ts'
import { toHex } from '#validators/registry/registry.ts'
import { findRegistryChanges, type RegistrySnapshot, takeRegistrySnapshot } from '#validators/registry/sync-registry.ts'
import { chainOf } from '../read/epoch.ts'
import { EpochReader, type EpochSource, type ReadEpoch } from '../read/epoch-reader.ts'
import { type ExecutionSource, executedBlocks } from '../read/execution.ts'
import { settleBalances } from '../read/settle-balances.ts'
import type { RecordReader } from '../read/state-records.ts'
import { isStatesNotFound, StatesNotFoundError } from '../read/states-not-found.ts'
import { appendScores } from '../rules/inactivity-scores.ts'
import { findPayloadVotes } from '../rules/payload-votes.ts'
import type { AcceptDifferences } from '../rules/verify.ts'
import { createWatchList, type SelectWatched } from '../watch/watch-list.ts'
import type { AuditEpoch } from './audit.ts'
import { MissedDutyCollector } from './missed-duties.ts'
import { PayloadSeats, seatsOf } from './payload-seats.ts'
import { accountForBalances, type Carry, processEpoch } from './process-epoch.ts'
import type { ProcessedSegment, SegmentRequest } from './processed-segment.ts'
import { Sums } from './sums.ts'

export interface SegmentSource {
  readonly beacon: Beacon
  readonly records: RecordReader | undefined
  readonly accept: AcceptDifferences
  /** Undefined: epochs are read from the nodes and the records. */
  readonly epochs?: EpochSource
}

export interface SegmentProcessorOptions {
  readonly watch: readonly string[]
  readonly execution: ExecutionSource | undefined
  /** Undefined: rewards are not compared with those of the node. */
  readonly audit: AuditEpoch | undefined
  /** Whether segments have the rows of the network, if there is a watch list. */
  readonly summarizesNetwork: boolean
}

/** The initial state of a segment. */
interface SegmentStart {
  readonly at: number
  readonly carry: Carry | undefined
  readonly scores: ScoreHistory
  /** What the registry already has. */
  readonly knownRegistry: RegistrySnapshot | undefined
}

/** Epochs that are processed before the first one, if a node lacks the state at an epoch boundary. */
export const warmUpMax = 4

export class SegmentProcessor {
  readonly #execution: ExecutionSource | undefined
  readonly #audit: AuditEpoch | undefined
  readonly #summarizesNetwork: boolean
  readonly #sums = new Sums()
  readonly #missedDuties = new MissedDutyCollector()
  readonly #payloadSeats = new PayloadSeats()
  #selectWatched: SelectWatched
  #reader: EpochReader | undefined
  #rules: ConsensusRules | undefined
  #starts: readonly SegmentStart[] = []
  #knownRegistry: Pick<SegmentStart, 'at' | 'knownRegistry'> | undefined
  /** Epochs that were computed from blocks and are not stored yet. */
  readonly #computed = new Map<number, ReadEpoch>()

  constructor({ watch, execution, audit, summarizesNetwork }: SegmentProcessorOptions) {
    this.#selectWatched = createWatchList(watch)
    this.#execution = execution
    this.#audit = audit
    this.#summarizesNetwork = summarizesNetwork
  }

  setWatch(names: readonly string[]): void {
    this.#selectWatched = createWatchList(names)
    // The registry lacks validators that were not on the list.
    this.#starts = this.#starts.map((start) => ({ ...start, knownRegistry: undefined }))
    this.#knownRegistry = undefined
  }

  /** Whether this epoch was computed from blocks and is not stored yet. */
  isComputed(epoch: number): boolean {
    return this.#computed.has(epoch)
  }

  /** The next segments use these epochs, and the reader that computed them. */
  addComputed(epochs: readonly ReadEpoch[], reader: EpochReader): void {
    for (const data of epochs) this.#computed.set(data.epoch, data)
    this.#reader = reader
    this.#starts = []
  }

  dropComputed(): void {
    this.#computed.clear()
  }

  /** Drops everything that was read, except what is known to be in the registry. */
  startAgain(from: number): void {
    const knownRegistry = this.#starts.find(({ at }) => at === from)?.knownRegistry
    if (knownRegistry) this.#knownRegistry = { at: from, knownRegistry }
    this.#reader = undefined
    this.#starts = []
  }

  /** A fork was scheduled since the last segment: what was read may not have been decoded as it should. */
  #applyRules(rules: ConsensusRules, from: number): void {
    if (this.#rules) {
      this.startAgain(from)
      this.dropComputed()
    }
    this.#rules = rules
  }

  /** Reads from this source from now on, and keeps what has been read. */
  continueWith({ beacon, records }: Omit<SegmentSource, 'accept'>): void {
    this.#reader?.continueWith(beacon, records)
  }

  async process(
    { from, until, scores: storedScores }: SegmentRequest,
    { beacon, records, accept, epochs }: SegmentSource,
    chain: Chain,
    signal: AbortSignal,
  ): Promise<ProcessedSegment> {
    if (this.#rules !== chain.rules) this.#applyRules(chain.rules, from)
    if (!epochs) this.#reader ??= new EpochReader(beacon, chain.rules, records)
    const reader = (epochs ?? (this.#reader as EpochReader)).withSignal(signal)
    const start = this.#starts.find(({ at }) => at === from) ?? (await this.#startAt(reader, chain, from, storedScores))
    // The segment before this one is not repeated any more: release the memory of its start.
    this.#starts = [start]
    for (const epoch of this.#computed.keys()) if (epoch < from) this.#computed.delete(epoch)
    let { carry, scores } = start
    let last: Validators | undefined
    let countBefore = 0
    const [unexplained, audits]: [UnexplainedChange[], AuditLine[]] = [[], []]
    this.#sums.clear()
    this.#missedDuties.clear()
    for (let epoch = from; epoch < until; epoch++) {
      signal.throwIfAborted()
      const data = this.#computed.get(epoch) ?? (await reader.read(epoch))
      settleBalances(data, carry)
      if (epoch === from) countBefore = data.atStart.count
      const addressOf = (proposer: number) => {
        const address = withdrawalAddressOf(data.atStart, proposer)
        return address && toHex(address)
      }
      const execution = await this.#execution?.read(executedBlocks(chain.rules, data), addressOf, signal)
      const processed = processEpoch(chain.rules, { ...data, execution }, carry, this.#sums, { accept })
      const seats = this.#payloadSeats.of(chain.rules, data)
      const payloadVotes = seats && findPayloadVotes(chain.rules, firstSlotAt(chain.rules, epoch), seats, chainOf(data))
      const { votes, effects, proposals } = processed
      this.#missedDuties.collect(chain.rules, data, votes, effects, { proposals, payloadVotes })
      audits.push(...((await this.#audit?.(epoch, processed, signal)) ?? []))
      if (processed.unexplainedBalanceChanges.validators > 0)
        unexplained.push({ epoch, ...processed.unexplainedBalanceChanges })
      carry = processed.carry
      scores = appendScores(scores, epoch, carry.scores)
      last = data.atEnd
    }
    assert(carry && last, 'a segment needs at least one epoch')
    const ahead =
      this.#computed.get(until) ?? (until < readableUntil(chain.rules) ? await reader.readAhead(until) : undefined)
    // Votes are rewarded an epoch later, so this verifies the last epoch before it is stored.
    if (ahead) verifyAhead(chain.rules, ahead, carry, accept)
    const kept = this.#selectWatched(last)
    const registry = findRegistryChanges(last, start.knownRegistry, kept)
    this.#starts = [start, { at: until, carry, scores, knownRegistry: takeRegistrySnapshot(last) }]
    const watched = kept && { validators: listIndices(kept), countBefore, count: kept.length }
    const isKept = (index: number) => kept?.[index] !== 0
    // Before the columns are reduced to the kept validators.
    const network =
      kept && this.#summarizesNetwork ? packNetworkRows(this.#sums.isPresent, this.#sums.columns) : undefined
    const missed = this.#missedDuties.take(isKept)
    const payloadSeats = {
      now: seatsOf(chain.rules, last.payloads, 'now'),
      next: seatsOf(chain.rules, last.payloads, 'next'),
    }
    const common = { missed, scores, registry, unexplained, audits, watched, network, payloadSeats }
    return { ...this.#sums.take(isKept), ...common, settled: [] }
  }

  /** The start of a segment that does not follow the last one. */
  async #startAt(reader: EpochSource, chain: Chain, from: number, scores: ScoreHistory): Promise<SegmentStart> {
    this.#starts = []
    const knownRegistry = this.#knownRegistry?.at === from ? this.#knownRegistry.knownRegistry : undefined
    if (from === 0) return { at: from, carry: undefined, scores, knownRegistry }
    const carry = await this.#warmUp(reader, chain, from - 1, scores, warmUpMax)
    const storedScores = scores.get(from - 1)
    return { at: from, carry: storedScores ? { ...carry, scores: storedScores } : carry, scores, knownRegistry }
  }

  async #warmUp(
    reader: EpochSource,
    chain: Chain,
    epoch: number,
    scores: ScoreHistory,
    passes: number,
  ): Promise<Carry> {
    const read = async () => this.#computed.get(epoch) ?? (await reader.read(epoch))
    let data = await read()
    const needsBefore = data.boundary.awaitsRewards && epoch > 0
    if (needsBefore && passes === 0) {
      throw new StatesNotFoundError(`the node has no states at the start of the epochs around ${epoch}`)
    }
    const before = needsBefore ? await this.#warmUp(reader, chain, epoch - 1, scores, passes - 1) : undefined
    // Reading earlier epochs made the reader forget this one. It must know the balances that are settled here.
    if (before) data = await read()
    settleBalances(data, before)
    this.#payloadSeats.of(chain.rules, data)
    return processEpoch(chain.rules, data, before, this.#sums, { startScores: scores.get(epoch - 1) }).carry
  }
}

/** The withdrawals of the next epoch may be unknown. Then only that epoch cannot be read. */
function verifyAhead(...[rules, ahead, carry, accept]: Parameters<typeof accountForBalances>): void {
  try {
    accountForBalances(rules, ahead, carry, accept)
  } catch (error) {
    if (!isStatesNotFound(error)) throw error
  }
}

function listIndices(kept: Uint8Array): Int32Array {
  const indices = new Int32Array(kept.length)
  let count = 0
  for (let index = 0; index < kept.length; index++) if (kept[index] === 1) indices[count++] = index
  return indices.slice(0, count)
}
