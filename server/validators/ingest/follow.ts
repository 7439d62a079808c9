// Ingests one network: reads segment by segment from the end of the coverage to the finalized epoch.
//
// 1. Rows, coverage and the state for the next epoch are committed in one transaction. A process that is killed at any
//    point continues after a restart, with the same rows as if it had not been killed.
// 2. The epochs of a segment (behaviour/validators.md#days-and-hours) are added up before they are written. At the
//    head, each epoch is written at once. Small segments share a transaction (write/batches.ts).
// 3. The registry is written before the rows that need it. Writing it again changes nothing.
// 4. Concurrent calls of catchUp share one run and its result.
// 5. Gaps before the end of the coverage can be filled (gaps/fill-gaps.ts). The caller ensures that this,
//    fillPast, repair and catchUp never run at the same time.
// 6. Stored epochs can be read again and replaced (repair/repair-epochs.ts), or read again for added validators
//    (past/fill-past.ts).
// 7. States of epochs that are not final are recorded at every step, because many nodes delete them at finality.
//    Epochs whose states no node has are computed from blocks if possible. Otherwise they are skipped, and can be
//    filled later (gaps/missing-states.ts).

import type { Network } from '#api/contract/wire/validators.ts'
import { countIn, type Range } from '#core/ranges.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import { type Beacon, UnknownForkError } from '#sources/beacon/client.ts'
import { readableUntil } from '#sources/beacon/consensus.ts'
import { readScores, type ScoreHistory } from '../duties/score-history.ts'
import type { WatchChange } from '../duties/watch-ranges.ts'
import { syncRegistry } from '../registry/sync-registry.ts'
import { readWatchNames } from '../registry/watch-names.ts'
import { createEpochProcessor, type EpochProcessor } from './epochs/epoch-processor.ts'
import { releaseBuffers, segmentColumns } from './epochs/processed-segment.ts'
import { fillEpochs } from './gaps/fill-epochs.ts'
import { createFillGaps, type FillGaps } from './gaps/fill-gaps.ts'
import { findGaps } from './gaps/find-gaps.ts'
import { MissingStates } from './gaps/missing-states.ts'
import { createStateRecorder } from './gaps/record-states.ts'
import { fillPast, type PastStep } from './past/fill-past.ts'
import type { ExecutionSource } from './read/execution.ts'
import { type Repaired, repairEpochs } from './repair/repair-epochs.ts'
import { type IngestProgress, type IngestStep, summarizeStep } from './status/ingest-progress.ts'
import { logUnknownWatched } from './watch/unknown-watched.ts'
import { createWatchListUpdater } from './watch/watch-list-updater.ts'
import { type BatchMember, inBatches } from './write/batches.ts'
import {
  commitSegments,
  configuredStart,
  coverageEnd,
  type IngestSource,
  mergeAllDays,
  mergeDays,
  prepareIngest,
  segmentEnd,
} from './write/ingest-source.ts'
import { summarizeDays } from './write/summarize-days.ts'

export class Follower {
  readonly network: Network
  readonly #source: IngestSource
  /** End of the last written segment and its scores; undefined: read them from the store. */
  #resume: { readonly at: number; readonly scores: ScoreHistory } | undefined
  #running: Promise<IngestProgress> | undefined
  #unknownLoggedFor: readonly string[] | undefined
  #watchChanges = 0
  readonly #missingStates: MissingStates
  /** Fills gaps, up to a limit. Returns whether there may be more that can be filled. */
  readonly fillGaps: FillGaps

