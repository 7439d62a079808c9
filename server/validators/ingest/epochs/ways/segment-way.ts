// What the ways to process a segment have in common (../epoch-processor.ts has the list).
import type { Beacon, BeaconError, ContradictionError, SingleBeacon } from '#sources/beacon/client.ts'
import type { StateRecords } from '../../read/state-records.ts'
import type { ProcessedSegment, SegmentRequest } from '../processed-segment.ts'
import type { SegmentProcessor, SegmentSource } from '../segment-processor.ts'

/** What one epoch processor keeps from segment to segment. */
export interface SegmentContext {
  readonly beacon: Beacon
  /** Undefined: states are not recorded. */
  readonly records: StateRecords | undefined
  readonly segments: SegmentProcessor
  /** Unexplained balance differences that two nodes agree on. */
  readonly agreedDifferences: Set<string>
  readonly readFinalizedEpoch: (signal: AbortSignal) => Promise<number | undefined>
  /** Records were deleted because they are wrong, and no segment was processed since. */
  hasGivenUpRecords: boolean
  /** Why epochs that were computed from blocks were not accepted. */
  computedProblem: string | undefined
}

/** The attempt to process one segment, and what the ways that were tried have found. */
export interface SegmentAttempt {
  readonly request: SegmentRequest
  readonly signal: AbortSignal
  /** The contradiction in what all nodes together returned. */
  contradiction: ContradictionError | undefined
  /** Why single nodes could not be used, in the order in which they were tried. */
  readonly failures: NodeFailure[]
}

export interface NodeFailure {
  readonly node: SingleBeacon
  readonly usesRecords: boolean
  readonly error: BeaconError
}

/** Undefined: it has no result, and the next way is tried. An error ends the attempt. */
export type ProcessWay = (context: SegmentContext, attempt: SegmentAttempt) => Promise<ProcessedSegment | undefined>

export async function processFrom(
  source: SegmentSource,
  context: SegmentContext,
  { request, signal }: SegmentAttempt,
): Promise<ProcessedSegment> {
  const { beacon, records, segments } = context
  const segment = await segments.process(request, source, await beacon.chain(signal), signal)
  segments.continueWith({ beacon, records })
  context.hasGivenUpRecords = false
  return segment
}
