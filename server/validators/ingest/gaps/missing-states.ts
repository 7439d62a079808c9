// Decides how ingest continues when no node and no record has the states of an epoch, and keeps which epochs it skipped.
// behaviour/validators.md#nodes-that-prune-states has the rules.
import type { Range } from '#core/ranges.ts'
import { isStatesNotFound } from '../read/states-not-found.ts'
import type { SkippedEpochs } from '../status/ingest-progress.ts'
import type { IngestSource } from '../write/ingest-source.ts'
import { computeSkipped } from './compute-skipped.ts'
import type { ContinueWay, MissingStatesContext, MissingStatesEvent } from './continue-way.ts'
import { divideSegment } from './divide-segment.ts'
import { skipEpochs } from './skip-epochs.ts'

/** Tried in this order. Each file begins with when the way applies, what it proves and what it costs. */
const waysToContinue: readonly ContinueWay[] = [
  divideSegment, // process the epochs of the segment one by one
  computeSkipped, // compute the missing epochs from blocks
  skipEpochs, // leave a gap, and continue with the first epoch that can be read
]

/** Searches for an epoch that can be read, in one run. The next run continues. */
const searchesMax = 8

export class MissingStates {
  readonly #context: MissingStatesContext
  #lastGap: SkippedEpochs | undefined

  constructor(source: IngestSource) {
    this.#context = { source, singleUntil: 0, skipped: undefined, searches: 0 }
  }

  /** Skipped epochs at the end of the coverage: no epoch after them is stored yet. */
  get skipped(): SkippedEpochs | undefined {
    return this.#context.skipped
  }

  /** The last gap that this process has left. */
  get lastGap(): SkippedEpochs | undefined {
    return this.#lastGap
  }

  /** Whether the epoch is processed on its own, to store as many epochs as possible before a missing state. */
  isSingle(epoch: number): boolean {
    return epoch < this.#context.singleUntil
  }

  beginRun(): void {
    this.#context.searches = 0
  }

  /** Returns the epoch to continue with. Throws the error if it is about something else, or after too many searches. */
  async continueAfter(
    error: unknown,
    at: Pick<MissingStatesEvent, 'epochs' | 'segmentEnd' | 'signal'>,
  ): Promise<number> {
    if (!isStatesNotFound(error) || this.#context.searches === searchesMax) throw error
    const event: MissingStatesEvent = {
      ...at,
      reason: error.message,
      findReadable: this.#createSearch(at.epochs, at.signal),
      problem: undefined,
    }
    for (const continueWay of waysToContinue) {
      const epoch = await continueWay(this.#context, event)
      if (epoch !== undefined) return epoch
    }
    throw error
  }

  /** Several ways need the result, but it is searched only once. */
  #createSearch({ from, until }: Range, signal: AbortSignal): MissingStatesEvent['findReadable'] {
    let result: Promise<number | undefined> | undefined
    return () => {
      if (!result) {
        this.#context.searches += 1
        result = this.#context.source.processor.firstReadable({ from: from + 1, until }, signal)
      }
      return result
    }
  }

  /** Where to start if `end` is the end of the coverage: after skipped epochs that cannot be computed. */
  startAfter(end: number): number {
    const { skipped } = this.#context
    return skipped?.from === end && skipped.problem !== undefined ? skipped.until : end
  }

  /** Call this when an epoch was stored: skipped epochs before it are a gap from now on. */
  reportGap(): void {
    const { source, skipped } = this.#context
    if (!skipped) return
    this.#lastGap = skipped
    this.#context.skipped = undefined
    const { from, until, problem } = skipped
    const message = `epochs are missing because no beacon node has their states; to read them, add an archive node to validators.networks.${source.network}.beacon.urls`
    source.context.log.warn({ network: source.network, fromEpoch: from, untilEpoch: until, reason: problem }, message)
  }
}
