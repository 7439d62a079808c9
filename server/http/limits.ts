// Calls per second and per day (behaviour/http.md#rate-limits). A call passes all of its limits or uses up none of them. Here one process
// counts for itself; limits-shared.ts is for several.
import type { Endpoint } from '#api/kit.ts'
import { Fault } from '#core/fault.ts'
import type { Clock } from '#runtime/clock.ts'
import { dayMs, dayOf } from '#storage/usage.ts'
import { SlidingWindows } from './sliding-window.ts'
import type { UsageCounter } from './usage-counter.ts'

const secondMs = 1000
/** Callers that can be told apart within two seconds; the next one waits (window.ts, 2). */
const namesMax = 100_000

/** What a caller may do; 0: no limit. */
export interface CallLimits {
  readonly perSecond: number
  readonly perDay: number
}

export interface LimitedCaller extends CallLimits {
  /** Whom the calls are counted for. */
  readonly keyId: string
  /** Set for a caller without a key: its network, which the calls per second are held against. */
  readonly network?: string
}

export interface Limits {
  /** Takes one call from every limit that applies, or says which one is in the way. */
  consume(party: LimitedCaller, endpoint: Endpoint): Fault | undefined | Promise<Fault | undefined>
}

export class LocalLimits implements Limits {
  readonly #clock: Clock
  readonly #usage: UsageCounter
  // Apart, so that a crowd without keys cannot take the room of those who have one.
  readonly #keys = new CallerWindows()
  readonly #networks = new CallerWindows()

  constructor(clock: Clock, usage: UsageCounter) {
    this.#clock = clock
    this.#usage = usage
  }

  consume(caller: LimitedCaller, endpoint: Endpoint): Fault | undefined {
    const nowMs = this.#clock.now()
    const tickMs = this.#clock.monotonicMs()
    const rates = caller.network === undefined ? this.#keys : this.#networks
    const name = caller.network ?? caller.keyId
    const perSecondHere = endpoint.perSecond ?? 0
    if (caller.perDay > 0 && this.#usage.acceptedOn(dayOf(nowMs), caller.keyId) >= caller.perDay) {
      return dayLimitFault(caller, nowMs)
    }
    const overall = caller.perSecond > 0 ? rates.overall : undefined
    const endpointWindows = perSecondHere > 0 ? rates.forEndpoint(endpoint) : undefined
    const waitMs = overall?.waitMs(name, caller.perSecond, tickMs) ?? 0
    const waitHereMs = endpointWindows?.waitMs(name, perSecondHere, tickMs) ?? 0
    if (waitMs > 0 || waitHereMs > 0) return secondLimitFault(caller, endpoint, { waitMs, waitHereMs })
    overall?.add(name, tickMs)
    endpointWindows?.add(name, tickMs)
    this.#usage.count(caller.keyId, endpoint.id, 'admitted', nowMs)
    return undefined
  }
}

/** The windows of one kind of callers: over all endpoints, and at each that has a limit of its own. */
class CallerWindows {
  readonly overall = new SlidingWindows(secondMs, namesMax)
  readonly #byEndpoint = new Map<string, SlidingWindows>()

  forEndpoint({ id }: Endpoint): SlidingWindows {
    let windows = this.#byEndpoint.get(id)
    if (!windows) {
      windows = new SlidingWindows(secondMs, namesMax)
      this.#byEndpoint.set(id, windows)
    }
    return windows
  }
}

export const dayLimitFault = ({ perDay }: LimitedCaller, nowMs: number): Fault =>
  new Fault('limit.day', { terms: { limit: perDay }, retryAfterMs: dayMs - (nowMs % dayMs) })

/** The limit with the longer wait is named: the caller's own, or the endpoint's (`Here`). */
export function secondLimitFault(
  { perSecond }: LimitedCaller,
  { perSecond: perSecondHere = 0 }: Endpoint,
  { waitMs, waitHereMs }: { readonly waitMs: number; readonly waitHereMs: number },
): Fault {
  const limit = waitHereMs >= waitMs ? perSecondHere : perSecond
  return new Fault('limit.second', { terms: { limit }, retryAfterMs: Math.max(waitMs, waitHereMs) })
}
