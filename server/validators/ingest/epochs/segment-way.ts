// What the ways to process a segment have in common (epoch-processor.ts has the list).
import type { Beacon, BeaconError, ContradictionError, SingleBeacon } from '#sources/beacon/client.ts'
import type { StateRecords } from '../read/state-records.ts'
import type { ProcessedSegment, SegmentRequest } from './processed-segment.ts'
import type { SegmentProcessor, SegmentSource } from './segment-processor.ts'

/** What the ways use, from segment to segment. */
export interface SegmentContext {
  readonly beacon: Beacon
  /** Undefined: states are not recorded. */
  readonly records: StateRecords | undefined
  readonly segmentProcessor: SegmentProcessor
  /** Keys of the unexplained balances that two nodes agree on (`ContradictionError`). */
  readonly agreedDifferences: Set<string>
  readonly readFinalizedEpoch: (signal: AbortSignal) => Promise<number | undefined>
}

/** The attempt to process one segment, and what the ways that were tried have found. */
export interface SegmentAttempt {
  readonly request: SegmentRequest
  readonly signal: AbortSignal
  /** The contradiction in what all nodes together returned. */
  readonly contradiction: ContradictionError | undefined
  /** Why single nodes could not be used, in the order in which they were tried. */
  readonly failures: readonly NodeFailure[]
  /** Wrong records were deleted, and no segment was processed since. */
  readonly hasDeletedRecords: boolean
}

export interface NodeFailure {
  readonly node: SingleBeacon
  readonly usesRecords: boolean
  readonly error: BeaconError
}

/** A way that throws an error ends the attempt with it. */
export type WayResult =
  | { readonly is: 'segment'; readonly segment: ProcessedSegment }
  /** It does not apply, or has no segment. The next way is tried, with what this one has found. */
  | { readonly is: 'next'; readonly found?: Partial<Pick<SegmentAttempt, 'contradiction' | 'failures'>> }
  | NoStates

/** The first epoch counts as one whose states no node has. The attempt ends with a StatesNotFoundError. */
export interface NoStates {
  readonly is: 'no states'
  readonly reason: string
  /** Set if the epoch was computed from blocks: why the result is not accepted. */
  readonly refusalOfComputed?: string
  /** Set if records of the epoch were deleted because they are wrong. */
  readonly hasDeletedRecords?: boolean
}

export type ProcessWay = (context: SegmentContext, attempt: SegmentAttempt) => Promise<WayResult>

export async function processFrom(
  source: SegmentSource,
  { beacon, records, segmentProcessor }: SegmentContext,
  { request, signal }: SegmentAttempt,
): Promise<ProcessedSegment> {
  const segment = await segmentProcessor.process(request, source, await beacon.chain(signal), signal)
  segmentProcessor.continueWith({ beacon, records })
  return segment
}
