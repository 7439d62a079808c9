// Puts a server to the test: every check of the suite, one after another, and what came of it. This folder knows the
// contract and nothing of any server (decision 0110).
import { Broken, type Check, Skipped } from './check.ts'
import { checks } from './checks.ts'
import { type Samples, Site, type SiteOptions, type World } from './site.ts'

export interface ConformOptions extends SiteOptions {
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

export interface Result {
  readonly id: string
  readonly rule: string
  readonly says: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** What was wrong, or why it was left out. */
  readonly notes: readonly string[]
}

export interface Report {
  readonly conforms: boolean
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly results: readonly Result[]
}

const systemWorld: World = {
  fetch: (url, init) => globalThis.fetch(url, init),
  sleep: (waitMs) => new Promise((resolve) => setTimeout(resolve, waitMs)),
  now: () => Date.now(),
}

export async function conform(
  options: ConformOptions,
  tell: (result: Result) => void = () => {},
  world: Partial<World> = {},
): Promise<Report> {
  const site = new Site(options, { ...systemWorld, ...world }, options.samples ?? {})
  const results: Result[] = []
  for (const check of checks.filter((one) => isWanted(one, options))) {
    const result = await judge(check, site, options)
    results.push(result)
    tell(result)
  }
  const count = (outcome: Result['outcome']) => results.filter((one) => one.outcome === outcome).length
  const [passed, failed, skipped] = [count('passed'), count('failed'), count('skipped')]
  // A run in which nothing could be checked proves nothing.
  return { conforms: failed === 0 && passed > 0, passed, failed, skipped, results }
}

function isWanted({ id, rule }: Check, { only, specOnly }: ConformOptions): boolean {
  if (specOnly && !rule.startsWith('spec ')) return false
  return only === undefined || only.some((beginning) => id === beginning || id.startsWith(`${beginning}.`))
}

async function judge(check: Check, site: Site, options: ConformOptions): Promise<Result> {
  const { id, rule, says, onlyWith } = check
  const ended = (outcome: Result['outcome'], notes: readonly string[] = []): Result => ({
    id,
    rule,
    says,
    outcome,
    notes: notes.map((note) => withoutKeys(note, options)),
  })
  if (onlyWith && !options[onlyWith]) return ended('skipped', [`only with --${onlyWith}`])
  try {
    await check.run(site)
    return ended('passed')
  } catch (error) {
    if (error instanceof Skipped) return ended('skipped', [error.message])
    if (error instanceof Broken) return ended('failed', error.problems)
    return ended('failed', [`no answer: ${wordsOf(error)}`])
  }
}

function wordsOf(error: unknown): string {
  const words: string[] = []
  for (let link = error; link instanceof Error && words.length < 5; link = link.cause) words.push(link.message)
  return words.join(': ') || 'the network failed'
}

/** A report is there to be passed on; group A's key travels in URLs that errors may repeat. */
function withoutKeys(text: string, { key, lowKey }: SiteOptions): string {
  return [key, ...(lowKey ? [lowKey] : [])].reduce(
    (cleaned, one) =>
      one === '' ? cleaned : cleaned.replaceAll(one, '[key]').replaceAll(encodeURIComponent(one), '[key]'),
    text,
  )
}

export const checkIds: readonly string[] = checks.map(({ id }) => id)
