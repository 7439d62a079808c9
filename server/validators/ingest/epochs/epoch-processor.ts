// Reads and processes the epochs of a segment into columns that can be stored. The ingest of a network calls it
// (../follow.ts). It accesses nodes and the records of states on disk, but no database. In a server it therefore runs on
// a thread of its own (../thread/processor-thread.ts, decisions/decode-epochs-on-a-separate-thread.md).
//
// 1. Segments are requested in order, one at a time. The processor keeps the state at both ends of the last segment: the
//    next request continues at its end, or repeats it from its start because it could not be stored.
// 2. For a request that starts anywhere else, the previous epoch is processed first, with the stored inactivity scores.
// 3. If responses contradict each other, other ways to process the segment are tried (`waysToProcessSegment`). Each returns
//    what to do next (`WayResult`). If no node and no record has the states of an epoch, the error is a
//    StatesNotFoundError. Then the caller calls `firstReadable` and `computeEpochs`, or skips the epoch (ARCHITECTURE.md,
//    "Follow a missing state").
import type { Range } from '#core/ranges.ts'
import { type Beacon, BeaconError, ContradictionError } from '#sources/beacon/client.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { createBeaconQueries } from '../read/beacon-queries.ts'
import { NodeComparison } from '../read/compare-nodes.ts'
import { EpochReader } from '../read/epoch-reader.ts'
import type { ExecutionSource } from '../read/execution.ts'
import { describeAnswers, findFirstReadable, type HeadRecording, recordHead } from '../read/head-recorder.ts'
import type { StateRecords } from '../read/state-records.ts'
import { isStatesNotFound, StatesNotFoundError } from '../read/states-not-found.ts'
import { ReplayError } from '../replay/chain-replay.ts'
import { createEpochAudit } from './audit.ts'
import type { ProcessedSegment, SegmentRequest } from './processed-segment.ts'
import { SegmentProcessor, warmUpMax } from './segment-processor.ts'
import type { ProcessWay, SegmentAttempt, SegmentContext, WayResult } from './segment-way.ts'
import { withAnyNode } from './ways/with-any-node.ts'
import { withOneNode } from './ways/with-one-node.ts'
import { withoutComputedEpochs } from './ways/without-computed-epochs.ts'
import { withoutWrongRecords } from './ways/without-wrong-records.ts'

export interface EpochProcessor {
  /** True: the next segment can be processed while the caller stores this one. */
  readonly isOnOtherThread: boolean
  chain(signal?: AbortSignal): Promise<Chain>
  finalizedEpoch(signal: AbortSignal): Promise<number>
  processSegment(request: SegmentRequest, signal: AbortSignal): Promise<ProcessedSegment>
  /** Takes the state that the epoch `next` will need, or else that of the finalized epoch, before nodes delete it. */
  prepareHead(next: number, finalizedEpoch: number, signal: AbortSignal): Promise<void>
  /**
   * Computes states of past epochs, for a limited time, so that new epochs do not wait. Returns whether the epochs can be
   * processed now. If not, call it again with the same epochs.
   */
  preparePast(epochs: Range, signal: AbortSignal): Promise<boolean>
  /**
   * Records the states of epochs that are not final. `nextEpoch`: the first epoch that is not stored yet. `gaps`: those
   * whose records are kept, to compute them later.
   */
  recordHead(nextEpoch: number, gaps: readonly Range[], signal: AbortSignal): Promise<HeadRecording>
  /**
   * The first epoch of a range whose states can be read. Undefined: every node responded, and none has a state of the range.
   * Throws if a node did not respond and the others have none.
   */
  firstReadable(epochs: Range, signal: AbortSignal): Promise<number | undefined>
  /** For the log and the reason of a gap: what each node answers to a request for a state of the epoch. */
  describeAnswers(epoch: number, signal: AbortSignal): Promise<string>
  /**
   * Computes epochs without states from blocks, for the next segments. A node or a record must have the state at the first
   * slot of `until`. A second call for the same epochs means that they could not be processed: it drops them, and
   * returns why.
   */
  computeEpochs(epochs: Range, signal: AbortSignal): Promise<ComputeResult>
  /** Replaces the watch list, for the segments after this call. */
  setWatch(names: readonly string[]): Promise<void>
}

/** A plain value, because the processor can be on another thread. */
export type ComputeResult = { readonly is: 'computed' } | { readonly is: 'impossible'; readonly reason: string }

export interface EpochProcessorOptions {
  readonly watch?: readonly string[]
  /** Validators of each epoch whose rewards are compared with those of the node; 0: none. */
  readonly auditValidators?: number
  readonly execution?: ExecutionSource | undefined
  /** Whether several nodes are compared with each other. Default: true. */
  readonly comparesNodes?: boolean
  /** Whether segments have the rows of the network, if there is a watch list. Default: true. */
  readonly summarizesNetwork?: boolean
  /** Undefined: states are not recorded. */
  readonly records?: StateRecords | undefined
}

