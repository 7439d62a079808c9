// Authorizes requests: key, group, plan, the check of the handler, then limits. Faults do not reveal which keys exist
// (behaviour/http.md#invalid-keys).
import type { Endpoint } from '#api/kit.ts'
import { plans } from '#api/routes.ts'
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import { Fault } from '#core/fault.ts'
import { anonymousId, type KeyRecord } from '#storage/keys.ts'
import type { Refusal } from '#storage/usage.ts'
import { type BadKeyThrottle, createBadKeyThrottle } from './bad-key-throttle.ts'
import { networkOf } from './caller-network.ts'
import type { Context } from './context.ts'
import type { Caller, Handler, RawQuery } from './handler.ts'
import { KeyCache } from './key-cache.ts'
import { type LimitedCaller, type Limits, LocalLimits } from './limits.ts'
import { SharedLimits } from './shared-limits.ts'
import { UsageCounter } from './usage-counter.ts'

/** What a request is authorized by. */
export interface Credentials {
  readonly apikey?: string | undefined
  readonly authorization?: string | undefined
  readonly address: string
  readonly query: RawQuery
}

/** What decides who may call a handler. */
type AuthorizedHandler = Pick<Handler, 'endpoint' | 'checkQuery'>

export interface Authorizer {
  /** Throws or rejects with a Fault if the request is refused. */
  authorize(handler: AuthorizedHandler, credentials: Credentials): Awaitable<Caller>
  /** Stores counters and last-used times. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** Called for every refusal; the key id is empty without a valid key. */
export type RefusalNotice = (code: Refusal | 'key.missing' | 'key.invalid' | 'key.throttled', keyId: string) => void

export async function openAuthorizer(
  context: Context,
  onRefusal: RefusalNotice = () => {},
  badKeyThrottle: BadKeyThrottle = createBadKeyThrottle(context.settings),
  reportShared?: (shared: boolean) => void,
): Promise<Authorizer> {
  const usage = await UsageCounter.open(context)
  const { limits: url } = context.settings
  const shared =
    url === '' ? undefined : await SharedLimits.open(context, usage, { url, ...(reportShared && { reportShared }) })
  const authorizer = new KeyAuthorizer(
    context,
    onRefusal,
    usage,
    badKeyThrottle,
    shared ?? new LocalLimits(context.clock, usage),
  )
  return {
    authorize: (handler, credentials) => authorizer.authorize(handler, credentials),
    flush: () => usage.flush(),
    async close() {
      await shared?.close()
      await usage.close()
    },
  }
}

class KeyAuthorizer {
  readonly #context: Context
  readonly #onRefusal: RefusalNotice
  readonly #usage: UsageCounter
  readonly #limits: Limits
  readonly #badKeyThrottle: BadKeyThrottle
  readonly #keyCache: KeyCache

  constructor(
    context: Context,
    onRefusal: RefusalNotice,
    usage: UsageCounter,
    badKeyThrottle: BadKeyThrottle,
    limits: Limits,
  ) {
    this.#context = context
    this.#onRefusal = onRefusal
    this.#usage = usage
    this.#limits = limits
    this.#badKeyThrottle = badKeyThrottle
    this.#keyCache = new KeyCache(context)
  }

  authorize(handler: AuthorizedHandler, credentials: Credentials): Awaitable<Caller> {
    const presentedKey = readPresentedKey(handler.endpoint.auth, credentials)
    if (presentedKey === undefined) {
      this.#requireKeyUnlessOpen(handler.endpoint)
      return this.#consumeLimits(handler, credentials, undefined)
    }
    return whenReady(this.#keyCache.find(presentedKey), (key) => {
      if (!key) throw this.#countBadKey(networkOf(credentials.address))
      this.#usage.markUsed(key.id, this.#context.clock.now())
      return this.#consumeLimits(handler, credentials, key)
    })
  }

