// The dataset of markets: the documents that 4.8 returns, composed batch by batch.
import { type ComposedMarket, composeMarkets } from '#markets/read/compose-markets.ts'
import type { State } from '#storage/state.ts'
import { type Dataset, datasetColumns, type Row, type TimeRange } from './dataset.ts'

const rowsAtOnce = 200

/** Of the documents that last changed in the range. */
export function openMarkets(state: State, { fromMs, untilMs }: TimeRange): Dataset {
  return {
    columns: datasetColumns.markets,
    unit: 'rows',
    total: async () => {
      const sql = "select count(*) as count from market_records where kind = 'market'"
      return (await state.get<{ count: number }>(sql))?.count ?? 0
    },
    batches: async function* () {
      for (let after = ''; ; ) {
        const batch = await state.snapshot(async (reader) => {
          const sql = `select id, vanished_ms as "vanishedMs" from market_records
            where kind = 'market' and id > ? order by id limit ?`
          const stored = await reader.all<{ id: string; vanishedMs: number | null }>(sql, after, rowsAtOnce)
          return {
            stored,
            markets: await composeMarkets(
              reader,
              stored.map(({ id }) => id),
            ),
          }
        })
        const rows = batch.stored.flatMap(({ id, vanishedMs }) => {
          const market = batch.markets.get(id)
          return market && market.modifiedMs >= fromMs && market.modifiedMs < untilMs ? [toRow(market, vanishedMs)] : []
        })
        yield { rows, done: batch.stored.length }
        const last = batch.stored.at(-1)
        if (!last || batch.stored.length < rowsAtOnce) return
        after = last.id
      }
    },
  }
}

function toRow({ id, slug, body, modifiedMs }: ComposedMarket, vanishedMs: number | null): Row {
  const document = Buffer.from(body).toString()
  const fields = JSON.parse(document) as Readonly<Record<string, unknown>>
  const text = (name: string): string | null => (typeof fields[name] === 'string' ? fields[name] : null)
  const flag = (name: string): boolean | null => (typeof fields[name] === 'boolean' ? fields[name] : null)
  const time = (name: string): number | null => {
    const atMs = Date.parse(text(name) ?? '')
    return Number.isNaN(atMs) ? null : atMs
  }
  return [
    ...[id, slug, text('question'), text('conditionId'), text('category')],
    ...[flag('active'), flag('closed'), flag('archived')],
    ...[text('outcomes'), text('outcomePrices'), text('volume'), text('liquidity')],
    ...[time('startDate'), time('endDate'), time('createdAt'), time('updatedAt')],
    ...[modifiedMs, vanishedMs, document],
  ]
}