/** Tried in this order. Each file begins with when the way applies, what it proves and what it costs. */
const waysToProcessSegment: readonly ProcessWay[] = [
  withAnyNode, // requests go to any node, and records are used instead of requests
  withoutComputedEpochs, // contradiction: an epoch that was computed from blocks becomes one without states
  withOneNode, // contradiction: each node alone, with as few records as possible
  withoutWrongRecords, // contradiction of records that no node can replace: they are deleted
]

/** A processor on the current thread. */
export function createEpochProcessor(beacon: Beacon, options: EpochProcessorOptions = {}): EpochProcessor {
  const {
    watch = [],
    auditValidators = 0,
    execution,
    comparesNodes = true,
    summarizesNetwork = true,
    records,
  } = options
  const comparison = comparesNodes && beacon.each().length > 1 ? new NodeComparison() : undefined
  const audit = auditValidators > 0 ? createEpochAudit(beacon, auditValidators) : undefined
  const segmentProcessor = new SegmentProcessor({ watch, execution, audit, summarizesNetwork })
  const readRules = async (signal: AbortSignal) => (await beacon.chain(signal)).rules
  const readFinalizedEpoch = async (signal: AbortSignal) =>
    createBeaconQueries(beacon, await readRules(signal), signal).finalizedEpoch('head')
  const context: SegmentContext = {
    beacon,
    records,
    segmentProcessor,
    readFinalizedEpoch,
    agreedDifferences: new Set(),
  }
  /** Wrong records were deleted, and no segment was processed since. */
  let hasDeletedRecords = false
  /** Why the epochs that were computed from blocks were not accepted. */
  let refusalOfComputed: string | undefined

  return {
    isOnOtherThread: false,
    setWatch: async (names) => segmentProcessor.setWatch(names),
    chain: (signal) => beacon.chain(signal),
    async finalizedEpoch(signal) {
      const epoch = await readFinalizedEpoch(signal)
      if (epoch === undefined) throw new BeaconError('the node did not return the finalized epoch')
      return epoch
    },
    prepareHead: async () => {},
    preparePast: async () => true,
    async recordHead(nextEpoch, gaps, signal) {
      if (!records) return { recorded: [], dropped: [], failure: undefined }
      // The previous epoch is processed before the next one (2), and up to `warmUpMax` epochs before it.
      const neededFrom = nextEpoch - 1 - warmUpMax
      return recordHead({ beacon, records }, await readRules(signal), neededFrom, signal, gaps)
    },
    async firstReadable(epochs, signal) {
      const recorded = new Set(await records?.epochs())
      return findFirstReadable(beacon, await readRules(signal), recorded, epochs, signal)
    },
    describeAnswers: async (epoch, signal) => describeAnswers(beacon, await readRules(signal), epoch, signal),
    async computeEpochs(epochs, signal) {
      const reason = refusalOfComputed ?? 'the computed epochs could not be processed'
      refusalOfComputed = undefined
      // The last call computed them. They were not stored since, so processing them failed.
      if (segmentProcessor.isComputed(epochs.from)) {
        segmentProcessor.dropComputed()
        return { is: 'impossible', reason }
      }
      const reader = new EpochReader(beacon, await readRules(signal), records).withSignal(signal)
      try {
        segmentProcessor.addComputed(await reader.replayEpochs(epochs), reader)
      } catch (error) {
        if (error instanceof ReplayError || isStatesNotFound(error)) return { is: 'impossible', reason: error.message }
        throw error
      }
      return { is: 'computed' }
    },
    async processSegment(request, signal) {
      const result = await tryWays(context, {
        request,
        signal,
        contradiction: undefined,
        failures: [],
        hasDeletedRecords,
      })
      if (result.is === 'no states') {
        refusalOfComputed = result.refusalOfComputed ?? refusalOfComputed
        hasDeletedRecords ||= result.hasDeletedRecords === true
        throw new StatesNotFoundError(result.reason)
      }
      hasDeletedRecords = false
      const { segment } = result
      if (!comparison) return segment
      const last = request.until - 1
      return { ...segment, notCompared: await comparison.compare(beacon.each(), await readRules(signal), last, signal) }
    },
  }
}

/** Throws if no way has a result. */
async function tryWays(context: SegmentContext, attempt: SegmentAttempt): Promise<Exclude<WayResult, { is: 'next' }>> {
  let tried = attempt
  for (const processWay of waysToProcessSegment) {
    const result = await processWay(context, tried)
    if (result.is !== 'next') return result
    tried = { ...tried, ...result.found }
  }
  throw errorOf(tried)
}

/**
 * The last contradiction of a single node, or why the last node could not be read. If no single node was tried, or the last
 * one only lacks the states: the contradiction that all nodes together caused.
 */
function errorOf({ contradiction, failures }: SegmentAttempt): BeaconError {
  const lastContradiction = failures.findLast(({ error }) => error instanceof ContradictionError)
  const lastFailure = failures.at(-1)
  const failure = lastContradiction ?? (isStatesNotFound(lastFailure?.error) ? undefined : lastFailure)
  const error = failure?.error ?? contradiction
  if (!error) throw new Error('no way to process the segment reported why it failed')
  return error
}
