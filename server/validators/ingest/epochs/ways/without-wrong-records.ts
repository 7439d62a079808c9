// When: no node has the states any more, and only records of states contradict the blocks.
// Proves: nothing. The records of the epoch are deleted, and it counts as one without states, so that ingest continues.
//   Only once in a row: if the next epochs are contradictory as well, a node is wrong, and the contradiction stops ingest.
// Costs: a gap, unless the epoch can be computed from blocks.
import { ContradictionError } from '#sources/beacon/client.ts'
import type { StateRecords } from '../../read/state-records.ts'
import { isStatesNotFound, StatesNotFoundError } from '../../read/states-not-found.ts'
import type { SegmentRequest } from '../processed-segment.ts'
import type { NodeFailure, ProcessWay, SegmentContext } from './segment-way.ts'

export const withoutWrongRecords: ProcessWay = async (context, { request, failures }) => {
  const { records, hasGivenUpRecords } = context
  const contradiction = failures.findLast(({ error }) => error instanceof ContradictionError)?.error
  if (!records || !contradiction || !failures.every(isOfRecords) || hasGivenUpRecords) return undefined
  await giveUpRecords(records, request, context)
  throw new StatesNotFoundError(
    `no node has the states any more, and the recorded ones are wrong: ${contradiction.message}`,
  )
}

const isOfRecords = ({ error, usesRecords }: NodeFailure): boolean =>
  error instanceof ContradictionError ? usesRecords : isStatesNotFound(error)

async function giveUpRecords(
  records: StateRecords,
  { from, until }: SegmentRequest,
  context: SegmentContext,
): Promise<void> {
  // A longer segment is first divided into single epochs (../../follow.ts), so that only one epoch is given up.
  if (until - from > 1) return
  context.hasGivenUpRecords = true
  await records.remove({ from: from + 1, until: until + 2 })
}
