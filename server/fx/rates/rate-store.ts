// Stores rates: the history of each source, and the latest rate of each source and pair.
//
// 1. A source, pair and time identify one rate; receiving it again changes nothing.
// 2. The latest rate only moves forward in time, in the transaction that writes the history. A latest rate in the future
//    was stored while the clock was wrong; any current rate replaces it.
// 3. The latest rate also has the time at which its source last returned it. An older rate or no rate does not confirm
//    it. If a polled source returns a different price with the same time, it contradicts itself: the latest rate is not
//    confirmed any more, and the different price replaces it if the next poll returns it again.
// 4. Each write deletes a few rates of its pair that are older than `historyDays`, but never the latest.
import { compare, decimal } from '#core/decimal.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { aheadMaxMs, type Rate, type StoredRate } from '../pricing/mid.ts'
import type { RejectedRate } from './rate-document.ts'

const dayMs = 86_400_000
/** More than a write adds, so that the table shrinks when `historyDays` is lowered. */
const prunedPerRate = 10

const columns = 'source, base, quote, rate, at_ms as "atMs"'
const latestColumns = `${columns}, confirmed_ms as "confirmedMs"`

/** The confirmation of a rate that its source has contradicted. */
const contradictedMs = 0

/**
 * Stores new rates and confirms known ones. The rates must be of one source, oldest first. Returns how many rates were
 * new, and as contradictions the different prices with the time of a stored rate.
 */
export async function storeRates(
  state: State,
  source: string,
  rates: readonly Rate[],
  receivedMs: number,
  historyDays = Number.POSITIVE_INFINITY,
) {
  const latest = await state.all<StoredRate>(`select ${latestColumns} from fx_latest where source = ?`, source)
  const known = new Map(latest.map((rate) => [`${rate.base}/${rate.quote}`, rate]))
  const newRates: Rate[] = []
  const corrections: Rate[] = []
  const contradictions: Rate[] = []
  const confirmed = new Map<string, Rate>()
  const rejected: RejectedRate[] = []
  for (const rate of rates) {
    const pair = `${rate.base}/${rate.quote}`
    const knownRate = known.get(pair)
    const before = knownRate && knownRate.atMs > receivedMs + aheadMaxMs ? undefined : knownRate
    if (!before || rate.atMs > before.atMs) {
      newRates.push(rate)
      known.set(pair, { ...rate, confirmedMs: receivedMs })
      confirmed.delete(pair)
    } else if (rate.atMs === before.atMs) {
      if (compare(decimal(rate.rate), decimal(before.rate)) === 0) confirmed.set(pair, before)
      else if (before.confirmedMs === contradictedMs) {
        corrections.push(rate)
        known.set(pair, { ...rate, confirmedMs: receivedMs })
      } else {
        contradictions.push(rate)
        const reason = `the rate changed from ${before.rate} to ${rate.rate} but its time did not`
        rejected.push({ about: pair, reason })
      }
    }
  }
  if (newRates.length > 0 || confirmed.size > 0 || corrections.length > 0) {
    const keptFromMs = receivedMs - historyDays * dayMs
    await state.write(async (tx) => {
      await writeRates(tx, newRates, receivedMs, keptFromMs)
      await confirmRates(tx, [...confirmed.values()], receivedMs)
      for (const rate of corrections) await correctRate(tx, rate, receivedMs)
    })
  }
  return { stored: newRates.length + corrections.length, rejected, contradictions }
}

/** Stops using rates that their source has contradicted, until it returns one of the two prices again. */
export async function markContradicted(state: State, rates: readonly Rate[]): Promise<void> {
  if (rates.length > 0) await state.write((tx) => confirmRates(tx, rates, contradictedMs))
}

async function correctRate(tx: StateWriter, { source, base, quote, rate, atMs }: Rate, receivedMs: number) {
  const key = [source, base, quote, atMs]
  const where = 'where source = ? and base = ? and quote = ? and at_ms = ?'
  await tx.run(`update fx_rates set rate = ?, received_ms = ? ${where}`, rate, receivedMs, ...key)
  await tx.run(`update fx_latest set rate = ?, confirmed_ms = ? ${where}`, rate, receivedMs, ...key)
}

