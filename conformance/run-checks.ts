// Runs the checks against a server, one after another, and reports the results. This folder depends on the contract in
// api/, never on a server (behaviour/operations.md#conformance).

import { messagesOf } from '#api/client/send.ts'
import { allRoutes } from '#api/contract/routes.ts'
import { CheckFailed, Differs, Skipped } from './check.ts'
import { type CheckWithId, checks } from './checks.ts'
import { type Samples, type ServerEnvironment, type ServerOptions, ServerUnderTest } from './server-under-test.ts'

export interface ConformanceOptions extends ServerOptions {
  readonly samples?: Samples
  /** First parts of check ids. Default: all checks. */
  readonly only?: readonly string[] | undefined
  /** Run only the checks of rules from the specification. */
  readonly specOnly?: boolean
  /** Also run checks that wait for a link to expire. */
  readonly slow?: boolean
  /** Also run the check that sends many bad keys. The server then blocks the caller's address for a while. */
  readonly badKeys?: boolean
}

export interface CheckResult {
  readonly id: string
  readonly rule: string
  readonly requirement: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** What failed, or why the check was skipped. */
  readonly notes: readonly string[]
}

export interface ConformanceReport {
  /** When the run started and ended, in ISO 8601. */
  readonly startedAt: string
  readonly endedAt: string
  readonly conforms: boolean
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly results: readonly CheckResult[]
  /** The endpoints that were called, and the number of requests. */
  readonly calls: ReturnType<typeof callsOf>
}

const systemEnvironment: ServerEnvironment = {
  fetch: (url, init) => globalThis.fetch(url, init),
  sleep: (waitMs) => new Promise((resolve) => setTimeout(resolve, waitMs)),
  now: () => Date.now(),
}

export async function runChecks(
  options: ConformanceOptions,
  report: (result: CheckResult) => void = () => {},
  environment: Partial<ServerEnvironment> = {},
): Promise<ConformanceReport> {
  const server = new ServerUnderTest(options, { ...systemEnvironment, ...environment }, options.samples ?? {})
  const timeOf = () => new Date(server.environment.now()).toISOString()
  const startedAt = timeOf()
  const results: CheckResult[] = []
  for (const check of checks.filter((candidate) => isSelected(candidate, options))) {
    const result = await runCheck(check, server, options)
    results.push(result)
    report(result)
  }
  const count = (outcome: CheckResult['outcome']) => results.filter((result) => result.outcome === outcome).length
  const [passed, failed, skipped] = [count('passed'), count('failed'), count('skipped')]
  // A run that skipped every check proves nothing.
  const conforms = failed === 0 && passed > 0
  return { startedAt, endedAt: timeOf(), conforms, passed, failed, skipped, results, calls: callsOf(server) }
}

const callsOf = ({ requestCounts }: ServerUnderTest) =>
  [...requestCounts].map(([endpoint, requests]) => {
    const { method, path } = allRoutes[endpoint]
    return { endpoint, method, path, requests }
  })

function isSelected({ id, rule }: CheckWithId, { only, specOnly }: ConformanceOptions): boolean {
  if (specOnly && !rule.startsWith('spec ')) return false
  return only === undefined || only.some((prefix) => id === prefix || id.startsWith(`${prefix}.`))
}

async function runCheck(
  check: CheckWithId,
  server: ServerUnderTest,
  options: ConformanceOptions,
): Promise<CheckResult> {
  const { id, rule, requirement, onlyWith } = check
  const createResult = (outcome: CheckResult['outcome'], notes: readonly string[] = []): CheckResult => ({
    id,
    rule,
    requirement,
    outcome,
    notes: notes.map((note) => withoutKeys(note, options)),
  })
  if (onlyWith && !options[onlyWith])
    return createResult('skipped', [onlyWith === 'slow' ? 'only with --slow' : 'only with --bad-keys'])
  try {
    await runWhileDataChanges(check, server)
    return createResult('passed')
  } catch (error) {
    if (error instanceof Skipped) return createResult('skipped', [error.message])
    if (error instanceof CheckFailed) return createResult('failed', error.problems)
    return createResult('failed', [`request failed: ${messagesOf(error) || 'network error'}`])
  }
}

const runsMax = 3

/**
 * Many checks compare two responses, and a live server may read new data between them. A check that found a difference
 * runs again only if one of its own reads returns something else now. Any other failure counts at once.
 */
async function runWhileDataChanges(check: CheckWithId, server: ServerUnderTest): Promise<void> {
  for (let run = 1; ; run++) {
    server.startCheck()
    try {
      await check.run(server)
      return
    } catch (error) {
      if (!(error instanceof Differs) || !(await server.haveReadsChanged())) throw error
      if (run === runsMax) throw new CheckFailed([...error.problems, `the data changed in each of ${runsMax} runs`])
    }
  }
}

/** Reports are passed on to others. Group A's key is in URLs, which errors may repeat. */
function withoutKeys(text: string, { key, lowKey }: ServerOptions): string {
  return [key, ...(lowKey ? [lowKey] : [])].reduce(
    (cleaned, secret) =>
      secret === '' ? cleaned : cleaned.replaceAll(secret, '[key]').replaceAll(encodeURIComponent(secret), '[key]'),
    text,
  )
}

export const checkIds: readonly string[] = checks.map(({ id }) => id)
