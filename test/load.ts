// Callers that keep sending requests while servers and databases are killed and restarted, and record every wrong
// response.
import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { faults } from '#api/contract/faults.ts'

/** A server as its callers see it. */
export interface Target {
  /** Undefined while it is down. */
  url: string | undefined
  /** When it was last killed. */
  diedMs: number
}

export interface Call {
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface LoadResponse {
  readonly sentMs: number
  readonly receivedMs: number
  readonly text: string
}

/** Errors that a server may return while a dependency is down. */
const refusals = {
  store: faults['store.unavailable'].message,
  limit: 'Max calls per sec rate limit reached (2/sec)',
  redis: faults['limit.unavailable'].message,
}
type Refusal = keyof typeof refusals

const responseMaxMs = 60_000

/** Undefined if the server was killed during the call. Throws for any other failure. */
export async function sendCall(
  target: Target,
  { path, body, headers }: Call,
): Promise<LoadResponse | Refusal | undefined> {
  const { url } = target
  if (url === undefined) return undefined
  const sentMs = performance.now()
  const post = body && { method: 'POST', body: JSON.stringify(body) }
  const sent = { ...headers, ...(body && { 'content-type': 'application/json' }) }
  try {
    const signal = AbortSignal.timeout(responseMaxMs)
    const response = await fetch(`${url}${path}`, { ...post, headers: sent, signal })
    const text = await response.text()
    const received = { sentMs, receivedMs: performance.now(), text }
    const isFailure = !response.ok || /^\{"status":"0"/.test(text)
    if (!isFailure) return received
    const refusal = (Object.keys(refusals) as Refusal[]).find((name) => text.includes(refusals[name]))
    if (!refusal || (!response.ok && response.status !== faults['store.unavailable'].status)) {
      throw new UnexpectedResponse(`${response.status} ${path}: ${text.slice(0, 300)}`)
    }
    return refusal
  } catch (error) {
    if (error instanceof UnexpectedResponse) throw error
    if (target.diedMs >= sentMs) return undefined
    throw new UnexpectedResponse(`${path}: ${String(error)} ${String((error as Error).cause ?? '')}`)
  }
}

class UnexpectedResponse extends Error {}

export interface LoadTask {
  readonly name: string
  /** Between two calls to one server. */
  readonly everyMs: number
  readonly next: () => Call
  /** Throws if the response is wrong. */
  readonly check: (call: Call, response: LoadResponse) => void
}

/** Runs all tasks against all servers until `end`. */
export class LoadGenerator {
  readonly #stop = new AbortController()
  readonly #workers: Promise<void>[]
  readonly #correct = new Map<string, number>()
  readonly refused: Record<string, number> = {}
  readonly failures: string[] = []

  constructor(targets: readonly Target[], tasks: readonly LoadTask[]) {
    this.#workers = tasks.flatMap((task) => targets.map((target) => this.#runTask(target, task)))
  }

  async #runTask(target: Target, task: LoadTask): Promise<void> {
    let call = task.next()
    while (!this.#stop.signal.aborted) {
      try {
        const response = await sendCall(target, call)
        if (typeof response === 'object') {
          task.check(call, response)
          this.#correct.set(task.name, this.correctCount(task.name) + 1)
          call = task.next()
        } else if (response !== undefined) {
          const name = `${task.name}: ${response}`
          this.refused[name] = (this.refused[name] ?? 0) + 1
        }
      } catch (error) {
        this.failures.push(`${task.name}: ${(error as Error).message}`)
        // More failures would add nothing.
        if (this.failures.length >= 20) return
      }
      await sleep(task.everyMs)
    }
  }

  correctCount(name: string): number {
    return this.#correct.get(name) ?? 0
  }

  /** Waits for this many more correct responses of each task. */
  async waitForMore(counts: Readonly<Record<string, number>>): Promise<void> {
    const goals = Object.entries(counts).map(([name, count]) => [name, this.correctCount(name) + count] as const)
    const endMs = performance.now() + responseMaxMs
    while (goals.some(([name, goal]) => this.correctCount(name) < goal)) {
      assert.deepEqual(this.failures, [])
      const behind = goals.map(([name, goal]) => `${name} ${this.correctCount(name)} of ${goal}`)
      assert.ok(performance.now() < endMs, `no progress: ${behind}; ${JSON.stringify(this.refused)}`)
      await sleep(20)
    }
  }

  async end(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#workers)
  }
}

/** The largest number of responses that were certainly within one second. */
export function mostInOneSecond(responses: readonly Pick<LoadResponse, 'sentMs' | 'receivedMs'>[]): number {
  const within = (fromMs: number) =>
    responses.filter(({ sentMs, receivedMs }) => sentMs >= fromMs && receivedMs < fromMs + 1000).length
  return Math.max(0, ...responses.map(({ sentMs }) => within(sentMs)))
}
