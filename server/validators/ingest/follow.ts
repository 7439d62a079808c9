// Follows one network: piece by piece, from where the coverage ends to what is final.
//
// 1. Rows, coverage and what the next epoch needs of this one are one transaction. Killed anywhere, a new run goes on with
//    the same rows as if nothing had happened.
// 2. Epochs of one piece (behaviour/validators.md#days-and-hours) are added up before they are written; near the head each is written at once.
//    Small pieces that are at hand together go in one transaction: it costs far more than their rows.
// 3. The registry is written before the rows that need it, and writing it again changes nothing.
// 4. Whoever asks while it is catching up gets the outcome of that.
// 5. What lies before the end of the coverage can be filled in (behaviour/validators.md#fill-gaps): figures, missed duties and coverage only, because registry,
//    scores and watch list speak of the present. Filling and catching up never run at once; their caller sees to it.
// 6. What is stored can be read again and replaced (repair.ts), under the same condition.
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import type { ValidatorsContext } from '../context.ts'
import type { CommitSegment, EpochCommit } from '../duties/commit.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { plainTime, segmentAt } from '../duties/layout.ts'
import { describeWindowsMismatch, refuseOtherWindows } from '../duties/networks.ts'
import { readScores, type ScoreHistory } from '../duties/scores.ts'
import { mergeDuties, summarizeDuties, updateDuties } from '../duties/store.ts'
import { daysToSummarize } from '../duties/summaries.ts'
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
import type { ExecutionSource } from './read/execution.ts'
import { type Repaired, repairEpochs } from './repair.ts'
import { readGroups } from './summary-groups.ts'
import { logUnknownWatched } from './unknown-watched.ts'

export interface IngestProgress {
  /** Epochs from 0 up to here have been written, as far as they were read at all. */
  readonly until: number
  readonly finalizedEpoch: number
  readonly written: number
}

/** What is told about each piece that was written. */
export interface IngestStep extends IngestProgress {
  /** Figures held against the node's own, and those that differ. */
  readonly compared: number
  readonly differing: number
  /** Balances that moved otherwise than by duties: deposits, consolidations. */
  readonly unexplainedBalanceChanges: { readonly validators: number; readonly inGwei: number; readonly outGwei: number }
}

/** Days that are summarized each time that ingest has caught up. */
const summarizedDaysMax = 8

export class Follower {
  readonly network: Network
  readonly #context: Pick<ValidatorsContext, 'state' | 'duties' | 'settings' | 'log' | 'clock'>
  readonly #processor: EpochProcessor
  readonly #time: ChainTime
  /** Where the last piece ended and what it left; undefined: the store is asked. */
  #resume: { readonly at: number; readonly scores: ScoreHistory } | undefined
  #running: Promise<IngestProgress> | undefined
  #hasLoggedUnknown = false

  /** A mill, or nodes to make one of. */
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

