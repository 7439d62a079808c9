// The log line of each request. Failures are limited, so that neither a caller nor an outage can fill the log
// (behaviour/http.md#request-log).
import type { Fault } from '#core/fault.ts'
import { networkOf } from './caller-network.ts'
import type { Context } from './context.ts'
import { CallerGone } from './deadline.ts'
import type { HandlerResult } from './handler.ts'
import { LogThrottle } from './log-throttle.ts'
import { SlidingWindows } from './sliding-window.ts'

export type RequestLog = ReturnType<typeof openRequestLog>

export const openRequestLog = (context: Context) => ({
  context,
  /** For errors that occur with every call. */
  logThrottle: new LogThrottle(context.clock),
  /** Failed requests that were logged: those that each network caused, and those that the server caused. */
  loggedFailures: new SlidingWindows(failuresWindowMs, failureNetworksMax),
  loggedErrors: new SlidingWindows(failuresWindowMs, 1),
})

interface RequestLogEntry {
  readonly endpoint?: string | undefined
  readonly status: number
  readonly outcome: string
  readonly tookMs?: number
  readonly reason?: string
}

/** The outcome of a response in the log and in the metrics. */
export const resultOutcome = ({ is }: HandlerResult<unknown>): string =>
  is === 'nothing' ? 'not_found' : is === 'unchanged' ? is : 'ok'

/** The same of an error. */
export const faultOutcome = (fault: Fault): string => (fault instanceof CallerGone ? clientGone : fault.code)

const clientGone = 'client_gone'

const successes: ReadonlySet<string> = new Set(['unchanged', 'ok'])

/** More lines of one network or of the server are left out. */
const failuresLoggedMax = 100
const failuresWindowMs = 60_000
const failureNetworksMax = 10_000

export interface LoggedRequest {
  readonly requestId: string
  readonly path: string
  /** Undefined: the connection was reset. */
  readonly address: string | undefined
}

export function isLogged({ context }: RequestLog, outcome: string): boolean {
  const { requests } = context.settings.log
  return requests === 'all' || (requests === 'failures' && !successes.has(outcome))
}

/** Only the path is logged: the query may contain a key. */
export function logRequest(log: RequestLog, request: LoggedRequest, entry: RequestLogEntry): void {
  if (!isLogged(log, entry.outcome)) return
  const { context, logThrottle } = log
  const { requests } = context.settings.log
  if (requests === 'failures' && !mayLogFailure(log, request, entry)) {
    const count = logThrottle.countToLog(leftOut)
    if (count !== undefined) context.log.warn({ count }, leftOut)
    return
  }
  const { requestId, path } = request
  context.log.info({ requestId, path, ...entry }, 'request')
}

const leftOut = `failed requests are not logged: more than ${failuresLoggedMax} of one caller or of the server within a minute`

function mayLogFailure(log: RequestLog, { address }: LoggedRequest, { status, outcome }: RequestLogEntry): boolean {
  const isCausedByCaller = status < 500 || outcome === clientGone
  const [windows, cause] = isCausedByCaller
    ? [log.loggedFailures, networkOf(address ?? '')]
    : [log.loggedErrors, 'server']
  const nowMs = log.context.clock.monotonicMs()
  return windows.waitMs(cause, failuresLoggedMax, nowMs) === 0 && windows.add(cause, nowMs)
}
