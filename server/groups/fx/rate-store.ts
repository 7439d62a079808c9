// Rates in the store: the history of each source, and beside it the latest of each source and pair.
//
// 1. The same source, pair and time is one rate, however often it arrives.
// 2. The latest moves forward in time only, in the same transaction as the history.
import { compare, decimal } from '#core/decimal.ts'
import type { FxSettings } from '#core/settings/fx.ts'
import type { Desk } from '#serve/answer.ts'
import type { State, StateReader } from '#store/state.ts'
import { isFresh, type Rate } from './mid.ts'
import type { Refusal } from './rate-document.ts'

const columns = 'source, base, quote, rate, at_ms as "atMs"'

/** Stores what is news and tells how much that was. Rates come oldest first, all of one source. */
export async function keepRates(
  state: State,
  source: string,
  rates: readonly Rate[],
  receivedMs: number,
): Promise<{ readonly kept: number; readonly refused: readonly Refusal[] }> {
  const latest = await state.all<Rate>(`select ${columns} from fx_latest where source = ?`, source)
  const known = new Map(latest.map((rate) => [`${rate.base}/${rate.quote}`, rate]))
  const news: Rate[] = []
  const refused: Refusal[] = []
  for (const rate of rates) {
    const pair = `${rate.base}/${rate.quote}`
    const before = known.get(pair)
    if (!before || rate.atMs > before.atMs) {
      news.push(rate)
      known.set(pair, rate)
    } else if (rate.atMs === before.atMs && compare(decimal(rate.rate), decimal(before.rate)) !== 0) {
      refused.push({ about: pair, reason: `the rate changed from ${before.rate} to ${rate.rate} but its time did not` })
    }
  }
  // A poll that brings nothing new costs no commit.
  if (news.length > 0) await writeRates(state, news, receivedMs)
  return { kept: news.length, refused }
}

const writeRates = (state: State, rates: readonly Rate[], receivedMs: number): Promise<void> =>
  state.write(async (tx) => {
    for (const { source, base, quote, rate, atMs } of rates) {
      const values = [source, base, quote, atMs, rate, receivedMs]
      await tx.run(
        `insert into fx_rates (source, base, quote, at_ms, rate, received_ms) values (?, ?, ?, ?, ?, ?)
         on conflict do nothing`,
        ...values,
      )
      await tx.run(
        `insert into fx_latest (source, base, quote, at_ms, rate, received_ms) values (?, ?, ?, ?, ?, ?)
         on conflict (source, base, quote) do update
           set at_ms = excluded.at_ms, rate = excluded.rate, received_ms = excluded.received_ms
           where excluded.at_ms > fx_latest.at_ms`,
        ...values,
      )
    }
  })

/** The latest rates that have one of these currencies on either side. */
export const latestRates = (state: StateReader, one: string, other: string): Promise<Rate[]> =>
  state.all<Rate>(`select ${columns} from fx_latest where base in (?, ?) or quote in (?, ?)`, one, other, one, other)

export const allLatestRates = (state: StateReader): Promise<Rate[]> =>
  state.all<Rate>(`select ${columns} from fx_latest order by source, base, quote`)

export interface SourceHealth {
  readonly source: string
  /** Null where the source has never given a rate. */
  readonly pair: string | null
  readonly ageMs: number | null
  readonly fresh: boolean
}

/** How old each configured source's rates are, for readiness. */
export async function ratesFresh({
  state,
  settings,
  clock,
}: Pick<Desk, 'state' | 'settings' | 'clock'>): Promise<readonly SourceHealth[]> {
  const nowMs = clock.now()
  const latest = await allLatestRates(state)
  return settings.fx.sources.flatMap((source) => healthOf(source.id, latest, settings.fx, nowMs))
}

function healthOf(source: string, latest: readonly Rate[], fx: FxSettings, nowMs: number): readonly SourceHealth[] {
  const own = latest.filter((rate) => rate.source === source)
  if (own.length === 0) return [{ source, pair: null, ageMs: null, fresh: false }]
  return own.map((rate) => ({
    source,
    pair: `${rate.base}/${rate.quote}`,
    ageMs: Math.max(0, nowMs - rate.atMs),
    fresh: isFresh(rate, fx.sources, nowMs),
  }))
}
