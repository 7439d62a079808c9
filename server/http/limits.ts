// Limits of calls per second and per day, counted in this process (behaviour/http.md#rate-limits). A refused call counts
// towards no limit. shared-limits.ts is for several processes.
import type { Endpoint } from '#api/contract/kit.ts'
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import { dayMs, dayOf } from '#storage/usage.ts'
import { SlidingWindows } from './sliding-window.ts'
import type { UsageCounter } from './usage-counter.ts'

const secondMs = 1000
/** Number of callers within two seconds; further ones must wait (sliding-window.ts, 2). */
const namesMax = 100_000

export interface LimitedCaller {
  readonly keyId: string
  /** 0: no limit. */
  readonly perSecond: number
  readonly perDay: number
  /** Network of a caller without a key, by which calls per second are counted. */
  readonly network?: string
}

export function createLocalLimits(clock: Clock, usage: UsageCounter) {
  // Separate, so that many callers without keys cannot use up the space for callers with keys.
  const keys = createCallerWindows()
  const networks = createCallerWindows()
  return {
    /** Counts one call, or returns the fault of the limit that is reached. */
    consume(caller: LimitedCaller, endpoint: Endpoint): Fault | undefined {
      const nowMs = clock.now()
      const tickMs = clock.monotonicMs()
      const rates = caller.network === undefined ? keys : networks
      const name = caller.network ?? caller.keyId
      const endpointPerSecond = endpoint.perSecond ?? 0
      if (caller.perDay > 0 && usage.acceptedOn(dayOf(nowMs), caller.keyId) >= caller.perDay) {
        return dayLimitFault(caller, nowMs)
      }
      const overall = caller.perSecond > 0 ? rates.overall : undefined
      const endpointWindows = endpointPerSecond > 0 ? rates.forEndpoint(endpoint) : undefined
      const waitMs = overall?.waitMs(name, caller.perSecond, tickMs) ?? 0
      const endpointWaitMs = endpointWindows?.waitMs(name, endpointPerSecond, tickMs) ?? 0
      if (waitMs > 0 || endpointWaitMs > 0) return secondLimitFault(caller, endpoint, { waitMs, endpointWaitMs })
      overall?.add(name, tickMs)
      endpointWindows?.add(name, tickMs)
      usage.count(caller.keyId, endpoint.id, 'accepted', nowMs)
      return undefined
    },
  }
}

/** Sliding windows over all endpoints, and for each endpoint with its own limit. */
function createCallerWindows() {
  const create = () => new SlidingWindows(secondMs, namesMax)
  const byEndpoint = new Map<string, SlidingWindows>()
  return { overall: create(), forEndpoint: ({ id }: Endpoint) => byEndpoint.getOrInsertComputed(id, create) }
}

export const dayLimitFault = ({ perDay }: LimitedCaller, nowMs: number): Fault =>
  new Fault('limit.day', { textValues: { limit: perDay }, retryAfterMs: dayMs - (nowMs % dayMs) })

/** Reports the limit with the longer wait: that of the caller, or that of the endpoint. */
export function secondLimitFault(
  { perSecond }: LimitedCaller,
  { perSecond: endpointPerSecond = 0 }: Endpoint,
  { waitMs, endpointWaitMs }: { readonly waitMs: number; readonly endpointWaitMs: number },
): Fault {
  const limit = endpointWaitMs >= waitMs ? endpointPerSecond : perSecond
  return new Fault('limit.second', { textValues: { limit }, retryAfterMs: Math.max(waitMs, endpointWaitMs) })
}
