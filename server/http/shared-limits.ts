// Limits of several processes, counted in Redis (behaviour/operations.md#shared-limits).
//
// 1. Redis checks and counts in one step, by its own clock. The usage counter only records the result.
// 2. Each call sends the daily count that this process knows. If Redis has no count, it gets the stored one of all
//    processes. If Redis fails, this process continues from the common count.
// 3. When Redis fails, this process stores its counts at once, so that other processes can read them.
import type { Endpoint } from '#api/contract/kit.ts'
import { Fault } from '#core/fault.ts'
import { openRedis } from '#sources/redis.ts'
import { dayOf } from '#storage/usage.ts'
import type { Context } from './context.ts'
import { createLocalLimits, dayLimitFault, type LimitedCaller, secondLimitFault } from './limits.ts'
import { limitScript, registerScript, serverTime } from './limits-script.ts'
import type { UsageCounter } from './usage-counter.ts'

const prefix = 'tetrad:limits:'
/** `retry-after` while limits cannot be checked. */
const unknownMs = 1000

const redisDownWarning =
  'Redis does not respond: plan limits are counted per process, and endpoints with their own limit refuse all calls'

export interface SharedOptions {
  readonly url: string
  /** Called when Redis starts or stops responding. */
  readonly reportShared?: ((shared: boolean) => void) | undefined
  /** The Redis expression for the current time. */
  readonly time?: string
}

export async function openSharedLimits(context: Context, usage: UsageCounter, options: SharedOptions) {
  const { clock, log } = context
  const { url, reportShared = () => {}, time = serverTime } = options
  const local = createLocalLimits(clock, usage)
  const register = registerScript(time)
  const decision = limitScript(time)
  const redis = await openRedis({
    url,
    clock,
    onConnect: (run, process) => run(register, [`${prefix}since`, `${prefix}process`], [process]),
    reportConnected: (shared, reason) => {
      reportShared(shared)
      if (shared) return log.info({}, 'using shared limits in Redis')
      log.error({ reason }, redisDownWarning)
      usage.flush().catch(() => {})
    },
  })

  /** Limits of endpoints (spec section 8) must hold at all times (behaviour/operations.md#redis-outages). Others may be exceeded for a while. */
  function consumeLocally(caller: LimitedCaller, endpoint: Endpoint): Fault | undefined {
    if (endpoint.perSecond === undefined) return local.consume(caller, endpoint)
    return new Fault('limit.unavailable', { retryAfterMs: unknownMs })
  }

  async function consume(caller: LimitedCaller, endpoint: Endpoint): Promise<Fault | undefined> {
    const { keyId, perSecond, perDay } = caller
    const { perSecond: endpointPerSecond = 0 } = endpoint
    if (perSecond === 0 && endpointPerSecond === 0 && perDay === 0) return local.consume(caller, endpoint)
    const decide = (day: number, restored: 0 | 1) => {
      const acceptedCalls = usage.acceptedOn(day, keyId)
      const values = [perSecond, endpointPerSecond, perDay, day, acceptedCalls, restored].map(String)
      return redis.run(decision, redisKeysOf(caller, endpoint), values)
    }
    let reply = await decide(dayOf(clock.now()), 0)
    if (reply?.[0] === 3) {
      const day = dayOf((reply[3] ?? 0) / 1000)
      await usage.reloadFromStore(day, keyId)
      reply = await decide(day, 1)
    }
    if (!reply) return consumeLocally(caller, endpoint)
    const [verdict = 0, waitUs = 0, endpointWaitUs = 0, nowUs = 0, used = 0] = reply
    const nowMs = Math.floor(nowUs / 1000)
    if (verdict === 1) {
      usage.raiseTo(dayOf(nowMs), keyId, used)
      return dayLimitFault(caller, nowMs)
    }
    if (verdict === 2)
      return secondLimitFault(caller, endpoint, { waitMs: waitUs / 1000, endpointWaitMs: endpointWaitUs / 1000 })
    // 4, or 3 again if midnight has passed between the two calls.
    if (verdict !== 0) return new Fault('limit.unavailable', { retryAfterMs: endpointWaitUs / 1000 })
    usage.count(keyId, endpoint.id, 'accepted', nowMs, perDay > 0 ? used : undefined)
    return undefined
  }

  return { consume, close: () => redis.close() }
}

function redisKeysOf({ keyId, network }: LimitedCaller, { id }: Endpoint): string[] {
  const name = network === undefined ? `key:${keyId}` : `network:${network}`
  return ['since', name, `${name}:${id}`, `day:${keyId}`].map((key) => `${prefix}${key}`)
}
