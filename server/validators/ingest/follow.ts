// Ingests one network: reads segment by segment from the end of the coverage to the finalized epoch.
//
// 1. Rows, coverage and the state for the next epoch are committed in one transaction. A process that is killed at any
//    point continues after a restart, with the same rows as if it had not been killed.
// 2. The epochs of a segment (behaviour/validators.md#days-and-hours) are added up before they are written. At the
//    head, each epoch is written at once. Small segments share a transaction (batches.ts).
// 3. The registry is written before the rows that need it. Writing it again changes nothing.
// 4. Concurrent calls of catchUp share one run and its result.
// 5. Gaps before the end of the coverage can be filled (behaviour/validators.md#fill-gaps). This writes duties, missed
//    duties and coverage only, because registry, scores and watch list are about the present. The caller ensures that
//    fill, repair and catchUp never run at the same time.
// 6. Stored epochs can be read again and replaced (repair.ts).
// 7. States of epochs that are not final are recorded at every step, because many nodes delete them at finality.
//    Epochs whose states no node has are computed from blocks if possible. Otherwise they are skipped, and can be
//    filled later (behaviour/validators.md#nodes-that-prune-states).
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import { holes, type Range } from '#core/ranges.ts'
import { type Beacon, BeaconError, UnknownForkError } from '#sources/beacon/client.ts'
import { type ConsensusRules, readableUntil } from '#sources/beacon/consensus.ts'
import type { ValidatorsContext } from '../context.ts'
import type { CommitSegment, EpochCommit } from '../duties/commit.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { daysToSummarize } from '../duties/daily-summaries.ts'
import { plainTime, segmentAt } from '../duties/layout.ts'
import { describeWindowsMismatch, refuseOtherWindows } from '../duties/networks.ts'
import { readScores, type ScoreHistory } from '../duties/scores.ts'
import { mergeDuties, summarizeDuties, updateDuties } from '../duties/store.ts'
import { hasLeft, type WatchChange } from '../duties/watch-ranges.ts'
import { entitiesVersion } from '../registry/entities.ts'
import { syncRegistry } from '../registry/sync-registry.ts'
import { type EpochSpan, inBatches, type ProcessedSpan } from './batches.ts'
import {
  type EpochProcessor,
  LocalEpochProcessor,
  type ProcessedSegment,
  releaseBuffers,
  segmentBuffers,
  segmentColumns,
} from './epochs/epoch-processor.ts'
import { countEpochs, missingEpochs } from './gaps.ts'
import { adoptChain } from './read/chain-identity.ts'
import { isStatesNotFound } from './read/epoch-reader.ts'
import type { ExecutionSource } from './read/execution.ts'
import { type Repaired, repairEpochs } from './repair.ts'
import { readGroups } from './summary-groups.ts'
import { logUnknownWatched } from './unknown-watched.ts'

export interface IngestProgress {
  /** End of the coverage. */
  readonly until: number
  readonly finalizedEpoch: number
  readonly written: number
  readonly skipped?: SkippedEpochs
  /** The last gap that this process has left. */
  readonly lastGap?: SkippedEpochs
}

/** Epochs after the end of the coverage that no node has. Ingest waits for the first epoch after them. */
export interface SkippedEpochs extends Range {
  /** The finalized epoch when ingest began to wait. */
  readonly finalizedEpoch: number
  /** Why they cannot be computed from blocks, if this was tried. */
  readonly problem?: string
}

/** Reported after each written segment. */
export interface IngestStep extends IngestProgress {
  /** Rewards that were compared with those of the node, and how many differ. */
  readonly compared: number
  readonly differing: number
  /** Balance changes that duties do not explain, such as deposits and consolidations. */
  readonly unexplainedBalanceChanges: { readonly validators: number; readonly inGwei: number; readonly outGwei: number }
}

/** Days that are summarized after each catch-up. */
const summarizedDaysMax = 8
/** Searches for readable epochs in one catch-up. The next one continues. */
const skipsMax = 8
/** Epochs that `fillGaps` reads at once, so that new epochs do not wait for long. */
const filledEpochsMax = 225

