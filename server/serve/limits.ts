// Calls per second and per day (decision 0004). A call passes all of its limits or uses up none of them. Here one process
// counts for itself; limits-shared.ts is for several.
import type { Endpoint } from '#api/kit.ts'
import { Fault } from '#core/fault.ts'
import { Windows } from '#core/window.ts'
import type { Clock } from '#io/clock.ts'
import { dayMs, dayOf } from '#store/usage.ts'
import type { Ledger } from './ledger.ts'

const secondMs = 1000
/** Callers that can be told apart within two seconds; the next one waits (window.ts, 2). */
const namesMax = 100_000

/** What a caller may do; 0: no limit. */
export interface Allowance {
  readonly perSecond: number
  readonly perDay: number
}

export interface Party extends Allowance {
  /** Whom the calls are counted for. */
  readonly keyId: string
  /** Set for a caller without a key: its network, which the calls per second are held against. */
  readonly network?: string
}

export interface Limits {
  /** Takes one call from every limit that applies, or says which one is in the way. */
  pass(party: Party, endpoint: Endpoint): Fault | undefined | Promise<Fault | undefined>
}

export class OwnLimits implements Limits {
  readonly #clock: Clock
  readonly #ledger: Ledger
  // Apart, so that a crowd without keys cannot take the room of those who have one.
  readonly #keys = new Rates()
  readonly #networks = new Rates()

  constructor(clock: Clock, ledger: Ledger) {
    this.#clock = clock
    this.#ledger = ledger
  }

  pass(party: Party, endpoint: Endpoint): Fault | undefined {
    const nowMs = this.#clock.now()
    const tickMs = this.#clock.monotonicMs()
    const rates = party.network === undefined ? this.#keys : this.#networks
    const name = party.network ?? party.keyId
    const perSecondHere = endpoint.perSecond ?? 0
    if (party.perDay > 0 && this.#ledger.admittedOn(dayOf(nowMs), party.keyId) >= party.perDay) {
      return dayIsFull(party, nowMs)
    }
    const overall = party.perSecond > 0 ? rates.overall : undefined
    const here = perSecondHere > 0 ? rates.at(endpoint) : undefined
    const waitMs = overall?.waitMs(name, party.perSecond, tickMs) ?? 0
    const waitHereMs = here?.waitMs(name, perSecondHere, tickMs) ?? 0
    if (waitMs > 0 || waitHereMs > 0) return secondIsFull(party, endpoint, { waitMs, waitHereMs })
    overall?.take(name, tickMs)
    here?.take(name, tickMs)
    this.#ledger.count(party.keyId, endpoint.id, 'admitted', nowMs)
    return undefined
  }
}

/** The windows of one kind of callers: over all endpoints, and at each that has a limit of its own. */
class Rates {
  readonly overall = new Windows(secondMs, namesMax)
  readonly #here = new Map<string, Windows>()

  at({ id }: Endpoint): Windows {
    let windows = this.#here.get(id)
    if (!windows) {
      windows = new Windows(secondMs, namesMax)
      this.#here.set(id, windows)
    }
    return windows
  }
}

export const dayIsFull = ({ perDay }: Party, nowMs: number): Fault =>
  new Fault('limit.day', { terms: { limit: perDay }, retryAfterMs: dayMs - (nowMs % dayMs) })

/** The limit with the longer wait is named: the caller's own, or the endpoint's (`Here`). */
export function secondIsFull(
  { perSecond }: Party,
  { perSecond: perSecondHere = 0 }: Endpoint,
  { waitMs, waitHereMs }: { readonly waitMs: number; readonly waitHereMs: number },
): Fault {
  const limit = waitHereMs >= waitMs ? perSecondHere : perSecond
  return new Fault('limit.second', { terms: { limit }, retryAfterMs: Math.max(waitMs, waitHereMs) })
}
