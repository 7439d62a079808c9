// The routes for monitoring: /healthz, /readyz and /metrics. The server is ready if the databases can be read and
// written, the data is fresh, and the server is not stopping.

import { type Clock, withTimeout } from '#runtime/clock.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import type { Overview } from '#shared/console-calls.ts'
import type { State } from '#storage/state.ts'
import type { WriteHealth } from '#storage/write-health.ts'
import type { Context } from './context.ts'
import { LogThrottle } from './log-throttle.ts'
import { jsonResponse } from './render.ts'
import type { ExtraRoute } from './routes.ts'

export type Finding = Overview['checks'][number]

export const isReady = (findings: readonly Finding[]): boolean =>
  findings.every(({ ok, required }) => ok || required === false)

export interface Readiness {
  readonly findings: () => Promise<readonly Finding[]>
  stopping: boolean
  /** Called with each request of /readyz. */
  readonly reportReady: (ready: boolean) => void
}

/** Less than the timeout of monitoring systems, which is about ten seconds. */
const checkTimeoutMs = 5000

/** Undefined if the check failed or timed out. */
export type RunCheck = <T extends object>(component: string, run: () => Promise<T>) => Promise<T | undefined>

/** Runs health checks with a timeout. A check that is still running is not started again. */
export function createHealthMonitor({ clock, log }: Pick<Context, 'clock' | 'log'>): RunCheck {
  const pending = new Map<string, Promise<object>>()
  const logThrottle = new LogThrottle(clock)

  return async <T extends object>(component: string, run: () => Promise<T>) => {
    const result = pending.getOrInsertComputed(component, () => run().finally(() => pending.delete(component)))
    result.catch(() => {})
    try {
      return await withTimeout(clock, checkTimeoutMs, result as Promise<T>)
    } catch (error) {
      if (logThrottle.countToLog(component) !== undefined)
        log.error({ component, ...failureFields(error) }, 'health check failed')
      return undefined
    }
  }
}

const shareMs = 1000

/** Runs `work` at most once a second and shares the result, because /readyz has no rate limit. */
export function oncePerSecond<T>(clock: Pick<Clock, 'monotonicMs'>, work: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  let doneMs: number | undefined
  return () => {
    if (shared && (doneMs === undefined || clock.monotonicMs() - doneMs < shareMs)) return shared
    doneMs = undefined
    const started = work()
    shared = started
    started.then(
      () => {
        doneMs = clock.monotonicMs()
      },
      () => {
        shared = undefined
      },
    )
    return started
  }
}

/** The findings of all checks, and one for each check that failed. */
export async function findingsOf(
  runCheck: RunCheck,
  checks: Readonly<Record<string, () => Promise<readonly Finding[]>>>,
): Promise<readonly Finding[]> {
  const failed = (name: string): Finding => ({ name, ok: false, message: 'check failed; see the log' })
  const collected = Object.entries(checks).map(async ([name, run]) => (await runCheck(name, run)) ?? [failed(name)])
  return (await Promise.all(collected)).flat()
}

export const storeChecks = (
  { state, ingest, duties }: Pick<Context, 'state' | 'ingest' | 'duties'>,
  writeHealth: WriteHealth,
) => {
  // The file and the reason are only logged, because /readyz is public.
  const failing = (sinceMs: number | undefined) =>
    sinceMs === undefined ? undefined : `writes have failed since ${new Date(sinceMs).toISOString()}`
  const check = (name: string, findProblem: () => Promise<string | undefined>) => async (): Promise<Finding[]> => {
    const problem = await findProblem()
    if (problem === undefined) return [{ name, ok: true, message: 'readable and writable' }]
    return [{ name, ok: false, message: `readable, but ${problem}; see the log` }]
  }
  const checkState = (name: 'state' | 'ingest', store: State) =>
    check(`${name} store`, async () => {
      await store.get('select 1 as one')
      const blockedMs = writeHealth.blockedSince(name)
      if (blockedMs !== undefined) return `a write has been waiting since ${new Date(blockedMs).toISOString()}`
      return failing(await writeHealth.failingSince(name, store))
    })
  return {
    'state store': checkState('state', state),
    // On PostgreSQL they are the same.
    ...(ingest !== state && { 'ingest store': checkState('ingest', ingest) }),
    'duties store': check('duties store', async () => {
      await duties.get('select 1 as one')
      return failing(writeHealth.dutiesFailingSince())
    }),
  }
}

/** Without Redis, most requests are still served (behaviour/operations.md#redis-outages). */
export const sharedLimitsFinding = (isShared: boolean): Finding => ({
  name: 'limits in Redis',
  ok: isShared,
  message: isShared ? 'reachable' : 'Redis does not respond: endpoints with their own limit refuse calls; see the log',
  required: false,
})

/** The findings of the server itself and of its components. */
export async function checksOf(readiness: Readiness): Promise<readonly Finding[]> {
  const findings = await readiness.findings()
  const { stopping } = readiness
  return [{ name: 'server', ok: !stopping, message: stopping ? 'stopping' : 'running' }, ...findings]
}

export function healthRoutes(
  readiness: Readiness,
  metrics: () => Promise<{ type: string; text: string }>,
): readonly ExtraRoute[] {
  return [
    { path: '/healthz', isUnlimited: true, read: async () => jsonResponse({ status: 'alive' }) },
    {
      path: '/readyz',
      sameOrigin: true,
      isUnlimited: true,
      read: async () => {
        const findings = await checksOf(readiness)
        const ready = isReady(findings)
        readiness.reportReady(ready)
        return jsonResponse({ status: ready ? 'ready' : 'not ready', checks: findings }, ready ? 200 : 503)
      },
    },
    {
      path: '/metrics',
      sameOrigin: true,
      read: async () => {
        const { type, text } = await metrics()
        return { status: 200, headers: { 'content-type': type }, body: text }
      },
    },
  ]
}
