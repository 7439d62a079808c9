// Callers that go on asking while servers and stores come and go, and remember every answer that was not right.
import { strict as assert } from 'node:assert'
import { setTimeout as sleep } from 'node:timers/promises'
import { faults } from '#api/faults.ts'

/** A server as its callers see it. */
export interface Target {
  /** Undefined while it is dead. */
  url: string | undefined
  /** When it last died. */
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

/** What a server may say while something that it needs is away. */
const refusals = {
  store: faults['store.unavailable'].message,
  limit: 'Max calls per sec rate limit reached (2/sec)',
  redis: faults['limit.unavailable'].message,
}
type Refusal = keyof typeof refusals

const answerMsMax = 60_000

/** Undefined: the server died meanwhile. Throws what no caller should ever see. */
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
    const signal = AbortSignal.timeout(answerMsMax)
    const response = await fetch(`${url}${path}`, { ...post, headers: sent, signal })
    const text = await response.text()
    const answer = { sentMs, receivedMs: performance.now(), text }
    const isFailure = !response.ok || /^\{"status":"0"/.test(text)
    if (!isFailure) return answer
    const refusal = (Object.keys(refusals) as Refusal[]).find((name) => text.includes(refusals[name]))
    if (!refusal || (!response.ok && response.status !== faults['store.unavailable'].status)) {
      throw new Unseemly(`${response.status} ${path}: ${text.slice(0, 300)}`)
    }
    return refusal
  } catch (error) {
    if (error instanceof Unseemly) throw error
    if (target.diedMs >= sentMs) return undefined
    throw new Unseemly(`${path}: ${String(error)} ${String((error as Error).cause ?? '')}`)
  }
}

class Unseemly extends Error {}

export interface LoadTask {
  readonly name: string
  /** Of one server, one after another. */
  readonly everyMs: number
  /** The next call, a new one each time. */
  readonly next: () => Call
  /** Throws when the answer is wrong. */
  readonly check: (call: Call, answer: LoadResponse) => void
}

/** All work on all servers at once, until told to end. */
export class LoadGenerator {
  readonly #stop = new AbortController()
  readonly #workers: Promise<void>[]
  readonly #correct = new Map<string, number>()
  readonly refused: Record<string, number> = {}
  readonly failures: string[] = []

  constructor(targets: readonly Target[], works: readonly LoadTask[]) {
    this.#workers = works.flatMap((work) => targets.map((target) => this.#runTask(target, work)))
  }

  async #runTask(target: Target, work: LoadTask): Promise<void> {
    let call = work.next()
    while (!this.#stop.signal.aborted) {
      try {
        const answer = await sendCall(target, call)
        if (typeof answer === 'object') {
          work.check(call, answer)
          this.#correct.set(work.name, this.correctCount(work.name) + 1)
          call = work.next()
        } else if (answer !== undefined) {
          const name = `${work.name}: ${answer}`
          this.refused[name] = (this.refused[name] ?? 0) + 1
        }
      } catch (error) {
        this.failures.push(`${work.name}: ${(error as Error).message}`)
        // Whoever looks has seen enough.
        if (this.failures.length >= 20) return
      }
      await sleep(work.everyMs)
    }
  }

  correctCount(name: string): number {
    return this.#correct.get(name) ?? 0
  }

  /** Until each has been answered so many times more. */
  async waitForMore(counts: Readonly<Record<string, number>>): Promise<void> {
    const goals = Object.entries(counts).map(([name, count]) => [name, this.correctCount(name) + count] as const)
    const endMs = performance.now() + answerMsMax
    while (goals.some(([name, goal]) => this.correctCount(name) < goal)) {
      assert.deepEqual(this.failures, [])
      const behind = goals.map(([name, goal]) => `${name} ${this.correctCount(name)} of ${goal}`)
      assert.ok(performance.now() < endMs, `it does not go on: ${behind}; ${JSON.stringify(this.refused)}`)
      await sleep(20)
    }
  }

  async end(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#workers)
  }
}

/** The most answers of which it is certain that they were given within one second. */
export function mostInOneSecond(answers: readonly Pick<LoadResponse, 'sentMs' | 'receivedMs'>[]): number {
  const within = (fromMs: number) =>
    answers.filter(({ sentMs, receivedMs }) => sentMs >= fromMs && receivedMs < fromMs + 1000).length
  return Math.max(0, ...answers.map(({ sentMs }) => within(sentMs)))
}
