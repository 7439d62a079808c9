// A process of a test run that failed beside the others runs once more, alone: many tests wait for servers, and a busy
// machine can be too late. The summary names what passed only then, so that nothing unstable stays hidden.
import type { Result } from './batch.ts'

export interface BatchResult {
  readonly name: string
  readonly results: readonly Result[]
}

/** If more fail, the machine is not the reason. */
const repeatsMax = 3

const hasFailed = ({ outcome }: Result): boolean => outcome === 'failed'

/** None in the long run, which is there to find tests that fail rarely, and none that ran alone. */
export function toRepeat(batches: readonly BatchResult[], isLongRun: boolean): readonly BatchResult[] {
  const failed = batches.filter(({ results }) => results.some(hasFailed))
  return isLongRun || batches.length === 1 || failed.length > repeatsMax ? [] : failed
}

/** The second results. Those that failed first and passed then keep their first failure. */
export function withFirstFailures(first: BatchResult, second: BatchResult): BatchResult {
  if (second.results.some(hasFailed)) return second
  const failures = first.results
    .filter(hasFailed)
    .map(({ file, name, reason = 'no reason' }): Result => ({ file, name, outcome: 'suite', failedFirst: reason }))
  return { name: second.name, results: [...second.results, ...failures] }
}
