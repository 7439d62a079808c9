// The log line of each request. Failures that callers cause are limited, so that no caller can fill the log
// (behaviour/http.md#request-log).
import type { Fault } from '#core/fault.ts'
import { networkOf } from './caller-network.ts'
import type { Context } from './context.ts'
import { CallerGone } from './deadline.ts'
import { LogThrottle } from './log-throttle.ts'
import { SlidingWindows } from './sliding-window.ts'

export type RequestLog = ReturnType<typeof openRequestLog>

export const openRequestLog = (context: Context) => ({
  context,
  /** For errors that occur with every call. */
  logThrottle: new LogThrottle(context.clock),
  /** Failed requests of each network that were logged. */
  loggedFailures: new SlidingWindows(failuresWindowMs, failureNetworksMax),
})

interface RequestLogEntry {
  readonly endpoint?: string | undefined
  readonly status: number
  readonly outcome: string
  readonly tookMs?: number
  readonly reason?: string
}

/** The outcome of an error in the log and in the metrics. */
export const faultOutcome = (fault: Fault): string => (fault instanceof CallerGone ? clientGone : fault.code)

const clientGone = 'client_gone'

const successes: ReadonlySet<string> = new Set(['unchanged', 'ok'])

/** More lines of one network are left out. */
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
  if (requests === 'failures' && isCausedByCaller(entry) && !mayLogFailure(log, request)) {
    const count = logThrottle.due(leftOut)
    if (count !== undefined) context.log.warn({ count }, leftOut)
    return
  }
  const { requestId, path } = request
  context.log.info({ requestId, path, ...entry }, 'request')
}

const isCausedByCaller = ({ status, outcome }: RequestLogEntry): boolean => status < 500 || outcome === clientGone

const leftOut = `failed requests are not logged: a caller sent more than ${failuresLoggedMax} within a minute`

function mayLogFailure({ context, loggedFailures }: RequestLog, { address }: LoggedRequest): boolean {
  const network = networkOf(address ?? '')
  const nowMs = context.clock.monotonicMs()
  return loggedFailures.waitMs(network, failuresLoggedMax, nowMs) === 0 && loggedFailures.add(network, nowMs)
}
