// When: the responses contradict each other, and there are several nodes or records of states.
// Proves: which node or record is wrong: the first node without a contradiction is used, and the others are distrusted.
//   If two nodes have the same unexplained balances, the rules of this version are probably incomplete, so it is stored.
// Costs: each node is read alone, up to three times: without records, with those of final epochs, and with all of them.
import { BeaconError, ContradictionError, type SingleBeacon } from '#sources/beacon/client.ts'
import type { RecordReader, StateRecords } from '../../read/state-records.ts'
import type { ProcessedSegment } from '../processed-segment.ts'
import {
  type NodeFailure,
  type ProcessWay,
  processFrom,
  type SegmentAttempt,
  type SegmentContext,
} from '../segment-way.ts'
import { withNodeName } from '../with-node-name.ts'

interface NodeSource {
  readonly node: SingleBeacon
  readonly records: RecordReader | undefined
}

export const withOneNode: ProcessWay = async (context, attempt) => {
  const { request, signal } = attempt
  const nodes = context.beacon.each()
  // What has been read may be wrong.
  context.segmentProcessor.startAgain(request.from)
  if (nodes.length < 2 && !context.records) return { is: 'next' }
  const failures: NodeFailure[] = []
  const trusted = nodes.filter(({ isDistrusted }) => !isDistrusted())
  // Most nodes have the states since finality, so the records of later epochs are used last.
  const lastFinal = Math.max(request.from, ((context.records && (await context.readFinalizedEpoch(signal))) ?? 0) - 1)
  for (const node of trusted.length > 0 ? trusted : nodes) {
    for (const records of recordsToTry(context.records, lastFinal)) {
      const segment = await tryNode({ node, records }, context, attempt, failures)
      if (!segment) continue
      // The records that were not used may be what was wrong. They are recorded again.
      if (records !== context.records) await context.records?.remove({ from: lastFinal + 1, until: request.until + 2 })
      return { is: 'segment', segment: { ...segment, settled: settleContradictions(node, context, failures) } }
    }
  }
  return { is: 'next', found: { failures } }
}

/** A record may be what is wrong, so as few of them as possible are used. */
const recordsToTry = (all: StateRecords | undefined, lastFinal: number): readonly (RecordReader | undefined)[] =>
  all ? [undefined, all.upTo(lastFinal), all] : [undefined]

/** Undefined: it failed, and the failure was added. */
async function tryNode(
  { node, records }: NodeSource,
  context: SegmentContext,
  attempt: SegmentAttempt,
  failures: NodeFailure[],
): Promise<ProcessedSegment | undefined> {
  const { agreedDifferences, segmentProcessor } = context
  const accept = (differencesKey: string) => {
    const isSame = ({ node: other, error }: NodeFailure) =>
      other !== node && error instanceof ContradictionError && error.differencesKey === differencesKey
    if (failures.some(isSame)) agreedDifferences.add(differencesKey)
    return agreedDifferences.has(differencesKey)
  }
  try {
    return await processFrom({ beacon: node.beacon, records, accept }, context, attempt)
  } catch (error) {
    attempt.signal.throwIfAborted()
    segmentProcessor.startAgain(attempt.request.from)
    if (!(error instanceof BeaconError)) throw error
    failures.push({
      node,
      usesRecords: records !== undefined,
      error: error instanceof ContradictionError ? withNodeName(error, node.name) : error,
    })
    return undefined
  }
}

/** Distrusts the other nodes that contradicted themselves. Returns what the log reports about each contradiction. */
function settleContradictions(
  used: SingleBeacon,
  { agreedDifferences }: SegmentContext,
  failures: readonly NodeFailure[],
): string[] {
  const settled: string[] = []
  for (const { node, error } of failures) {
    if (!(error instanceof ContradictionError)) continue
    const isAgreed = error.differencesKey !== undefined && agreedDifferences.has(error.differencesKey)
    if (node !== used && !isAgreed) node.distrust(error.message)
    settled.push(
      isAgreed
        ? `${error.message}; ${used.name} returns the same, so it was stored`
        : `${error.message}; used ${used.name}`,
    )
  }
  return settled
}
