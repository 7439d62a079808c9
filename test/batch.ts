// One process of a test run: runs the given test files and writes one line of JSON per result.
//   node test/batch.ts <report file> <test file> …
import { once } from 'node:events'
import { closeSync, openSync, writeSync } from 'node:fs'
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { totalCpuMs } from './cpu-time.ts'
import { failureNotes } from './failure-notes.ts'
import { isLongRun } from './long.ts'

export interface Result {
  readonly file: string
  readonly name: string
  /** `suite`: only counted if it failed outside its tests, or was skipped. */
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'suite'
  /** How it failed beside other processes, if it passed when its process ran again alone. */
  readonly failedFirst?: string
  /** Why it was skipped, or how it failed. */
  readonly reason?: string
  /** CPU time since the result before it. Tests of a process run one after another. */
  readonly cpuMs?: number
}

type TestEnd = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>

/** The last line of a report. Without it, the process ended before all tests had run. */
export const endLine = 'end'

/** For tests that hang. In the long run, a test may take hours. */
const timeoutMs = isLongRun ? Number.POSITIVE_INFINITY : 600_000

/** What tests opened must be closed this long after the last of them. */
const closeMaxMs = 20_000

/** A timer, socket or thread that a test left open would keep the process, and so the whole run, from ending. */
class OpenTests {
  #count = 0
  #timer: NodeJS.Timeout | undefined

  start(): void {
    this.#count += 1
    clearTimeout(this.#timer)
  }

  end(): void {
    this.#count -= 1
    if (this.#count === 0) this.#timer = setTimeout(() => this.#exit(), closeMaxMs).unref()
  }

  #exit(): void {
    process.stdout.write(`A test left something open: ${process.getActiveResourcesInfo().join(', ')}\n`)
    process.exit(1)
  }
}

function resultOf(event: TestEnd, cpuMs: number): Result | undefined {
  const { name, file, skip } = event.data
  if (!file) return undefined
  return { file: relative(process.cwd(), file), name, ...outcomeOf(event, skip), cpuMs: Math.round(cpuMs) }
}

function outcomeOf(event: TestEnd, skip: string | boolean | undefined): Pick<Result, 'outcome' | 'reason'> {
  if (skip !== undefined) return { outcome: 'skipped', reason: typeof skip === 'string' ? skip : 'skipped' }
  const isSuite = event.data.details.type === 'suite'
  if (event.type === 'test:pass') return { outcome: isSuite ? 'suite' : 'passed' }
  const { error } = event.data.details
  if (isSuite && (error as { failureType?: string }).failureType === 'subtestsFailed') return { outcome: 'suite' }
  const cause = error?.cause instanceof Error ? error.cause : error
  return { outcome: 'failed', reason: [cause?.stack ?? String(cause), ...failureNotes].join('\n') }
}

if (import.meta.main) {
  const [report = '', ...files] = process.argv.slice(2)
  const out = openSync(report, 'w')
  let startCpuMs = 0
  const startCount = () => {
    startCpuMs = totalCpuMs()
  }
  const write = (event: TestEnd) => {
    const result = resultOf(event, totalCpuMs() - startCpuMs)
    startCount()
    if (result) writeSync(out, `${JSON.stringify(result)}\n`)
    if (result?.outcome === 'failed') process.exitCode = 1
  }
  const { run } = await import('node:test')
  const events = run({ files, isolation: 'none', timeout: timeoutMs })
  // All files are loaded before the first test starts.
  events.once('test:dequeue', startCount)
  events.on('test:pass', (data) => write({ type: 'test:pass', data }))
  events.on('test:fail', (data) => write({ type: 'test:fail', data }))
  // Shown if the process does not end: the last line names the test.
  events.on('test:dequeue', ({ name }) => process.stdout.write(`▸ ${name}\n`))
  const open = new OpenTests()
  events.on('test:dequeue', () => open.start())
  events.on('test:complete', () => open.end())
  // Shown if the process fails.
  events.on('test:diagnostic', ({ message }) => process.stdout.write(`${message}\n`))
  await once(events.resume(), 'end')
  writeSync(out, endLine)
  closeSync(out)
}
