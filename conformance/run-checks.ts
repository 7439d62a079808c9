// Puts a server to the test: every check of the suite, one after another, and what came of it. This folder knows the
// contract and nothing of any server (behaviour/operations.md#conformance).
import { type Check, CheckFailed, Skipped } from './check.ts'
import { checks } from './checks.ts'
import { type Samples, type ServerEnvironment, type ServerOptions, ServerUnderTest } from './server-under-test.ts'

export interface ConformOptions extends ServerOptions {
  readonly samples?: Samples
  /** Beginnings of check ids; left out: all. */
  readonly only?: readonly string[] | undefined
  /** Leave out what the specification does not say. */
  readonly specOnly?: boolean
  /** Also checks that wait for a link to expire. */
  readonly slow?: boolean
  /** Also the check that shows many bad keys, which closes this address for a while. */
  readonly guard?: boolean
}

export interface CheckResult {
  readonly id: string
  readonly rule: string
  readonly message: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** What was wrong, or why it was left out. */
  readonly notes: readonly string[]
}

export interface ConformanceReport {
  readonly conforms: boolean
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly results: readonly CheckResult[]
}

const systemEnvironment: ServerEnvironment = {
  fetch: (url, init) => globalThis.fetch(url, init),
  sleep: (waitMs) => new Promise((resolve) => setTimeout(resolve, waitMs)),
  now: () => Date.now(),
}

export async function conform(
  options: ConformOptions,
  report: (result: CheckResult) => void = () => {},
  environment: Partial<ServerEnvironment> = {},
): Promise<ConformanceReport> {
  const site = new ServerUnderTest(options, { ...systemEnvironment, ...environment }, options.samples ?? {})
  const results: CheckResult[] = []
  for (const check of checks.filter((one) => isWanted(one, options))) {
    const result = await judge(check, site, options)
    results.push(result)
    report(result)
  }
  const count = (outcome: CheckResult['outcome']) => results.filter((one) => one.outcome === outcome).length
  const [passed, failed, skipped] = [count('passed'), count('failed'), count('skipped')]
  // A run in which nothing could be checked proves nothing.
  return { conforms: failed === 0 && passed > 0, passed, failed, skipped, results }
}

function isWanted({ id, rule }: Check, { only, specOnly }: ConformOptions): boolean {
  if (specOnly && !rule.startsWith('spec ')) return false
  return only === undefined || only.some((beginning) => id === beginning || id.startsWith(`${beginning}.`))
}

async function judge(check: Check, site: ServerUnderTest, options: ConformOptions): Promise<CheckResult> {
  const { id, rule, requirement, onlyWith } = check
  const ended = (outcome: CheckResult['outcome'], notes: readonly string[] = []): CheckResult => ({
    id,
    rule,
    message: requirement,
    outcome,
    notes: notes.map((note) => withoutKeys(note, options)),
  })
  if (onlyWith && !options[onlyWith]) return ended('skipped', [`only with --${onlyWith}`])
  try {
    await check.run(site)
    return ended('passed')
  } catch (error) {
    if (error instanceof Skipped) return ended('skipped', [error.message])
    if (error instanceof CheckFailed) return ended('failed', error.problems)
    return ended('failed', [`no answer: ${describeError(error)}`])
  }
}

function describeError(error: unknown): string {
  const messages: string[] = []
  for (let link = error; link instanceof Error && messages.length < 5; link = link.cause) messages.push(link.message)
  return messages.join(': ') || 'the network failed'
}

/** A report is there to be passed on; group A's key travels in URLs that errors may repeat. */
function withoutKeys(text: string, { key, lowKey }: ServerOptions): string {
  return [key, ...(lowKey ? [lowKey] : [])].reduce(
    (cleaned, one) =>
      one === '' ? cleaned : cleaned.replaceAll(one, '[key]').replaceAll(encodeURIComponent(one), '[key]'),
    text,
  )
}

export const checkIds: readonly string[] = checks.map(({ id }) => id)
