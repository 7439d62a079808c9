// ClickHouse's errors in our words: which of them an operator can do something about, and whether another host may do better.
// Anything else is a mistake in the SQL, a belief of ours that failed, and goes through with its first line.
import { Fault } from '#core/fault.ts'

/** No answer, or not all of it. Whatever was sent may have happened. */
export class Lost extends Error {
  readonly code: string

  constructor(reason: string, code: string, cause?: unknown) {
    super(reason, { cause })
    this.name = 'Lost'
    this.code = code
  }
}

/** What the server said. */
export class Refused extends Error {
  readonly code: number

  constructor(code: number, words: string) {
    super(words)
    this.name = 'Refused'
    this.code = code
  }
}

const elsewhere = [
  [32, 209, 210, 279, 3, 236],
  [225, 242, 999],
  [289, 369],
] as const

const groups: readonly (readonly [codes: readonly number[], words: string])[] = [
  [elsewhere[0], 'cannot reach another of its servers, or is stopping'],
  [elsewhere[1], 'has lost its ZooKeeper or Keeper; check that it runs'],
  [elsewhere[2], 'has a replica that is still catching up; wait for it'],
  [[285, 286, 319], 'has too few replicas for a safe write; start those that are down'],
  [[192, 193, 194, 195, 516], 'refuses this user; check user and password in store.facts'],
  [[291, 497, 164], 'does not let this user do that; it must create, read and change the tables of its database'],
  [[81], 'has no such database; create it on every node'],
  [[170, 701], 'has no such cluster; check ?cluster= and remote_servers'],
  [[159, 160], 'took too long; look at what else it is doing'],
  [[202, 252], 'has too much to do at once; it goes on by itself when it has caught up'],
  [[241], 'needs more memory than it may use; raise max_memory_usage or ask for less at once'],
  [[243, 1002], 'has a full or failing disk; free some space'],
  [[40, 271], 'reports damage; look into its log'],
]

const wordsOf = (code: number): string | undefined => groups.find(([codes]) => codes.includes(code))?.[1]

/** Whether the same question may be answered by another host, or by this one in a moment. */
export const mayPass = (error: unknown): boolean =>
  error instanceof Lost ||
  (error instanceof Refused && elsewhere.some((codes) => codes.some((code) => code === error.code)))

/** `Code: 60, e.displayText() = DB::Exception: …` of old servers, `Code: 60. DB::Exception: …` of new ones. */
const shape = /Code: (\d+)[.,](?: e\.displayText\(\) =)? DB::Exception: ([^\n]*?)(?:, e\.what\(\) = DB::Exception|$)/m

export function renameAnswer(error: unknown): Error {
  const text = (error as Error).message ?? String(error)
  const [, code, words] = shape.exec(text) ?? []
  if (code !== undefined) return new Refused(Number(code), words ?? text)
  const own = error as { code?: string; type?: string }
  // The client takes the shape of newer servers apart itself.
  if (/^\d+$/.test(own.code ?? '')) return new Refused(Number(own.code), text)
  return new Lost(text.split('\n')[0] ?? text, own.code ?? '', error)
}

export function renameClickhouse(error: unknown, of: string): unknown {
  if (error instanceof Lost) {
    const detail = `${of} cannot be reached; check that it runs and that the address is right (${error.message})`
    return new Fault('store.unavailable', { detail, cause: error, retryAfterMs: 1000 })
  }
  const words = error instanceof Refused ? wordsOf(error.code) : undefined
  if (!words) return error
  const detail = `${of} ${words} (ClickHouse: ${(error as Error).message})`
  return new Fault('store.unavailable', { detail, cause: error, retryAfterMs: 1000 })
}

export const overtaken = (of: string): Fault =>
  new Fault('store.unavailable', {
    detail: `another process wrote to ${of} at the same time; nothing of this write was kept`,
    retryAfterMs: 1000,
  })