export class Follower {
  readonly network: Network
  readonly #context: Pick<ValidatorsContext, 'state' | 'duties' | 'settings' | 'log' | 'clock'>
  readonly #processor: EpochProcessor
  readonly #time: ChainTime
  /** End of the last written segment and its scores; undefined: read them from the store. */
  #resume: { readonly at: number; readonly scores: ScoreHistory } | undefined
  #running: Promise<IngestProgress> | undefined
  #hasLoggedUnknown = false
  #skipped: SkippedEpochs | undefined
  #lastGap: SkippedEpochs | undefined
  /** Before this epoch, each epoch is processed on its own, to store as many as possible before a gap. */
  #singleUntil = 0
  #recordingFailure: string | undefined

  /** `source`: a processor, or the nodes to create one from. */
  constructor(
    context: Pick<ValidatorsContext, 'state' | 'duties' | 'settings' | 'log' | 'clock'>,
    network: Network,
    source: EpochProcessor | Beacon,
    execution?: ExecutionSource,
  ) {
    const { watch, beacon } = context.settings.validators.networks[network]
    const options = { watch, auditValidators: beacon.auditValidators, execution }
    this.network = network
    this.#context = context
    this.#processor = 'processSegment' in source ? source : new LocalEpochProcessor(source, options)
    this.#time = context.settings.validators.networks[network]
  }

  /** Reads all epochs that have become final since the last run. */
  catchUp(signal: AbortSignal, onStep: (step: IngestStep) => void = () => {}): Promise<IngestProgress> {
    this.#running ??= this.#catchUp(signal, onStep).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #catchUp(signal: AbortSignal, onStep: (step: IngestStep) => void): Promise<IngestProgress> {
    const rules = await this.#verifyChain(signal)
    const finalizedEpoch = await this.#processor.finalizedEpoch(signal)
    // Blocks of the next epoch can still include votes of an epoch, so the next epoch must be final as well.
    const until = Math.min(finalizedEpoch - 1, readableUntil(rules))
    let next = await this.#startEpoch(finalizedEpoch)
    // The records before skipped epochs are kept: these epochs may be computed from them.
    await this.#recordHead(this.#skipped?.from ?? next, signal)
    let written = 0
    const onCommit = (batch: readonly ProcessedSpan[]) => {
      for (const { span, segment } of batch) {
        next = span.until
        written += span.until - span.from
        onStep({ until: next, finalizedEpoch, written, ...summarizeStep(segment) })
      }
      this.#logSkipped()
    }
    for (let skips = 0; next < until && !signal.aborted; ) {
      try {
        await this.#ingest({ from: next, until }, signal, onCommit)
      } catch (error) {
        this.#resume = undefined
        if (!isStatesNotFound(error) || skips === skipsMax) throw error
        const end = this.#segmentEnd(next, until)
        if (end - next > 1) {
          this.#singleUntil = end
          continue
        }
        skips += 1
        next = await this.#skip({ from: next, until }, error.message, signal)
      }
    }
    if (!signal.aborted) await this.#summarize(next, signal)
    if (rules.unknownFork && finalizedEpoch >= rules.unknownFork.epoch)
      throw new UnknownForkError(rules.unknownFork, `${this.network}: `)
    const [skipped, lastGap] = [this.#skipped, this.#lastGap]
    return { until: next, finalizedEpoch, written, ...(skipped && { skipped }), ...(lastGap && { lastGap }) }
  }

  async #ingest(
    { from, until }: EpochSpan,
    signal: AbortSignal,
    onCommit: (batch: readonly ProcessedSpan[]) => void,
  ): Promise<void> {
    let next = from
    for await (const batch of inBatches(this.#segments(from, until, signal), this.#context.clock)) {
      const span = { from: next, until: batch.at(-1)?.span.until ?? next }
      await this.#write(span, batch)
      for (const { segment } of batch) releaseBuffers(segmentColumns(segment))
      await this.#merge(span.until, signal)
      onCommit(batch)
      next = span.until
      await this.#recordHead(next, signal)
    }
  }

  /** Computes the epochs of a gap from blocks. Returns why this is not possible. */
  async #computeEpochs({ from, until }: Range, signal: AbortSignal): Promise<string | undefined> {
    // The state of the epoch before a readable one is known as well.
    const problem = await this.#processor.computeEpochs({ from, until: until - 1 }, signal)
    if (problem !== undefined) return problem
    this.#skipped = undefined
    const message = 'no beacon node has the states of these epochs; they were computed from blocks and verified'
    this.#context.log.info({ network: this.network, fromEpoch: from, untilEpoch: until - 1 }, message)
    return undefined
  }

