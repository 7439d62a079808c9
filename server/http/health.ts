// What machines that watch the server ask: alive, ready, metrics. Ready means that answers would be right: the stores
// answer and take what is written, the data is fresh, nobody has asked us to stop.
import type { Clock } from '#runtime/clock.ts'
import { failureFields } from '#runtime/log.ts'
import type { WriteHealth } from '#storage/write-health.ts'
import type { Context } from './context.ts'
import type { ApiResponse } from './render.ts'
import type { ExtraRoute } from './routes.ts'

export interface Finding {
  readonly name: string
  readonly ok: boolean
  readonly message: string
}

export interface Readiness {
  readonly findings: () => Promise<readonly Finding[]>
  stopping: boolean
  /** Told each time somebody asks. */
  readonly reportReady: (ready: boolean) => void
}

/** How long those who watch wait for one part of the server. A monitor gives up after ten seconds or so. */
const checkTimeoutMs = 5000
/** A part that does not answer is asked every few seconds; its failure is logged so often. */
const loggedMs = 60_000

/**
 * Asks the parts of the server how they are. Watching must go on when one of them fails or hangs, and must not make it worse: each is
 * given a time, and none is asked again before it has answered.
 */
export class HealthMonitor {
  readonly #context: Pick<Context, 'clock' | 'log'>
  readonly #pending = new Map<string, Promise<object>>()
  readonly #loggedAtMs = new Map<string, number>()

  constructor(context: Pick<Context, 'clock' | 'log'>) {
    this.#context = context
  }

  /** Undefined: no answer, or a failure. */
  async check<T extends object>(part: string, run: () => Promise<T>): Promise<T | undefined> {
    const result = (this.#pending.get(part) as Promise<T> | undefined) ?? this.#begin(part, run)
    const settled = new AbortController()
    const late = this.#context.clock.sleep(checkTimeoutMs, settled.signal).then(() => {
      throw new Error(`no answer within ${checkTimeoutMs} ms`)
    })
    try {
      return await Promise.race([result, late])
    } catch (error) {
      this.#log(part, error)
      return undefined
    } finally {
      late.catch(() => {})
      settled.abort()
    }
  }

  #begin<T extends object>(part: string, run: () => Promise<T>): Promise<T> {
    const result = run().finally(() => this.#pending.delete(part))
    result.catch(() => {})
    this.#pending.set(part, result)
    return result
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
  watch: HealthMonitor,
  checks: Readonly<Record<string, () => Promise<readonly Finding[]>>>,
): Promise<readonly Finding[]> {
  const silent = (name: string): Finding => ({ name, ok: false, message: 'does not answer; see the log' })
  const collected = Object.entries(checks).map(async ([name, run]) => (await watch.check(name, run)) ?? [silent(name)])
  return (await Promise.all(collected)).flat()
}

export const storeChecks = ({ state, duties }: Pick<Context, 'state' | 'duties'>, writeHealth: WriteHealth) => {
  const part = (name: string, failingSince: () => Promise<number | undefined>) => async (): Promise<Finding[]> => {
    const sinceMs = await failingSince()
    if (sinceMs === undefined) return [{ name, ok: true, message: 'answers' }]
    // Which file and why is for the log: anybody may ask here.
    const since = new Date(sinceMs).toISOString()
    return [{ name, ok: false, message: `answers, but takes no writes since ${since}; see the log` }]
  }
  return {
    'state store': part('state store', async () => {
      await state.get('select 1 as one')
      return writeHealth.stateFailingSince(state)
    }),
    'duties store': part('duties store', async () => {
      await duties.get('select 1 as one')
      return writeHealth.dutiesFailingSince()
    }),
  }
}

/** What makes the server ready: itself, and each of its parts. */
export async function checksOf(readiness: Readiness): Promise<readonly Finding[]> {
  const findings = await readiness.findings()
  const own = { name: 'server', ok: !readiness.stopping, message: readiness.stopping ? 'stopping' : 'running' }
  return [own, ...findings]
}

export function healthRoutes(
  readiness: Readiness,
  metrics: () => Promise<{ type: string; text: string }>,
): readonly ExtraRoute[] {
  return [
    { path: '/healthz', read: async () => jsonResponse(200, { status: 'alive' }) },
    {
      path: '/readyz',
      read: async () => {
        const findings = await checksOf(readiness)
        const ready = findings.every((one) => one.ok)
        readiness.reportReady(ready)
        return jsonResponse(ready ? 200 : 503, { status: ready ? 'ready' : 'not ready', checks: findings })
      },
    },
    {
      path: '/metrics',
      read: async () => {
        const { type, text } = await metrics()
        return { status: 200, headers: { 'content-type': type }, body: text }
      },
    },
  ]
}

/** A document that does not change while the server runs; written at its first reading. */
export function documentRoute(path: string, make: () => object): ExtraRoute {
  let ready: ApiResponse | undefined
  return {
    path,
    read: async () => {
      ready ??= jsonResponse(200, make())
      return ready
    },
  }
}

const jsonResponse = (status: number, body: unknown): ApiResponse => ({
  status,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify(body),
})
