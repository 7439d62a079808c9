// When: no node has the states any more, and only records of states contradict the blocks.
// Proves: nothing. The records of the epoch are deleted, and it counts as one without states, so that ingest continues.
//   Only once in a row: if the next epochs are contradictory as well, a node is wrong, and the contradiction stops ingest.
// Costs: a gap, unless the epoch can be computed from blocks.
import { ContradictionError } from '#sources/beacon/client.ts'
import { isStatesNotFound } from '../../read/states-not-found.ts'
import type { NodeFailure, ProcessWay } from '../segment-way.ts'

export const withoutWrongRecords: ProcessWay = async ({ records }, { request, failures, hasDeletedRecords }) => {
  const contradiction = failures.findLast(({ error }) => error instanceof ContradictionError)?.error
  if (!records || !contradiction || !failures.every(isOfRecords) || hasDeletedRecords) return { is: 'next' }
  const reason = `no node has the states any more, and the recorded ones are wrong: ${contradiction.message}`
  const { from, until } = request
  // A longer segment is first divided into single epochs (../../gaps/divide-segment.ts), so that records of one epoch are deleted.
  if (until - from > 1) return { is: 'no states', reason }
  await records.remove({ from: from + 1, until: until + 2 })
  return { is: 'no states', reason, hasDeletedRecords: true }
}

const isOfRecords = ({ error, usesRecords }: NodeFailure): boolean =>
  error instanceof ContradictionError ? usesRecords : isStatesNotFound(error)