  /** Reads what has become final since the last time. */
  catchUp(signal: AbortSignal, onStep: (step: IngestStep) => void = () => {}): Promise<IngestProgress> {
    this.#running ??= this.#catchUp(signal, onStep).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #catchUp(signal: AbortSignal, onStep: (step: IngestStep) => void): Promise<IngestProgress> {
    await this.#verifyChain(signal)
    const finalizedEpoch = await this.#processor.finalizedEpoch(signal)
    // The votes of an epoch can come in until the end of the next one, which must be final as well.
    const until = finalizedEpoch - 1
    const first = await this.#startEpoch(finalizedEpoch)
    let next = first
    try {
      for await (const batch of inBatches(this.#segments(first, until, signal), this.#context.clock)) {
        const span = { from: next, until: batch.at(-1)?.span.until ?? next }
        await this.#write(span, batch)
        for (const { segment } of batch) releaseBuffers(segmentColumns(segment))
        await this.#merge(span.until, signal)
        next = span.until
        for (const { span: own, segment } of batch)
          onStep({ until: own.until, finalizedEpoch, written: own.until - first, ...summarizeStep(segment) })
      }
    } catch (error) {
      this.#resume = undefined
      throw error
    }
    if (!signal.aborted) await this.#summarize(next, signal)
    return { until: next, finalizedEpoch, written: next - first }
  }

  /** Reads those of the epochs before the end of the coverage that nobody has read. Tells after each piece how many are left. */
  async fill(epochs: Range, signal: AbortSignal, onStep: (left: number) => void = () => {}): Promise<number> {
    const { duties } = this.#context
    await this.#verifyChain(signal)
    const missing = await missingEpochs(duties, this.network, epochs)
    if (await hasLeft(duties, this.network, epochs)) {
      throw new BeaconError(
        `${this.network}: validators that were kept in these epochs are on the watch list no more, and what is filled in now would lack them`,
      )
    }
    const all = countEpochs(missing)
    let left = all
    for (const hole of missing) {
      let scores: ScoreHistory = new Map()
      for (let from = hole.from; from < hole.until && !signal.aborted; ) {
        const span = { from, until: this.#segmentEnd(from, hole.until) }
        const segment = await this.#processor.processSegment({ ...span, scores }, signal)
        await this.#writeFilled(span, segment)
        releaseBuffers(segmentColumns(segment))
        scores = segment.scores
        from = span.until
        left -= span.until - span.from
        onStep(left)
      }
    }
    const end = (await coveredEpochs(duties, this.network)).at(-1)?.until
    if (end !== undefined) await this.#merge(end, signal)
    return all - left
  }

  /** Reads epochs again that are stored, and replaces what is stored of them. Tells how many epochs are left. */
  async repair(epochs: Range, signal: AbortSignal, onStep: (left: number) => void = () => {}): Promise<Repaired> {
    await this.#verifyChain(signal)
    const { duties } = this.#context
    const source = { duties, processor: this.#processor, network: this.network, time: this.#time }
    const repaired = await repairEpochs(source, epochs, signal, onStep)
    const end = (await coveredEpochs(duties, this.network)).at(-1)?.until
    if (end !== undefined) await this.#merge(end, signal)
    return repaired
  }

  /** Days that are over by then become blocks. */
  #merge(until: number, signal: AbortSignal): Promise<number> {
    return mergeDuties(this.#context.duties, { network: this.network, time: plainTime(this.#time), until }, signal)
  }

  /** Days that are over and have no summary yet, or one by other pools; some at a time, so that the next epochs do not wait. */
  async #summarize(until: number, signal: AbortSignal): Promise<void> {
    const { state, duties } = this.#context
    const input = { network: this.network, time: plainTime(this.#time), until }
    const version = await entitiesVersion(state, this.network)
    if ((await daysToSummarize(duties, { ...input, version })).length === 0) return
    const groups = await readGroups(state, this.network)
    await summarizeDuties(duties, { ...input, groups, daysMax: summarizedDaysMax }, signal)
  }

  async #writeFilled(span: EpochSpan, segment: ProcessedSegment): Promise<void> {
    await this.#commit([{ span, segment }])
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

  /** In order. Where another thread makes them, each is made while the one before it is written. */
  async *#segments(first: number, until: number, signal: AbortSignal): AsyncGenerator<ProcessedSpan> {
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    let scores = this.#resume?.at === first ? this.#resume.scores : await readScores(this.#context.duties, this.network)
    const make = async (from: number) => {
      const span = { from, until: this.#segmentEnd(from, until) }
      return { span, segment: await this.#processor.processSegment({ ...span, scores }, either) }
    }
    let ahead = first < until ? make(first) : undefined
    try {
      while (ahead && !signal.aborted) {
        const one = await ahead
        const next = one.span.until
        scores = one.segment.scores
        ahead = this.#processor.isOnOtherThread && next < until ? make(next) : undefined
        ahead?.catch(() => {})
        yield one
        if (next < until && !signal.aborted) ahead ??= make(next)
      }
    } finally {
      over.abort()
      await ahead?.catch(() => {})
    }
  }

  /** What is stored, the settings and the node are about the same epochs in the same windows. */
  async #verifyChain(signal: AbortSignal): Promise<void> {
    const { duties } = this.#context
    refuseOtherWindows(await describeWindowsMismatch(duties, this.network, this.#time))
    const { identity } = await this.#processor.chain(signal)
    const isEmpty = (await coveredEpochs(duties, this.network)).length === 0
    if (isEmpty) await adoptChain(duties, this.network, this.#time, identity)
    const mismatch = (['genesisUnix', 'slotSeconds', 'slotsPerEpoch'] as const).find(
      (key) => identity[key] !== this.#time[key],
    )
    if (!mismatch) return
    throw new BeaconError(
      `${this.network}: the node's ${mismatch} is ${identity[mismatch]}, the server's ${this.#time[mismatch]}; restart the server to take it over`,
    )
  }

  /** Where the coverage ends, or where the first run begins. */
  async #startEpoch(finalizedEpoch: number): Promise<number> {
    const covered = (await coveredEpochs(this.#context.duties, this.network)).at(-1)
    if (covered) return covered.until
    const { fromEpoch } = this.#context.settings.validators.networks[this.network].beacon
    if (fromEpoch >= 0) return fromEpoch
    const days = chainDays(this.#time)
    return days.epochsOf(days.dayOf(finalizedEpoch as Epoch)).from
  }

  /** Epochs up to here share their hour and both of their days. */
  #segmentEnd(from: number, until: number): number {
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
        log.warn({ network, reason }, 'a beacon node contradicted itself; another node was used')
    for (const { change, at } of watchChanges) this.#logWatchChange(change, at)
    // Once: they may still come.
    if (!this.#hasLoggedUnknown) await logUnknownWatched(this.#context, network)
    this.#hasLoggedUnknown = true
  }

  #logWatchChange({ added, removed }: WatchChange, fromEpoch: number): void {
    const message =
      'the watch list has changed: whoever was added has no earlier epochs, whoever was removed no later ones'
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
  const sum = <T>(list: readonly T[], of: (one: T) => number) => list.reduce((total, one) => total + of(one), 0)
  return {
    compared: sum(audits, (line) => line.compared),
    differing: sum(audits, (line) => line.differing),
    unexplainedBalanceChanges: {
      validators: sum(unexplained, (one) => one.validators),
      inGwei: sum(unexplained, (one) => one.inGwei),
      outGwei: sum(unexplained, (one) => one.outGwei),
    },
  }
}
