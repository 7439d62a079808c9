// What machines that watch the server ask: alive, ready, metrics. Ready means that answers would be right: the stores
// answer and take what is written, the data is fresh, nobody has asked us to stop.
import type { Clock } from '#io/clock.ts'
import { failureFields } from '#io/log.ts'
import type { Writes } from '#store/writes.ts'
import type { Context } from './context.ts'
import type { Departure } from './render.ts'
import type { Extra } from './ways.ts'

export interface Finding {
  readonly name: string
  readonly ok: boolean
  readonly says: string
}

export interface Readiness {
  readonly findings: () => Promise<readonly Finding[]>
  stopping: boolean
  /** Told each time somebody asks. */
  readonly tell: (ready: boolean) => void
}

/** How long those who watch wait for one part of the server. A monitor gives up after ten seconds or so. */
const answerMs = 5000
/** A part that does not answer is asked every few seconds; its failure is logged so often. */
const loggedMs = 60_000

/**
 * Asks the parts of the server how they are. Watching must go on when one of them fails or hangs, and must not make it worse: each is
 * given a time, and none is asked again before it has answered.
 */
export class Watch {
  readonly #context: Pick<Context, 'clock' | 'log'>
  readonly #asked = new Map<string, Promise<object>>()
  readonly #loggedAtMs = new Map<string, number>()

  constructor(context: Pick<Context, 'clock' | 'log'>) {
    this.#context = context
  }

  /** Undefined: no answer, or a failure. */
  async ask<T extends object>(part: string, question: () => Promise<T>): Promise<T | undefined> {
    const answer = (this.#asked.get(part) as Promise<T> | undefined) ?? this.#begin(part, question)
    const answered = new AbortController()
    const late = this.#context.clock.sleep(answerMs, answered.signal).then(() => {
      throw new Error(`no answer within ${answerMs} ms`)
    })
    try {
      return await Promise.race([answer, late])
    } catch (error) {
      this.#log(part, error)
      return undefined
    } finally {
      late.catch(() => {})
      answered.abort()
    }
  }

  #begin<T extends object>(part: string, question: () => Promise<T>): Promise<T> {
    const answer = question().finally(() => this.#asked.delete(part))
    answer.catch(() => {})
    this.#asked.set(part, answer)
    return answer
  }

  #log(part: string, error: unknown): void {
    const nowMs = this.#context.clock.monotonicMs()
    if (nowMs - (this.#loggedAtMs.get(part) ?? Number.NEGATIVE_INFINITY) < loggedMs) return
    this.#loggedAtMs.set(part, nowMs)
    this.#context.log.error({ part, ...failureFields(error) }, 'a part of the server does not answer')
  }
}

const keptMs = 1000

/** Runs `work` at most once a second and shares its result: anybody may call these paths, and no limit counts them. */
export function oncePerSecond<T>(clock: Pick<Clock, 'monotonicMs'>, work: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  let doneMs: number | undefined
  return () => {
    if (shared && (doneMs === undefined || clock.monotonicMs() - doneMs < keptMs)) return shared
    doneMs = undefined
    const begun = work()
    shared = begun
    begun.then(
      () => {
        doneMs = clock.monotonicMs()
      },
      () => {
        shared = undefined
      },
    )
    return begun
  }
}

/** What each part tells of itself; one that does not is a finding as well. */
export async function findingsOf(
  watch: Watch,
  parts: Readonly<Record<string, () => Promise<readonly Finding[]>>>,
): Promise<readonly Finding[]> {
  const silent = (name: string): Finding => ({ name, ok: false, says: 'does not answer; see the log' })
  const asked = Object.entries(parts).map(async ([name, ask]) => (await watch.ask(name, ask)) ?? [silent(name)])
  return (await Promise.all(asked)).flat()
}

export const storeParts = ({ state, duties }: Pick<Context, 'state' | 'duties'>, writes: Writes) => {
  const part = (name: string, failingSince: () => Promise<number | undefined>) => async (): Promise<Finding[]> => {
    const sinceMs = await failingSince()
    if (sinceMs === undefined) return [{ name, ok: true, says: 'answers' }]
    // Which file and why is for the log: anybody may ask here.
    const since = new Date(sinceMs).toISOString()
    return [{ name, ok: false, says: `answers, but takes no writes since ${since}; see the log` }]
  }
  return {
    'state store': part('state store', async () => {
      await state.get('select 1 as one')
      return writes.stateFailingSince(state)
    }),
    'duties store': part('duties store', async () => {
      await duties.get('select 1 as one')
      return writes.dutiesFailingSince()
    }),
  }
}

/** What makes the server ready: itself, and each of its parts. */
export async function checksOf(readiness: Readiness): Promise<readonly Finding[]> {
  const findings = await readiness.findings()
  const own = { name: 'server', ok: !readiness.stopping, says: readiness.stopping ? 'stopping' : 'running' }
  return [own, ...findings]
}

export function healthPaths(
  readiness: Readiness,
  metrics: () => Promise<{ type: string; text: string }>,
): readonly Extra[] {
  return [
    { path: '/healthz', reply: async () => json(200, { status: 'alive' }) },
    {
      path: '/readyz',
      reply: async () => {
        const checks = await checksOf(readiness)
        const ready = checks.every((one) => one.ok)
        readiness.tell(ready)
        return json(ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', checks })
      },
    },
    {
      path: '/metrics',
      reply: async () => {
        const { type, text } = await metrics()
        return { status: 200, headers: { 'content-type': type }, body: text }
      },
    },
  ]
}

/** A document that does not change while the server runs; written at its first reading. */
export function documentPath(path: string, make: () => object): Extra {
  let ready: Departure | undefined
  return {
    path,
    reply: async () => {
      ready ??= json(200, make())
      return ready
    },
  }
}

const json = (status: number, body: unknown): Departure => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(body),
})
