// Stores a rate that is set by command or by call. It is validated like a polled rate and becomes stale like one
// (behaviour/fx.md#rate-sources).
import { type Fault, invalid } from '#core/fault.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import type { FxContext, RatesContext } from '../../context.ts'
import { aheadMaxMs, type Rate } from '../../pricing/mid.ts'
import { validateRate } from '../../rates/rate-document.ts'
import { planStore, storeRules, writePlan } from '../../rates/rate-store.ts'

export interface PushedRate {
  /** Default: the only push source. */
  readonly source?: string | undefined
  /** `EUR/USD` */
  readonly pair: string
  readonly rate: string
  /** Default: now. */
  readonly atMs?: number | undefined
}

/** Throws a fault if the rate is invalid or no source of kind push is configured. */
export async function pushRate(
  context: RatesContext & Pick<FxContext, 'provenTime'>,
  pushed: PushedRate,
): Promise<Rate> {
  const nowMs = context.clock.now()
  const [base = '', quote = ''] = pushed.pair.split('/')
  const source = choosePushSource(context.settings.fx.sources, pushed.source)
  if (base === quote) throw invalidPush('pair', 'must be two different currencies', pushed.pair)
  const atMs = pushed.atMs ?? nowMs
  const time = new Date(atMs).toISOString()
  if (atMs > nowMs + aheadMaxMs) throw invalidPush('time', "must not be ahead of the server's clock", time)
  const rate = validateRate({ source, base, quote, rate: pushed.rate, atMs }, nowMs)
  // The name of the field precedes the message.
  if ('reason' in rate) throw invalidPush('rate', rate.reason.replace(/^the rate /, ''), pushed.rate)
  const rules = storeRules(context.settings.fx, context.provenTime)
  const plan = await planStore(context.state, source, [rate], nowMs, rules)
  if (plan.newRates.length === 0) throw invalidPush('time', 'must be later than the last rate of this pair', time)
  await writePlan(context.state, source, plan, nowMs, rules)
  return rate
}

function choosePushSource(sources: readonly FxSource[], requestedId: string | undefined): string {
  const pushes = sources.filter(({ kind }) => kind === 'push').map(({ id }) => id)
  const [only] = pushes
  if (only === undefined) throw invalidPush('source', `cannot be chosen: ${noPushSourceText(sources)}`, requestedId)
  if (requestedId === undefined && pushes.length === 1) return only
  if (requestedId !== undefined && pushes.includes(requestedId)) return requestedId
  throw invalidPush('source', `must be one of ${pushes.join(', ')}`, requestedId)
}

/** Why no rate can be set, and what to do. */
export function noPushSourceText(sources: readonly { readonly id: string; readonly kind: string }[]): string {
  const configured = sources.map(({ id, kind }) => `${id} (${kind})`).join(', ')
  const state = configured === '' ? 'no source is configured' : `no configured source has kind push: ${configured}`
  return `${state}. Add a source of kind push to fx.sources`
}

const invalidPush = (name: string, message: string, value: unknown): Fault => invalid(['body', name], message, value)
