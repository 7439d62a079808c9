// One process of a test run: runs the given test files and writes one line of JSON per result.
//   node test/batch.ts <report file> <test file> …
import { closeSync, openSync, writeSync } from 'node:fs'
import { relative } from 'node:path'
import { run } from 'node:test'
import type { TestEvent } from 'node:test/reporters'

export interface Result {
  readonly file: string
  readonly name: string
  /** `suite`: only counted if it failed outside its tests, or was skipped. */
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'suite'
  /** Why it was skipped, or how it failed. */
  readonly reason?: string
  readonly durationMs?: number
}

type TestEnd = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

/** The last line of a report. Without it, the process ended before all tests had run. */
export const endLine = 'end'

/** For tests that hang. */
const timeoutMs = 600_000

/** Durations of suites and of tests with subtests are left out: they include waiting, and would count twice. */
function resultOf(event: TestEnd, hasSubtests: boolean): Result | undefined {
  const { name, file, skip, details } = event.data
  if (!file) return undefined
  const result = { file: relative(process.cwd(), file), name, ...outcomeOf(event, skip) }
  if (hasSubtests || result.outcome === 'suite') return result
  return { ...result, durationMs: Math.round(details.duration_ms) }
}

function outcomeOf(event: TestEnd, skip: string | boolean | undefined): Pick<Result, 'outcome' | 'reason'> {
  if (skip !== undefined) return { outcome: 'skipped', reason: typeof skip === 'string' ? skip : 'skipped' }
  const isSuite = event.data.details.type === 'suite'
  if (event.type === 'test:pass') return { outcome: isSuite ? 'suite' : 'passed' }
  const { error } = event.data.details
  if (isSuite && (error as { failureType?: string }).failureType === 'subtestsFailed') return { outcome: 'suite' }
  const cause = error?.cause instanceof Error ? error.cause : error
  return { outcome: 'failed', reason: cause?.stack ?? String(cause) }
}

if (import.meta.main) {
  const [report = '', ...files] = process.argv.slice(2)
  const out = openSync(report, 'w')
  let nestingBefore = 0
  const events = run({ files, isolation: 'none', timeout: timeoutMs })
  for await (const event of events as AsyncIterable<TestEvent>) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    // Results of subtests arrive before that of their parent.
    const { nesting } = event.data
    const result = resultOf(event, nesting < nestingBefore)
    nestingBefore = nesting
    if (result) writeSync(out, `${JSON.stringify(result)}\n`)
    if (result?.outcome === 'failed') process.exitCode = 1
  }
  writeSync(out, endLine)
  closeSync(out)
}