async function writeRates(
  tx: StateWriter,
  rates: readonly Rate[],
  receivedMs: number,
  keptFromMs: number,
): Promise<void> {
  for (const { source, base, quote, rate, atMs } of rates) {
    if (keptFromMs > 0) await prune(tx, [source, base, quote], Math.min(keptFromMs, atMs))
    const values = [source, base, quote, atMs, rate, receivedMs]
    await tx.run(
      `insert into fx_rates (source, base, quote, at_ms, rate, received_ms) values (?, ?, ?, ?, ?, ?)
         on conflict do nothing`,
      ...values,
    )
    await tx.run(
      `insert into fx_latest (source, base, quote, at_ms, rate, confirmed_ms) values (?, ?, ?, ?, ?, ?)
         on conflict (source, base, quote) do update
           set at_ms = excluded.at_ms, rate = excluded.rate, confirmed_ms = excluded.confirmed_ms
           where excluded.at_ms > fx_latest.at_ms or fx_latest.at_ms > ?`,
      ...[...values, receivedMs + aheadMaxMs],
    )
  }
}

async function confirmRates(tx: StateWriter, rates: readonly Rate[], confirmedMs: number): Promise<void> {
  if (rates.length === 0) return
  await tx.insertMany(
    'fx_latest',
    ['source', 'base', 'quote', 'at_ms', 'rate', 'confirmed_ms'],
    rates.map(({ source, base, quote, rate, atMs }) => [source, base, quote, atMs, rate, confirmedMs]),
    `on conflict (source, base, quote) do update set confirmed_ms = excluded.confirmed_ms
       where excluded.at_ms = fx_latest.at_ms`,
  )
}

const prune = (tx: StateWriter, pair: readonly [string, string, string], beforeMs: number): Promise<number> =>
  tx.run(
    `delete from fx_rates where source = ? and base = ? and quote = ? and at_ms in
       (select at_ms from fx_rates where source = ? and base = ? and quote = ? and at_ms < ? order by at_ms limit ?)`,
    ...[...pair, ...pair, beforeMs, prunedPerRate],
  )

/** The latest rates that have one of these currencies on either side. */
export const latestRates = (state: StateReader, first: string, second: string): Promise<StoredRate[]> =>
  state.all<StoredRate>(
    `select ${latestColumns} from fx_latest where base in (?, ?) or quote in (?, ?)`,
    ...[first, second, first, second],
  )

export const allLatestRates = (state: StateReader): Promise<StoredRate[]> =>
  state.all<StoredRate>(`select ${latestColumns} from fx_latest order by source, base, quote`)

export interface PastRate extends Rate {
  readonly receivedMs: number
}

export interface HistoryQuery {
  readonly base: string
  readonly quote: string
  /** Default: every source that has a rate for this pair. */
  readonly source?: string | undefined
  readonly fromMs: number
  readonly untilMs: number
  readonly rowsMax: number
}

/** Newest first. */
export async function rateHistory(state: StateReader, query: HistoryQuery): Promise<PastRate[]> {
  const { base, quote, fromMs, untilMs, rowsMax } = query
  const sources =
    query.source === undefined
      ? await state.all<{ source: string }>('select source from fx_latest where base = ? and quote = ?', base, quote)
      : [{ source: query.source }]
  const rates: PastRate[] = []
  // One query per source uses the primary key; one query for all sources would scan the table.
  for (const { source } of sources) {
    const rows = await state.all<PastRate>(
      `select ${columns}, received_ms as "receivedMs" from fx_rates
       where source = ? and base = ? and quote = ? and at_ms >= ? and at_ms < ? order by at_ms desc limit ?`,
      ...[source, base, quote, fromMs, untilMs, rowsMax],
    )
    rates.push(...rows)
  }
  return rates.toSorted((a, b) => b.atMs - a.atMs || (a.source < b.source ? -1 : 1)).slice(0, rowsMax)
}
