// Who may come in: key → group → plan → the group's own gate → limits, in this order for every endpoint. Each refusal is
// a Fault that says nothing about which keys exist (decision 0007).
import type { Endpoint } from '#api/kit.ts'
import { plans } from '#api/routes.ts'
import { Fault } from '#core/fault.ts'
import { splitKey } from '#core/key.ts'
import { networkOf } from '#core/network.ts'
import { anonymousId, type KeyRecord } from '#store/keys.ts'
import type { Refusal } from '#store/usage.ts'
import type { Answer, Caller, RawQuery } from './answer.ts'
import type { Context } from './context.ts'
import { type Guard, openGuard } from './guard.ts'
import { Keyring } from './keyring.ts'
import { Ledger } from './ledger.ts'
import { type Limits, OwnLimits, type Party } from './limits.ts'
import { SharedLimits } from './limits-shared.ts'

/** What a request shows to be let in. */
export interface Claim {
  readonly apikey?: string | undefined
  readonly authorization?: string | undefined
  readonly address: string
  readonly query: RawQuery
}

export interface Admission {
  /** The caller, or a Fault. */
  admit(answer: Answer, claim: Claim): Promise<Caller>
  /** Counters and last-used times are stored when this resolves. */
  flush(): Promise<void>
  close(): Promise<void>
}

/** Told of every refusal; the key id is empty where no good key was shown. */
export type RefusalNotice = (what: Refusal | 'key.missing' | 'key.invalid' | 'key.guarded', keyId: string) => void

export async function openAdmission(
  context: Context,
  notice: RefusalNotice = () => {},
  guard: Guard = openGuard(context.settings),
  tell?: (shared: boolean) => void,
): Promise<Admission> {
  const ledger = await Ledger.open(context)
  const { limits: url } = context.settings
  const shared = url === '' ? undefined : await SharedLimits.open(context, ledger, { url, ...(tell && { tell }) })
  const front = new KeyAuthorizer(context, notice, ledger, guard, shared ?? new OwnLimits(context.clock, ledger))
  return {
    admit: (answer, claim) => front.admit(answer, claim),
    flush: () => ledger.flush(),
    async close() {
      await shared?.close()
      await ledger.close()
    },
  }
}

class KeyAuthorizer {
  readonly #context: Context
  readonly #notice: RefusalNotice
  readonly #ledger: Ledger
  readonly #limits: Limits
  readonly #guard: Guard
  readonly #keyring: Keyring

  constructor(context: Context, notice: RefusalNotice, ledger: Ledger, guard: Guard, limits: Limits) {
    this.#context = context
    this.#notice = notice
    this.#ledger = ledger
    this.#limits = limits
    this.#guard = guard
    this.#keyring = new Keyring(context)
  }

  async admit(answer: Answer, claim: Claim): Promise<Caller> {
    const { endpoint } = answer
    const network = networkOf(claim.address)
    const shown = shownKey(endpoint.auth, claim)
    const key = shown === undefined ? this.#nobody(endpoint) : await this.#owner(shown, network)
    const party = key ? this.#partyOf(key) : this.#strangerFrom(network)
    const caller: Caller = key ? { keyId: key.id, plan: key.plan } : { keyId: party.keyId, plan: 'free', network }

    if (key && !key.groups.includes(endpoint.group)) throw this.#refuse(new Fault('key.group'), caller, endpoint)
    if (endpoint.admin && !key?.admin) throw this.#refuse(new Fault('key.group', notAdmin), caller, endpoint)
    if (plans.indexOf(caller.plan) < plans.indexOf(endpoint.plan)) {
      throw this.#refuse(new Fault('plan.too_low', { terms: { plan: endpoint.plan } }), caller, endpoint)
    }
    answer.gate?.(claim.query, this.#context)
    // In one step, here or in Redis: what is checked is what is taken.
    const full = await this.#limits.pass(party, isExempt(endpoint, caller) ? { ...endpoint, perSecond: 0 } : endpoint)
    if (full?.code === 'limit.unavailable') throw full
    if (full) throw this.#refuse(full, caller, endpoint)
    return caller
  }

  /** No key was shown: fine where the endpoint is open (spec section 5) and its group's settings do not ask for one. */
  #nobody(endpoint: Endpoint): undefined {
    const own = this.#context.settings[endpoint.group]
    if (endpoint.auth === 'open' && !('keyNeeded' in own && own.keyNeeded)) return undefined
    this.#notice('key.missing', '')
    throw new Fault('key.missing')
  }

  async #owner(shown: string, network: string): Promise<KeyRecord> {
    const { clock } = this.#context
    const parts = splitKey(shown)
    const key = parts && (await this.#keyring.find(parts))
    if (!key) throw this.#bad(network)
    this.#ledger.used(key.id, clock.now())
    return key
  }

  #bad(network: string): Fault {
    const retryAfterMs = this.#guard.bad(network, this.#context.clock.monotonicMs())
    const code = retryAfterMs > 0 ? 'key.guarded' : 'key.invalid'
    this.#notice(code, '')
    return new Fault(code, retryAfterMs > 0 ? { retryAfterMs } : {})
  }

  #partyOf(key: KeyRecord): Party {
    const { perSecond, perDay } = this.#context.settings.plans[key.plan]
    return { keyId: key.id, perSecond, perDay }
  }

  #strangerFrom(network: string): Party {
    return { keyId: anonymousId, network, perSecond: this.#context.settings.server.anonymousPerSecond, perDay: 0 }
  }

  #refuse(fault: Fault, caller: Caller, endpoint: Endpoint): Fault {
    const code = fault.code as Refusal
    this.#ledger.count(caller.keyId, endpoint.id, code, this.#context.clock.now())
    this.#notice(code, caller.keyId)
    return fault
  }
}

const isExempt = ({ perSecondBelow }: Endpoint, { plan }: Caller): boolean =>
  perSecondBelow !== undefined && plans.indexOf(plan) >= plans.indexOf(perSecondBelow)

const notAdmin = { says: 'This call needs an API key that was made for administration.' }

const bearerShape = /^bearer(?:\s+|$)/i

/** The key as this kind of endpoint takes it; undefined when none is shown, or an empty one. */
function shownKey(auth: Endpoint['auth'], claim: Claim): string | undefined {
  const { authorization = '', apikey = '' } = claim
  const bearer = bearerShape.test(authorization) ? authorization.slice('bearer'.length).trim() : ''
  const query = apikey.trim()
  const shown = auth === 'bearer' ? bearer : auth === 'apikey' ? query : bearer || query
  return shown === '' ? undefined : shown
}