  /**
   * Returns the epoch to continue with after an unreadable one: the same one if it was computed, otherwise the first
   * readable one, or the end of the range.
   */
  async #skip({ from, until }: Range, reason: string, signal: AbortSignal): Promise<number> {
    const readable = await this.#processor.firstReadable({ from: from + 1, until }, signal)
    const before = this.#skipped?.until === from || this.#skipped?.from === from ? this.#skipped : undefined
    let problem: string | undefined
    if (readable !== undefined) {
      const gap = { from: before?.from ?? from, until: readable }
      problem = await this.#computeEpochs(gap, signal)
      if (problem === undefined) return gap.from
    }
    // The range ends before the finalized epoch.
    const range = { from, finalizedEpoch: until + 1, ...before, until: readable ?? until }
    this.#skipped = problem === undefined ? range : { ...range, problem }
    if (!before) {
      const message =
        'no beacon node has the states of this epoch; ingest continues with the first epoch that it can read'
      this.#context.log.warn({ network: this.network, epoch: from, reason }, message)
    }
    return readable ?? until
  }

  /** Logs skipped epochs when the first epoch after them was stored. */
  #logSkipped(): void {
    if (!this.#skipped) return
    const { from, until, problem } = this.#skipped
    this.#lastGap = this.#skipped
    this.#skipped = undefined
    const message = `epochs are missing because no beacon node has their states; to read them, add an archive node to validators.networks.${this.network}.beacon.urls`
    this.#context.log.warn({ network: this.network, fromEpoch: from, untilEpoch: until, reason: problem }, message)
  }

  /** A failure does not stop ingest: an archive node needs no records. It is logged when it begins. */
  async #recordHead(next: number, signal: AbortSignal): Promise<void> {
    const { network } = this
    const { log } = this.#context
    const { recorded, dropped, failure } = await this.#processor.recordHead(next, signal)
    if (recorded.length > 0) log.debug({ network, epochs: recorded }, 'states recorded')
    if (dropped.length > 0)
      log.warn({ network, epochs: dropped }, 'too many epochs are not final; the oldest recorded states were deleted')
    if (failure !== undefined && failure !== this.#recordingFailure)
      log.warn({ network, reason: failure }, 'states of recent epochs could not be recorded; retrying')
    this.#recordingFailure = failure
  }

  /**
   * Reads missing epochs that a node has by now, at most `filledEpochsMax`. Returns whether there may be more of them.
   */
  async fillGaps(signal: AbortSignal, onStep: (left: number) => void = () => {}): Promise<boolean> {
    const covered = await coveredEpochs(this.#context.duties, this.network)
    const [first, last] = [covered[0], covered.at(-1)]
    if (!first || !last) return false
    const span = { from: Math.min(first.from, this.#configuredStart(first.from)), until: last.until }
    for (const gap of holes(covered, span).reverse()) {
      const from = await this.#processor.firstReadable(gap, signal)
      if (from === undefined) continue
      await this.fill({ from, until: Math.min(gap.until, from + filledEpochsMax) }, signal, onStep)
      return true
    }
    return false
  }

  /** Reads the missing epochs of a range. Reports after each segment how many are left. Returns how many were read. */
  async fill(epochs: Range, signal: AbortSignal, onStep: (left: number) => void = () => {}): Promise<number> {
    const { duties } = this.#context
    await this.#verifyChain(signal)
    const missing = await missingEpochs(duties, this.network, epochs)
    if (await hasLeft(duties, this.network, epochs)) {
      throw new BeaconError(
        `${this.network}: some validators that are stored in these epochs are no longer on the watch list; filling the gaps now would omit them. ` +
          `Put them back on validators.networks.${this.network}.watch`,
      )
    }
    const all = countEpochs(missing)
    let left = all
    for (const gap of missing) {
      let scores: ScoreHistory = new Map()
      for (let from = gap.from; from < gap.until && !signal.aborted; ) {
        const span = { from, until: this.#segmentEnd(from, gap.until) }
        const segment = await this.#processor.processSegment({ ...span, scores }, signal)
        await this.#commit([{ span, segment }])
        releaseBuffers(segmentColumns(segment))
        scores = segment.scores
        from = span.until
        left -= span.until - span.from
        onStep(left)
        await this.#recordHead(await this.#coverageEnd(), signal)
      }
    }
    await this.#mergeAll(signal)
    return all - left
  }

  /** Reads stored epochs again and replaces them. Reports how many epochs are left. */
  async repair(epochs: Range, signal: AbortSignal, onStep: (left: number) => void = () => {}): Promise<Repaired> {
    await this.#verifyChain(signal)
    const { duties } = this.#context
    const source = { duties, processor: this.#processor, network: this.network, time: this.#time }
    const repaired = await repairEpochs(source, epochs, signal, onStep)
    await this.#mergeAll(signal)
    return repaired
  }

  async #mergeAll(signal: AbortSignal): Promise<void> {
    const end = await this.#coverageEnd()
    if (end > 0) await this.#merge(end, signal)
  }

  async #coverageEnd(): Promise<number> {
    return (await coveredEpochs(this.#context.duties, this.network)).at(-1)?.until ?? 0
  }

  /** Merges days that are complete before `until` into spans. */
  #merge(until: number, signal: AbortSignal): Promise<number> {
    return mergeDuties(this.#context.duties, { network: this.network, time: plainTime(this.#time), until }, signal)
  }

  /**
   * Summarizes complete days without a summary or with outdated pools. A few at a time, so that new epochs do not wait.
   */
  async #summarize(until: number, signal: AbortSignal): Promise<void> {
    const { state, duties } = this.#context
    const input = { network: this.network, time: plainTime(this.#time), until }
    const version = await entitiesVersion(state, this.network)
    if ((await daysToSummarize(duties, { ...input, version })).length === 0) return
    const groups = await readGroups(state, this.network)
    await summarizeDuties(duties, { ...input, groups, daysMax: summarizedDaysMax }, signal)
  }

  #commit(batch: readonly ProcessedSpan[], head?: EpochCommit['head']) {
    const commit: EpochCommit = {
      network: this.network,
      time: plainTime(this.#time),
      segments: batch.map(({ span, segment }) => toCommitSegment(span, segment)),
      head,
    }
    const transfer = [...new Set(batch.flatMap(({ segment }) => segmentBuffers(segment)))].filter(
      ({ detached }) => !detached,
    )
    return updateDuties(this.#context.duties, 'commitEpochs', commit, { transfer })
  }

  /** In order. If another thread processes segments, the next one is processed while this one is written. */
  async *#segments(first: number, until: number, signal: AbortSignal): AsyncGenerator<ProcessedSpan> {
    const stop = new AbortController()
    const anySignal = AbortSignal.any([signal, stop.signal])
    let scores = this.#resume?.at === first ? this.#resume.scores : await readScores(this.#context.duties, this.network)
    const processFrom = async (from: number) => {
      const span = { from, until: this.#segmentEnd(from, until) }
      return { span, segment: await this.#processor.processSegment({ ...span, scores }, anySignal) }
    }
    let pending = first < until ? processFrom(first) : undefined
    try {
      while (pending && !signal.aborted) {
        const processed = await pending
        const next = processed.span.until
        scores = processed.segment.scores
        pending = this.#processor.isOnOtherThread && next < until ? processFrom(next) : undefined
        pending?.catch(() => {})
        yield processed
        if (next < until && !signal.aborted) pending ??= processFrom(next)
      }
    } finally {
      stop.abort()
      await pending?.catch(() => {})
    }
  }

  /** Throws unless the stored data, the settings and the node agree on chain times and windows. */
  async #verifyChain(signal: AbortSignal): Promise<ConsensusRules> {
    const { duties } = this.#context
    refuseOtherWindows(await describeWindowsMismatch(duties, this.network, this.#time))
    const { identity, rules } = await this.#processor.chain(signal)
    const isEmpty = (await coveredEpochs(duties, this.network)).length === 0
    if (isEmpty) await adoptChain(duties, this.network, this.#time, identity)
    const mismatch = (['genesisUnix', 'slotSeconds', 'slotsPerEpoch'] as const).find(
      (key) => identity[key] !== this.#time[key],
    )
    if (!mismatch) return rules
    throw new BeaconError(
      `${this.network}: ${mismatch} of the node is ${identity[mismatch]}, but the server uses ${this.#time[mismatch]}. Restart the server to use the value of the node`,
    )
  }

  /** The end of the coverage, or of skipped epochs that cannot be computed, or the start of the first run. */
  async #startEpoch(finalizedEpoch: number): Promise<number> {
    const start = (await this.#coverageEnd()) || this.#configuredStart(finalizedEpoch)
    const { from, until, problem } = this.#skipped ?? {}
    return from === start && until !== undefined && problem !== undefined ? until : start
  }

  /** `firstEpoch`: an epoch of the first chain day to read, if no first epoch is configured. */
  #configuredStart(firstEpoch: number): number {
    const { fromEpoch } = this.#context.settings.validators.networks[this.network].beacon
    if (fromEpoch >= 0) return fromEpoch
    const days = chainDays(this.#time)
    return days.epochsOf(days.dayOf(firstEpoch as Epoch)).from
  }

  /** The end of the segment that contains `from`, at most `until`. */
  #segmentEnd(from: number, until: number): number {
    if (from < this.#singleUntil) return from + 1
    return Math.min(until, segmentAt(this.#time, from as Epoch).epochs.until)
  }

  async #write({ until }: EpochSpan, batch: readonly ProcessedSpan[]): Promise<void> {
    const { state, settings, log } = this.#context
    const { network } = this
    for (const { segment } of batch) {
      await syncRegistry(state, network, segment.registry)
      releaseBuffers(Object.values(segment.registry))
    }
    const { hoursKeptDays, missedKeptDays } = settings.validators.networks[network]
    const scores = batch.at(-1)?.segment.scores ?? new Map()
    const { watchChanges } = await this.#commit(batch, { scores, hoursKeptDays, missedKeptDays })
    this.#resume = { at: until, scores }
    for (const { segment } of batch)
      for (const reason of segment.settled)
        log.warn({ network, reason }, 'beacon node contradicted itself; used another node')
    for (const { change, at } of watchChanges) this.#logWatchChange(change, at)
    // Logged once: unknown validators may be added to the network later.
    if (!this.#hasLoggedUnknown) await logUnknownWatched(this.#context, network)
    this.#hasLoggedUnknown = true
  }

  #logWatchChange({ added, removed }: WatchChange, fromEpoch: number): void {
    const message = 'watch list changed: added validators have no earlier epochs, removed ones no later epochs'
    this.#context.log.warn({ network: this.network, fromEpoch, added: added.length, removed: removed.length }, message)
  }
}

const toCommitSegment = (
  { from, until }: EpochSpan,
  { validator, sums, missed, audits, unexplained, watched }: ProcessedSegment,
): CommitSegment => ({
  epochs: { from: from as Epoch, until: until as Epoch },
  ...{ validator, sums, missed, audits, unexplained, watched },
})

function summarizeStep({
  audits,
  unexplained,
}: ProcessedSegment): Pick<IngestStep, 'compared' | 'differing' | 'unexplainedBalanceChanges'> {
  const sum = <T>(list: readonly T[], of: (item: T) => number) => list.reduce((total, item) => total + of(item), 0)
  return {
    compared: sum(audits, (line) => line.compared),
    differing: sum(audits, (line) => line.differing),
    unexplainedBalanceChanges: {
      validators: sum(unexplained, (change) => change.validators),
      inGwei: sum(unexplained, (change) => change.inGwei),
      outGwei: sum(unexplained, (change) => change.outGwei),
    },
  }
}
