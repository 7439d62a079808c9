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
import type { Network } from '#api/contract/wire/validators.ts'
import { countIn, type Range } from '#core/ranges.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import { type Beacon, UnknownForkError } from '#sources/beacon/client.ts'
import { readableUntil } from '#sources/beacon/consensus.ts'
import type { UnexplainedChange } from '../duties/unexplained.ts'
import type { WatchChange } from '../duties/watch-ranges.ts'
import { updateEntities } from '../entities/update-entities.ts'
import { syncRegistry } from '../registry/sync-registry.ts'
import { readWatchNames } from '../registry/watch-names.ts'
import { createEpochProcessor, type EpochProcessor } from './epochs/epoch-processor.ts'
import { releaseBuffers, segmentColumns } from './epochs/processed-segment.ts'
import { fillEpochs } from './gaps/fill-epochs.ts'
import { createFillGaps, type FillGaps } from './gaps/fill-gaps.ts'
import { findGaps } from './gaps/find-gaps.ts'
import { fillPast, type PastStep } from './past/fill-past.ts'
import { isStatesNotFound } from './read/epoch-source.ts'
import type { ExecutionSource } from './read/execution.ts'
import { type Repaired, repairEpochs } from './repair/repair-epochs.ts'
import { type IngestProgress, type IngestStep, summarizeStep } from './status/ingest-progress.ts'
import { logUnknownWatched } from './watch/unknown-watched.ts'
import { createWatchListUpdater } from './watch/watch-list-updater.ts'
import { addAlertSources } from './write/alert-sources.ts'
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

const unexplainedText =
  'the rules do not explain the balances of these validators. They are stored. This is a defect of Tetrad: report it with this line, the version of Tetrad, and the blocks of this epoch and the next two'

export class Follower {
  readonly network: Network
  readonly #source: IngestSource
  #running: Promise<IngestProgress> | undefined
  #unknownLoggedFor: readonly string[] | undefined
  #watchChanges = 0
  /** The last epoch that was skipped, so that it is logged once. */
  #skippedFrom: number | undefined
  /** Where the first run begins. Nothing is stored until later epochs are final, and these do not move the start. */
  #configuredStart: number | undefined
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
    const processor =
      'processSegment' in source ? source : createEpochProcessor(source, { watch: time.watch, execution })
    const updateWatchList = createWatchListUpdater(context, network, processor)
    this.network = network
    this.#source = { context, network, processor, time, updateWatchList }
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
    const until = Math.min(finalizedEpoch - 1, readableUntil(rules, this.#source.processor.epochsAhead))
    let next = await this.#startEpoch(finalizedEpoch)
    let written = 0
    const onCommit = (batch: readonly BatchMember[]) => {
      for (const { epochs, segment } of batch) {
        next = epochs.until
        written += epochs.until - epochs.from
        onStep({ until: next, finalizedEpoch, written, ...summarizeStep(segment) })
      }
    }
    while (next < until && !signal.aborted) {
      try {
        await this.#ingest({ from: next, until }, signal, onCommit)
      } catch (error) {
        if (!isStatesNotFound(error)) throw error
        next = await this.#skipFrom(next, until, error, signal)
      }
    }
    if (!signal.aborted) await this.#source.processor.prepareHead(next, finalizedEpoch, signal)
    if (!signal.aborted) {
      const { context, network, time } = this.#source
      await updateEntities(context, { network, time, until: next }, signal)
      await summarizeDays(this.#source, next, signal)
    }
    if (rules.unknownFork && finalizedEpoch >= rules.unknownFork.epoch)
      throw new UnknownForkError(rules.unknownFork, `${this.network}: `)
    return { until: next, finalizedEpoch, written }
  }

  /** Nothing has the states of an epoch: continues with the first one that can be processed, or waits for one. */
  async #skipFrom(epoch: number, until: number, error: Error, signal: AbortSignal): Promise<number> {
    const readable = await this.#source.processor.firstReadable({ from: epoch + 1, until }, signal)
    if (this.#skippedFrom !== epoch) {
      const message = 'no state of this epoch is known; ingest continues with the first epoch that it can process'
      this.#source.context.log.warn({ network: this.network, epoch, reason: error.message }, message)
    }
    this.#skippedFrom = epoch
    return readable ?? until
  }

  async #ingest(
    { from, until }: Range,
    signal: AbortSignal,
    onCommit: (batch: readonly BatchMember[]) => void,
  ): Promise<void> {
    let next = from
    for await (const batch of inBatches(this.#segments(from, until, signal), this.#source.context.clock)) {
      const epochs = { from: next, until: batch.at(-1)?.epochs.until ?? next }
      await this.#write(batch)
      for (const { segment } of batch) releaseBuffers(segmentColumns(segment))
      await mergeDays(this.#source, epochs.until, signal)
      onCommit(batch)
      next = epochs.until
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
    const processFrom = async (from: number) => {
      const epochs = { from, until: segmentEnd(this.#source.time, from, until) }
      return { epochs, segment: await this.#source.processor.processSegment(epochs, anySignal) }
    }
    let pending = first < until ? processFrom(first) : undefined
    try {
      while (pending && !signal.aborted) {
        const processed = await pending
        const next = processed.epochs.until
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

  /** The end of the coverage, or the start of the first run. A later `fromEpoch` leaves a gap. */
  async #startEpoch(finalizedEpoch: number): Promise<number> {
    const end = await coverageEnd(this.#source)
    if (end > 0) return Math.max(end, this.#source.time.beacon.fromEpoch)
    this.#configuredStart ??= configuredStart(this.#source, finalizedEpoch)
    return this.#configuredStart
  }

  async #write(batch: readonly BatchMember[]): Promise<void> {
    const { ingest, settings } = this.#source.context
    const { network } = this
    for (const { segment } of batch) {
      await syncRegistry(ingest, network, segment.registry)
      releaseBuffers(Object.values(segment.registry))
    }
    const { hoursKeptDays, missedKeptDays } = networkSettings(settings, network)
    const watchChanges = await commitSegments(this.#source, batch, { hoursKeptDays, missedKeptDays })
    for (const { epochs, segment } of batch) {
      addAlertSources(this.#source.context, { network, ...this.#source.time }, epochs, segment.alerts)
      for (const change of segment.unexplained) this.#logUnexplained(change)
    }
    for (const change of watchChanges) this.#logWatchChange(change)
    // Logged once for each list: unknown validators may be added to the network later.
    const { names } = await readWatchNames(this.#source.context, network)
    if (names !== this.#unknownLoggedFor) await logUnknownWatched(this.#source.context, network, names)
    this.#unknownLoggedFor = names
  }

  #logUnexplained({ epoch, validators, inGwei, outGwei, listed }: UnexplainedChange): void {
    const { log } = this.#source.context
    const examples = listed.map(([validator, gwei]) => `validator ${validator}: ${gwei} gwei`)
    log.error({ network: this.network, epoch, validators, inGwei, outGwei, examples }, unexplainedText)
  }

  #logWatchChange({ fromEpoch, added, removed }: WatchChange): void {
    this.#watchChanges += 1
    const { log } = this.#source.context
    log.warn({ network: this.network, fromEpoch, added: added.length, removed: removed.length }, 'watch list changed')
  }
}
