// Stores rates: the history of each source, and the latest rate of each source and pair.
//
// 1. A source, pair and time identify one rate; receiving it again changes nothing.
// 2. The latest rate changes in the transaction that writes the history (plan-rates.ts decides what is new).
// 3. The latest rate also has the time at which its source last returned it. An older rate or no rate does not confirm
//    it, and a contradiction withdraws the confirmation.
// 4. Each write deletes a few rates of its pair that are older than `historyDays`, but never the latest.
import type { ProvenTime } from '#runtime/proven-time.ts'
import type { FxSettings } from '#runtime/settings/fx.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { aheadMaxMs, contradictedMs, type Rate, type StoredRate } from '../pricing/mid.ts'
import { outlierPpm } from '../pricing/resolve-offer.ts'
import { type Contradiction, planRates, type RatePlan } from './plan-rates.ts'
import type { RejectedRate } from './rate-document.ts'
import { groupStatements } from './statements.ts'

const dayMs = 86_400_000
/** More than a write adds, so that the table shrinks when `historyDays` is lowered. */
const prunedPerRate = 10

const columns = 'source, base, quote, rate, at_ms as "atMs"'
const latestColumns = `${columns}, bid, ask, confirmed_ms as "confirmedMs"`
const contradictionColumns = 'pair, at_ms as "atMs", statement as text, reason'

/** How much of a poll is kept, and how exact the two orientations of a pair must be (statements.ts). */
export interface StoreRules {
  /** Older rates are deleted. */
  readonly keptFromMs: number
  readonly tolerancePpm: bigint
}

export const storeRules = (fx: FxSettings, provenTime: ProvenTime): StoreRules => ({
  keptFromMs: provenTime.forDeletions() - fx.historyDays * dayMs,
  tolerancePpm: outlierPpm(fx),
})

const keepAll: StoreRules = { keptFromMs: 0, tolerancePpm: 20_000n }

/** Stores one poll of a source: new rates, confirmations and contradictions. Returns how many rates were new. */
export async function storeRates(
  state: State,
  source: string,
  rates: readonly Rate[],
  receivedMs: number,
  rules: StoreRules = keepAll,
): Promise<{ readonly stored: number; readonly rejected: readonly RejectedRate[] }> {
  const plan = await planStore(state, source, rates, receivedMs, rules)
  await writePlan(state, source, plan, receivedMs, rules)
  return { stored: plan.newRates.length + plan.corrected.length, rejected: plan.rejected }
}

export async function planStore(
  state: StateReader,
  source: string,
  rates: readonly Rate[],
  receivedMs: number,
  { tolerancePpm }: StoreRules,
): Promise<RatePlan> {
  const latest = await readLatest(state, 'where source = ?', source)
  const contradictions = await state.all<Contradiction>(
    `select ${contradictionColumns} from fx_contradictions where source = ?`,
    source,
  )
  return planRates(groupStatements(rates, tolerancePpm), { latest, contradictions }, receivedMs, tolerancePpm)
}

export async function writePlan(
  state: State,
  source: string,
  { newRates, confirmed, corrected, contradictions, settled }: RatePlan,
  receivedMs: number,
  { keptFromMs }: StoreRules,
): Promise<void> {
  const changes = [newRates, confirmed, corrected, contradictions, settled]
  if (changes.every(({ length }) => length === 0)) return
  await state.write(async (tx) => {
    await writeRates(tx, newRates, receivedMs, keptFromMs)
    await confirmRates(tx, confirmed, receivedMs)
    for (const rate of corrected) await correctRate(tx, rate, receivedMs)
    for (const pair of settled)
      await tx.run('delete from fx_contradictions where source = ? and pair = ?', source, pair)
    for (const contradiction of contradictions) await writeContradiction(tx, source, contradiction, receivedMs)
  })
}

async function correctRate(tx: StateWriter, { source, base, quote, rate, bid, ask, atMs }: Rate, receivedMs: number) {
  const key = [source, base, quote, atMs]
  const where = 'where source = ? and base = ? and quote = ? and at_ms = ?'
  await tx.run(`update fx_rates set rate = ?, received_ms = ? ${where}`, rate, receivedMs, ...key)
  const prices = [rate, bid ?? null, ask ?? null]
  await tx.run(
    `update fx_latest set rate = ?, bid = ?, ask = ?, confirmed_ms = ? ${where}`,
    ...prices,
    receivedMs,
    ...key,
  )
}

/** The latest rate, unless it is newer, stops counting at once. */
async function writeContradiction(
  tx: StateWriter,
  source: string,
  { pair, atMs, text, reason }: Contradiction,
  seenMs: number,
): Promise<void> {
  await tx.run(
    `insert into fx_contradictions (source, pair, at_ms, statement, reason, seen_ms) values (?, ?, ?, ?, ?, ?)
       on conflict (source, pair) do update set at_ms = excluded.at_ms, statement = excluded.statement,
         reason = excluded.reason, seen_ms = excluded.seen_ms`,
    ...[source, pair, atMs, text, reason, seenMs],
  )
  const [first = '', second = ''] = pair.split('/')
  await tx.run(
    `update fx_latest set confirmed_ms = ? where source = ? and at_ms <= ?
       and ((base = ? and quote = ?) or (base = ? and quote = ?))`,
    ...[contradictedMs, source, atMs, first, second, second, first],
  )
}

async function writeRates(
  tx: StateWriter,
  rates: readonly Rate[],
  receivedMs: number,
  keptFromMs: number,
): Promise<void> {
  for (const { source, base, quote, rate, bid, ask, atMs } of rates) {
    if (keptFromMs > 0) await prune(tx, [source, base, quote], Math.min(keptFromMs, atMs))
    const values = [source, base, quote, atMs, rate, receivedMs]
    await tx.run(
      `insert into fx_rates (source, base, quote, at_ms, rate, received_ms) values (?, ?, ?, ?, ?, ?)
         on conflict do nothing`,
      ...values,
    )
    await tx.run(
      `insert into fx_latest (source, base, quote, at_ms, rate, confirmed_ms, bid, ask) values (?, ?, ?, ?, ?, ?, ?, ?)
         on conflict (source, base, quote) do update
           set at_ms = excluded.at_ms, rate = excluded.rate, confirmed_ms = excluded.confirmed_ms,
             bid = excluded.bid, ask = excluded.ask
           where excluded.at_ms > fx_latest.at_ms or fx_latest.at_ms > ?`,
      ...[...values, bid ?? null, ask ?? null, receivedMs + aheadMaxMs],
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
  readLatest(state, 'where base in (?, ?) or quote in (?, ?)', first, second, first, second)

export const allLatestRates = (state: StateReader): Promise<StoredRate[]> =>
  readLatest(state, 'order by source, base, quote')

type LatestRow = Omit<StoredRate, 'bid' | 'ask'> & { readonly bid: string | null; readonly ask: string | null }

async function readLatest(state: StateReader, where: string, ...parameters: string[]): Promise<StoredRate[]> {
  const rows = await state.all<LatestRow>(`select ${latestColumns} from fx_latest ${where}`, ...parameters)
  return rows.map(({ bid, ask, ...rate }) => (bid === null || ask === null ? rate : { ...rate, bid, ask }))
}

export interface LastingContradiction extends Contradiction {
  readonly source: string
  /** When the source last contradicted itself. */
  readonly seenMs: number
}

export const allContradictions = (state: StateReader): Promise<LastingContradiction[]> =>
  state.all<LastingContradiction>(
    `select source, seen_ms as "seenMs", ${contradictionColumns} from fx_contradictions order by source, pair`,
  )

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