  /** `source`: a processor, or the nodes to create one from. */
  constructor(
    context: IngestSource['context'],
    network: Network,
    source: EpochProcessor | Beacon,
    execution?: ExecutionSource,
  ) {
    const time = networkSettings(context.settings, network)
    const options = { watch: time.watch, auditValidators: time.beacon.auditValidators, execution }
    const processor = 'processSegment' in source ? source : createEpochProcessor(source, options)
    const recordHead = createStateRecorder({ context, network, processor, time })
    const updateWatchList = createWatchListUpdater(context, network, processor)
    this.network = network
    this.#source = { context, network, processor, time, recordHead, updateWatchList }
    this.#missingStates = new MissingStates(this.#source)
    this.fillGaps = createFillGaps(this.#source)
  }

  /** Reads all epochs that have become final since the last run. */
  catchUp(signal: AbortSignal, onStep: (step: IngestStep) => void = () => {}): Promise<IngestProgress> {
    this.#running ??= this.#catchUp(signal, onStep).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #catchUp(signal: AbortSignal, onStep: (step: IngestStep) => void): Promise<IngestProgress> {
    const rules = await prepareIngest(this.#source, signal)
    const finalizedEpoch = await this.#source.processor.finalizedEpoch(signal)
    // Blocks of the next epoch can still include votes of an epoch, so the next epoch must be final as well.
    const until = Math.min(finalizedEpoch - 1, readableUntil(rules))
    let next = await this.#startEpoch(finalizedEpoch)
    // The records before skipped epochs are kept: these epochs may be computed from them.
    await this.#source.recordHead(this.#missingStates.skipped?.from ?? next, signal)
    let written = 0
    const onCommit = (batch: readonly BatchMember[]) => {
      for (const { epochs, segment } of batch) {
        next = epochs.until
        written += epochs.until - epochs.from
        onStep({ until: next, finalizedEpoch, written, ...summarizeStep(segment) })
      }
      this.#missingStates.reportGap()
    }
    this.#missingStates.beginRun()
    while (next < until && !signal.aborted) {
      try {
        await this.#ingest({ from: next, until }, signal, onCommit)
      } catch (error) {
        this.#resume = undefined
        const at = { epochs: { from: next, until }, segmentEnd: this.#segmentEnd(next, until), signal }
        next = await this.#missingStates.continueAfter(error, at)
      }
    }
    if (!signal.aborted) await this.#source.processor.prepareHead(next, finalizedEpoch, signal)
    if (!signal.aborted) await summarizeDays(this.#source, next, signal)
    if (rules.unknownFork && finalizedEpoch >= rules.unknownFork.epoch)
      throw new UnknownForkError(rules.unknownFork, `${this.network}: `)
    const { skipped, lastGap } = this.#missingStates
    return { until: next, finalizedEpoch, written, ...(skipped && { skipped }), ...(lastGap && { lastGap }) }
  }

  async #ingest(
    { from, until }: Range,
    signal: AbortSignal,
    onCommit: (batch: readonly BatchMember[]) => void,
  ): Promise<void> {
    let next = from
    for await (const batch of inBatches(this.#segments(from, until, signal), this.#source.context.clock)) {
      const epochs = { from: next, until: batch.at(-1)?.epochs.until ?? next }
      await this.#write(epochs, batch)
      for (const { segment } of batch) releaseBuffers(segmentColumns(segment))
      await mergeDays(this.#source, epochs.until, signal)
      onCommit(batch)
      next = epochs.until
      await this.#source.recordHead(next, signal)
    }
  }

  /** How many epochs are missing before the end of the coverage. */
  async countMissing(): Promise<number> {
    return countIn(await findGaps(this.#source))
  }

  /** Reads the missing epochs of a range. Reports after each segment how many are left. Returns how many were read. */
  fill(epochs: Range, signal: AbortSignal, onStep: (left: number) => void = () => {}): Promise<number> {
    return fillEpochs(this.#source, epochs, signal, onStep)
  }

  /** How often validators were added or removed since the start. */
  get watchChanges(): number {
    return this.#watchChanges
  }

  /** Reads the oldest missing segment of the past of added validators, from this epoch on. */
  fillPast(signal: AbortSignal, after = 0): Promise<PastStep> {
    return fillPast(this.#source, after, signal)
  }

  /** Reads stored epochs again and replaces them, then reads missing ones. Reports how many epochs are left. */
  async repair(epochs: Range, signal: AbortSignal, onStep: (left: number) => void = () => {}): Promise<Repaired> {
    await prepareIngest(this.#source, signal)
    const repaired = await repairEpochs(this.#source, epochs, signal, onStep)
    await mergeAllDays(this.#source, signal)
    return repaired
  }

  /** In order. If another thread processes segments, the next one is processed while this one is written. */
  async *#segments(first: number, until: number, signal: AbortSignal): AsyncGenerator<BatchMember> {
    const stop = new AbortController()
    const anySignal = AbortSignal.any([signal, stop.signal])
    let scores =
      this.#resume?.at === first ? this.#resume.scores : await readScores(this.#source.context.duties, this.network)
    const processFrom = async (from: number) => {
      const epochs = { from, until: this.#segmentEnd(from, until) }
      return { epochs, segment: await this.#source.processor.processSegment({ ...epochs, scores }, anySignal) }
    }
    let pending = first < until ? processFrom(first) : undefined
    try {
      while (pending && !signal.aborted) {
        const processed = await pending
        const next = processed.epochs.until
        scores = processed.segment.scores
        pending = this.#source.processor.isOnOtherThread && next < until ? processFrom(next) : undefined
        pending?.catch(() => {})
        yield processed
        if (next < until && !signal.aborted) pending ??= processFrom(next)
      }
    } finally {
      stop.abort()
      await pending?.catch(() => {})
    }
  }

  /** The end of the coverage, or of skipped epochs that cannot be computed, or the start of the first run. */
  async #startEpoch(finalizedEpoch: number): Promise<number> {
    const start = (await coverageEnd(this.#source)) || configuredStart(this.#source, finalizedEpoch)
    return this.#missingStates.startAfter(start)
  }

  /** The end of the segment that contains `from`, at most `until`. */
  #segmentEnd(from: number, until: number): number {
    if (this.#missingStates.isSingle(from)) return from + 1
    return segmentEnd(this.#source.time, from, until)
  }

  async #write({ until }: Range, batch: readonly BatchMember[]): Promise<void> {
    const { ingest, settings, log } = this.#source.context
    const { network } = this
    for (const { segment } of batch) {
      await syncRegistry(ingest, network, segment.registry)
      releaseBuffers(Object.values(segment.registry))
    }
    const { hoursKeptDays, missedKeptDays } = networkSettings(settings, network)
    const scores = batch.at(-1)?.segment.scores ?? new Map()
    const watchChanges = await commitSegments(this.#source, batch, { scores, hoursKeptDays, missedKeptDays })
    this.#resume = { at: until, scores }
    for (const { segment } of batch)
      for (const reason of segment.settled)
        log.warn({ network, reason }, 'beacon node contradicted itself; used another node')
    for (const change of watchChanges) this.#logWatchChange(change)
    // Logged once for each list: unknown validators may be added to the network later.
    const { names } = await readWatchNames(this.#source.context, network)
    if (names !== this.#unknownLoggedFor) await logUnknownWatched(this.#source.context, network, names)
    this.#unknownLoggedFor = names
  }

  #logWatchChange({ fromEpoch, added, removed }: WatchChange): void {
    this.#watchChanges += 1
    const { log } = this.#source.context
    log.warn({ network: this.network, fromEpoch, added: added.length, removed: removed.length }, 'watch list changed')
  }
}
