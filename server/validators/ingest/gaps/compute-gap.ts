// When: a record or a node has a full state before the gap, and one after it.
// Proves: the epochs are exact: the computed state must equal the state after them (../replay/replay-gap.ts).
// Costs: all blocks of the gap with each attempt, so there are at most 24 attempts for each gap and process.
import { computeMissing } from './compute-missing.ts'
import { fillUnlessNotFound } from './fill-epochs.ts'
import type { CreateFillWay } from './fill-way.ts'

const attemptsMax = 24

export const createComputeGap: CreateFillWay = (source) => {
  /** By the first epoch of the gap: how often it was tried, and why the last attempt failed. */
  const attempts = new Map<number, { readonly count: number; readonly problem: string }>()
  return async (gap, signal, onStep) => {
    const { count, problem: lastProblem } = attempts.get(gap.from) ?? { count: 0, problem: '' }
    if (count === attemptsMax) return lastProblem
    const result = await computeMissing(source, gap, signal)
    const problem = result.is === 'impossible' ? result.reason : await fillUnlessNotFound(source, gap, signal, onStep)
    if (problem !== undefined) attempts.set(gap.from, { count: count + 1, problem })
    return problem
  }
}