  /** `key` is verified; undefined: a caller without a key. */
  #consumeLimits(handler: AuthorizedHandler, credentials: Credentials, key: KeyRecord | undefined): Awaitable<Caller> {
    const { endpoint } = handler
    const limitedCaller = key ? this.#toLimitedCaller(key) : this.#toAnonymousCaller(networkOf(credentials.address))
    const { keyId, network } = limitedCaller
    const plan = key?.plan ?? 'free'
    const caller: Caller = network === undefined ? { keyId, plan } : { keyId, plan, network }

    if (key && !key.groups.includes(endpoint.group)) throw this.#refuse(new Fault('key.group'), caller, endpoint)
    if (endpoint.admin && !key?.admin) throw this.#refuse(new Fault('key.group', notAdmin), caller, endpoint)
    if (plans.indexOf(caller.plan) < plans.indexOf(endpoint.plan)) {
      throw this.#refuse(new Fault('plan.too_low', { terms: { plan: endpoint.plan } }), caller, endpoint)
    }
    handler.checkQuery?.(credentials.query, this.#context)
    // Checks and counts in one step, so that concurrent calls cannot exceed a limit.
    const consumed = this.#limits.consume(
      limitedCaller,
      isExempt(endpoint, caller) ? { ...endpoint, perSecond: 0 } : endpoint,
    )
    return whenReady(consumed, (limitFault) => {
      if (limitFault?.code === 'limit.unavailable') throw limitFault
      if (limitFault) throw this.#refuse(limitFault, caller, endpoint)
      return caller
    })
  }

  /** Open endpoints need no key (spec section 5), unless the settings of their group require one. */
  #requireKeyUnlessOpen(endpoint: Endpoint): void {
    const settings = this.#context.settings[endpoint.group]
    if (endpoint.auth === 'open' && !('requireKey' in settings && settings.requireKey)) return
    this.#onRefusal('key.missing', '')
    throw new Fault('key.missing')
  }

  #countBadKey(network: string): Fault {
    const retryAfterMs = this.#badKeyThrottle.countBadKey(network, this.#context.clock.monotonicMs())
    const code = retryAfterMs > 0 ? 'key.throttled' : 'key.invalid'
    this.#onRefusal(code, '')
    return new Fault(code, retryAfterMs > 0 ? { retryAfterMs } : {})
  }

  #toLimitedCaller(key: KeyRecord): LimitedCaller {
    const { perSecond, perDay } = this.#context.settings.plans[key.plan]
    return { keyId: key.id, perSecond, perDay }
  }

  #toAnonymousCaller(network: string): LimitedCaller {
    return { keyId: anonymousId, network, perSecond: this.#context.settings.server.anonymousPerSecond, perDay: 0 }
  }

  #refuse(fault: Fault, caller: Caller, endpoint: Endpoint): Fault {
    const code = fault.code as Refusal
    this.#usage.count(caller.keyId, endpoint.id, code, this.#context.clock.now())
    this.#onRefusal(code, caller.keyId)
    return fault
  }
}

const isExempt = ({ perSecondBelow }: Endpoint, { plan }: Caller): boolean =>
  perSecondBelow !== undefined && plans.indexOf(plan) >= plans.indexOf(perSecondBelow)

const notAdmin = { message: 'This call needs an admin key. Create one with `tetrad keys create --admin`.' }

const bearerPattern = /^bearer(?:\s+|$)/i

/** The key where endpoints of this kind expect it; undefined if it is absent or empty. */
function readPresentedKey(auth: Endpoint['auth'], credentials: Credentials): string | undefined {
  const { authorization = '', apikey = '' } = credentials
  const bearer = bearerPattern.test(authorization) ? authorization.slice('bearer'.length).trim() : ''
  const query = apikey.trim()
  const key = auth === 'bearer' ? bearer : auth === 'apikey' ? query : bearer || query
  return key === '' ? undefined : key
}
