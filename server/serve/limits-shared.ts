// The limits of several processes, held in Redis (decision 0140), and what holds while Redis does not answer (decision 0141).
//
// 1. Redis decides and counts in one step, by its own clock; the ledger repeats what it said and never adds to it.
// 2. Each call brings what this process knows of the day. A Redis without a figure gets the stored one, which all processes
//    add to, and this process goes on from the common figure when it is on its own.
// 3. When Redis is lost, this process stores its counts at once, so that the others find them there.
import type { Endpoint } from '#api/kit.ts'
import { Fault } from '#core/fault.ts'
import { Redis } from '#io/redis.ts'
import { dayOf } from '#store/usage.ts'
import type { Context } from './context.ts'
import type { Ledger } from './ledger.ts'
import { dayIsFull, type Limits, OwnLimits, type Party, secondIsFull } from './limits.ts'
import { arrival, decision, serverTime } from './limits-script.ts'

const prefix = 'tetrad:limits:'
/** How long a caller is asked to wait when nobody can tell. */
const unknownMs = 1000

const apart = 'Redis does not answer: plans are limited in each process apart, limits of endpoints let nobody pass'

export interface SharedOptions {
  readonly url: string
  /** Told when Redis begins or ceases to answer. */
  readonly tell?: (shared: boolean) => void
  /** What the scripts take the time from. */
  readonly time?: string
}

export class SharedLimits implements Limits {
  readonly #redis: Redis
  readonly #own: OwnLimits
  readonly #ledger: Ledger
  readonly #clock: Context['clock']
  readonly #decision: ReturnType<typeof decision>

  static async open(context: Context, ledger: Ledger, options: SharedOptions): Promise<SharedLimits> {
    const { url, tell = () => {}, time = serverTime } = options
    const hello = arrival(time)
    const redis = await Redis.open({
      url,
      clock: context.clock,
      greet: (run, process) => run(hello, [`${prefix}since`, `${prefix}process`], [process]),
      tell: (shared, reason) => {
        tell(shared)
        if (shared) return context.log.info({}, 'limits are held in Redis')
        context.log.error({ reason }, apart)
        ledger.flush().catch(() => {})
      },
    })
    return new SharedLimits(context, ledger, redis, decision(time))
  }

  private constructor(context: Context, ledger: Ledger, redis: Redis, script: ReturnType<typeof decision>) {
    this.#redis = redis
    this.#own = new OwnLimits(context.clock, ledger)
    this.#ledger = ledger
    this.#clock = context.clock
    this.#decision = script
  }

  async pass(party: Party, endpoint: Endpoint): Promise<Fault | undefined> {
    const { keyId, perSecond, perDay } = party
    const { perSecond: perSecondHere = 0 } = endpoint
    if (perSecond === 0 && perSecondHere === 0 && perDay === 0) return this.#own.pass(party, endpoint)
    const ask = (day: number, restored: 0 | 1) => {
      const known = this.#ledger.admittedOn(day, keyId)
      const values = [perSecond, perSecondHere, perDay, day, known, restored].map(String)
      return this.#redis.ask(this.#decision, namesOf(party, endpoint), values)
    }
    let decided = await ask(dayOf(this.#clock.now()), 0)
    if (decided?.[0] === 3) {
      const day = dayOf((decided[3] ?? 0) / 1000)
      await this.#ledger.restore(day, keyId)
      decided = await ask(day, 1)
    }
    if (!decided) return this.#alone(party, endpoint)
    const [verdict = 0, waitUs = 0, waitHereUs = 0, nowUs = 0, used = 0] = decided
    const nowMs = Math.floor(nowUs / 1000)
    if (verdict === 1) {
      this.#ledger.raise(dayOf(nowMs), keyId, used)
      return dayIsFull(party, nowMs)
    }
    if (verdict === 2) return secondIsFull(party, endpoint, { waitMs: waitUs / 1000, waitHereMs: waitHereUs / 1000 })
    // 3 again: midnight has passed between the two.
    if (verdict !== 0) return new Fault('limit.unavailable', { retryAfterMs: waitHereUs / 1000 })
    this.#ledger.count(keyId, endpoint.id, 'admitted', nowMs, perDay > 0 ? used : undefined)
    return undefined
  }

  close(): Promise<void> {
    return this.#redis.close()
  }

  /** Spec section 8 promises the endpoint's own limit whatever happens; the others may be looser for a while. */
  #alone(party: Party, endpoint: Endpoint): Fault | undefined {
    if (endpoint.perSecond === undefined) return this.#own.pass(party, endpoint)
    return new Fault('limit.unavailable', { retryAfterMs: unknownMs })
  }
}

function namesOf({ keyId, network }: Party, { id }: Endpoint): string[] {
  const name = network === undefined ? `key:${keyId}` : `network:${network}`
  return ['since', name, `${name}:${id}`, `day:${keyId}`].map((one) => `${prefix}${one}`)
}
