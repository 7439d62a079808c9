// Rates that somebody sets, by command or by call. They pass the same gate as those that are asked for, and go stale like
// them: a rate that is pushed once does not price quotes for ever (decision 0080).
import { Fault } from '#core/fault.ts'
import type { FxSource } from '#core/settings/fx.ts'
import type { FxContext } from './context.ts'
import { aheadMaxMs, type Rate } from './mid.ts'
import { acceptable } from './rate-document.ts'
import { keepRates } from './rate-store.ts'

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
  const source = pushSource(context.settings.fx.sources, pushed.source)
  if (base === quote) throw refused('pair', 'must be two different currencies', pushed.pair)
  const atMs = pushed.atMs ?? nowMs
  const time = new Date(atMs).toISOString()
  if (atMs > nowMs + aheadMaxMs) throw refused('time', "must not be ahead of the server's clock", time)
  const rate = acceptable({ source, base, quote, rate: pushed.rate, atMs }, nowMs)
  if ('reason' in rate) throw refused('rate', rate.reason, pushed.rate)
  const { kept, refused: told } = await keepRates(context.state, source, [rate], nowMs, context.settings.fx.historyDays)
  const [reason] = told
  if (reason) throw refused('rate', reason.reason, pushed.rate)
  if (kept === 0) throw refused('time', 'must be later than the last rate of this pair', time)
  return rate
}

function pushSource(sources: readonly FxSource[], asked: string | undefined): string {
  const pushes = sources.filter(({ kind }) => kind === 'push').map(({ id }) => id)
  const [only] = pushes
  if (only === undefined) throw refused('source', `cannot be pushed to: ${noPushSource(sources)}`, asked)
  if (asked === undefined && pushes.length === 1) return only
  if (asked !== undefined && pushes.includes(asked)) return asked
  throw refused('source', `must be one of ${pushes.join(', ')}`, asked)
}

/** Why no rate can be set, and what to do. */
export function noPushSource(sources: readonly { readonly id: string; readonly kind: string }[]): string {
  const there = sources.map(({ id, kind }) => `${id} (${kind})`).join(', ')
  const others = there === '' ? 'there is no source' : `none of the sources takes pushed rates: ${there}`
  return `${others}; add one of kind push to fx.sources in the configuration`
}

const refused = (name: string, says: string, value: unknown): Fault =>
  new Fault('input.invalid', { problems: [{ at: ['body', name], says, value }], detail: `${name}: ${says}` })
