// Rates that somebody sets, by command or by call. They pass the same gate as those that are asked for, and go stale like
// them: a rate that is pushed once does not price quotes for ever (behaviour/fx.md#rate-sources).
import { Fault } from '#core/fault.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import type { FxContext } from '../context.ts'
import { aheadMaxMs, type Rate } from '../pricing/mid.ts'
import { validateRate } from './rate-document.ts'
import { storeRates } from './rate-store.ts'

export interface PushedRate {
  /** Left out: the only push source there is. */
  readonly source?: string | undefined
  /** `EUR/USD` */
  readonly pair: string
  readonly rate: string
  /** Left out: now. */
  readonly atMs?: number | undefined
}

/** Stores a rate that somebody sets by hand or by call, under a source of kind push; a fault when it cannot be one. */
export async function pushRate(
  context: Pick<FxContext, 'state' | 'settings' | 'clock'>,
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
  if ('reason' in rate) throw invalidPush('rate', rate.reason, pushed.rate)
  const { kept: storedCount, refused: refusals } = await storeRates(
    context.state,
    source,
    [rate],
    nowMs,
    context.settings.fx.historyDays,
  )
  const [reason] = refusals
  if (reason) throw invalidPush('rate', reason.reason, pushed.rate)
  if (storedCount === 0) throw invalidPush('time', 'must be later than the last rate of this pair', time)
  return rate
}

function choosePushSource(sources: readonly FxSource[], requestedId: string | undefined): string {
  const pushes = sources.filter(({ kind }) => kind === 'push').map(({ id }) => id)
  const [only] = pushes
  if (only === undefined) throw invalidPush('source', `cannot be pushed to: ${noPushSourceText(sources)}`, requestedId)
  if (requestedId === undefined && pushes.length === 1) return only
  if (requestedId !== undefined && pushes.includes(requestedId)) return requestedId
  throw invalidPush('source', `must be one of ${pushes.join(', ')}`, requestedId)
}

/** Why no rate can be set, and what to do. */
export function noPushSourceText(sources: readonly { readonly id: string; readonly kind: string }[]): string {
  const configured = sources.map(({ id, kind }) => `${id} (${kind})`).join(', ')
  const others = configured === '' ? 'there is no source' : `none of the sources takes pushed rates: ${configured}`
  return `${others}; add one of kind push to fx.sources in the configuration`
}

const invalidPush = (name: string, message: string, value: unknown): Fault =>
  new Fault('input.invalid', { problems: [{ at: ['body', name], message, value }], detail: `${name}: ${message}` })
