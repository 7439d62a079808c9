// Authorizes requests: key, group, plan, the check of the handler, then limits. Faults do not reveal which keys exist
// (behaviour/http.md#invalid-keys).
import type { Endpoint } from '#api/contract/kit.ts'
import { plans } from '#api/contract/routes.ts'
import { type Awaitable, whenReady } from '#core/awaitable.ts'
import { Fault } from '#core/fault.ts'
import type { Settings } from '#runtime/settings.ts'
import { anonymousId, type KeyRecord } from '#storage/keys.ts'
import type { Refusal } from '#storage/usage.ts'
import { type BadKeyThrottle, createBadKeyThrottle } from './bad-key-throttle.ts'
import { networkOf } from './caller-network.ts'
import type { Context } from './context.ts'
import type { Caller, Handler, RawQuery } from './handler.ts'
import { createKeyFinder } from './key-cache.ts'
import { createLocalLimits, type LimitedCaller } from './limits.ts'
import { openSharedLimits } from './shared-limits.ts'
import { openUsageCounter } from './usage-counter.ts'

/** What a request is authorized by. The query may be long and is parsed when it is first used, so it is used last. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly address: string
  readonly query: RawQuery
}

/** What decides who may call a handler. */
type AuthorizedHandler = Pick<Handler, 'endpoint' | 'checkQuery'>

export type Authorizer = Awaited<ReturnType<typeof openAuthorizer>>

/** Called for every refusal; the key id is empty without a valid key. */
export type RefusalNotice = (code: Refusal | 'key.missing' | 'key.invalid' | 'key.throttled', keyId: string) => void

export async function openAuthorizer(
  context: Context,
  onRefusal: RefusalNotice = () => {},
  badKeyThrottle: BadKeyThrottle = createBadKeyThrottle(context.settings),
  reportShared?: (shared: boolean) => void,
) {
  const { clock, settings } = context
  const { limits: url } = settings
  const usage = await openUsageCounter(context)
  const shared = url === '' ? undefined : await openSharedLimits(context, usage, { url, reportShared })
  const limits = shared ?? createLocalLimits(clock, usage)
  const findKey = createKeyFinder(context)

  /** `key` is verified; undefined: a caller without a key. */
  function consumeLimits(
    handler: AuthorizedHandler,
    credentials: Credentials,
    key: KeyRecord | undefined,
  ): Awaitable<Caller> {
    const { endpoint } = handler
    const limitedCaller = key ? toLimitedCaller(key) : toAnonymousCaller(networkOf(credentials.address))
    const { keyId, network } = limitedCaller
    const plan = key?.plan ?? 'free'
    const caller: Caller = network === undefined ? { keyId, plan } : { keyId, plan, network }

    if (key && !key.groups.includes(endpoint.group)) throw refuse(new Fault('key.group'), caller, endpoint)
    if (endpoint.admin && !key?.admin) throw refuse(new Fault('key.group', notAdmin), caller, endpoint)
    if (plans.indexOf(caller.plan) < plans.indexOf(endpoint.plan)) {
      throw refuse(new Fault('plan.too_low', { textValues: { plan: endpoint.plan } }), caller, endpoint)
    }
    handler.checkQuery?.(credentials.query, context)
    // Checks and counts in one step, so that concurrent calls cannot exceed a limit.
    const consumed = limits.consume(
      limitedCaller,
      isExempt(endpoint, caller) ? { ...endpoint, perSecond: 0 } : endpoint,
    )
    return whenReady(consumed, (limitFault) => {
      if (limitFault?.code === 'limit.unavailable') throw limitFault
      if (limitFault) throw refuse(limitFault, caller, endpoint)
      return caller
    })
  }

  function refuseWithoutKey(endpoint: Endpoint): void {
    if (!requiresKey(endpoint, settings)) return
    onRefusal('key.missing', '')
    throw new Fault('key.missing')
  }

  function countBadKey(network: string): Fault {
    const retryAfterMs = badKeyThrottle.countBadKey(network, clock.monotonicMs())
    const code = retryAfterMs > 0 ? 'key.throttled' : 'key.invalid'
    onRefusal(code, '')
    return new Fault(code, retryAfterMs > 0 ? { retryAfterMs } : {})
  }

  function toLimitedCaller(key: KeyRecord): LimitedCaller {
    const { perSecond, perDay } = settings.plans[key.plan]
    return { keyId: key.id, perSecond, perDay }
  }

  const toAnonymousCaller = (network: string): LimitedCaller => ({
    keyId: anonymousId,
    network,
    perSecond: settings.server.anonymousPerSecond,
    perDay: 0,
  })

  function refuse(fault: Fault, caller: Caller, endpoint: Endpoint): Fault {
    const code = fault.code as Refusal
    usage.count(caller.keyId, endpoint.id, code, clock.now())
    onRefusal(code, caller.keyId)
    return fault
  }

  /** Undefined if no key was sent. */
  function verifyKey(endpoint: Endpoint, credentials: Credentials): Awaitable<KeyRecord | undefined> {
    const presentedKey = readPresentedKey(endpoint.auth, credentials)
    if (presentedKey === undefined) return undefined
    return whenReady(findKey(presentedKey), (key) => {
      if (!key) throw countBadKey(networkOf(credentials.address))
      usage.markUsed(key.id, clock.now())
      return key
    })
  }

  return {
    /** Throws or rejects with a Fault if the request is refused. */
    authorize: (handler: AuthorizedHandler, credentials: Credentials): Awaitable<Caller> =>
      whenReady(verifyKey(handler.endpoint, credentials), (key) => {
        if (!key) refuseWithoutKey(handler.endpoint)
        return consumeLimits(handler, credentials, key)
      }),
    /** For a request that is refused for another reason: rejects if it has a wrong key. */
    async refuseWrongKey(endpoint: Endpoint, credentials: Credentials): Promise<void> {
      await verifyKey(endpoint, credentials)
    },
    /** Stores counters and last-used times. */
    flush: () => usage.flush(),
    async close(): Promise<void> {
      await shared?.close()
      await usage.close()
    },
  }
}

/** Open endpoints need no key (spec section 5), unless the settings of their group require one. */
export function requiresKey({ auth, group }: Endpoint, settings: Settings): boolean {
  const groupSettings = settings[group]
  return auth !== 'open' || ('requireKey' in groupSettings && groupSettings.requireKey)
}

const isExempt = ({ perSecondBelow }: Endpoint, { plan }: Caller): boolean =>
  perSecondBelow !== undefined && plans.indexOf(plan) >= plans.indexOf(perSecondBelow)

const notAdmin = { message: 'This call needs an admin key. Create one with `tetrad keys create --admin`.' }

const bearerPattern = /^bearer(?:\s+|$)/i

/** The key where endpoints of this kind expect it; undefined if it is absent or empty. */
function readPresentedKey(auth: Endpoint['auth'], credentials: Credentials): string | undefined {
  const bearer = auth === 'apikey' ? '' : readBearer(credentials.headers.authorization ?? '')
  if (bearer !== '' || auth === 'bearer') return bearer || undefined
  const { apikey } = credentials.query
  return (typeof apikey === 'string' && apikey.trim()) || undefined
}

const readBearer = (authorization: string): string =>
  bearerPattern.test(authorization) ? authorization.slice('bearer'.length).trim() : ''
