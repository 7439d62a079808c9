// The datasets that are read from tables of the state: fundings, labels, markets and quotes.
import type { StoredFunding } from '#explorer/funding/fundings.ts'
import type { State, Value } from '#storage/state.ts'
import { type Dataset, datasetColumns, type Row, type TableName, type TimeRange } from './dataset.ts'

export const openTable = (name: TableName, state: State, range: TimeRange): Dataset => ({
  columns: datasetColumns[name],
  ...tableRows(state, tablesOf[name], range),
})

/** One query of a dataset. */
interface Table {
  readonly select: string
  readonly from: string
  /** The column that --from and --until select by, and its unit. */
  readonly time: string
  readonly timeUnitMs: number
  readonly order: string
  readonly toRow: (row: never) => Row
}

const rowsAtOnce = 1000

function tableRows(state: State, tables: readonly Table[], range: TimeRange): Omit<Dataset, 'columns'> {
  const condition = ({ time }: Table) => `where ${time} >= ? and ${time} < ?`
  const bounds = ({ timeUnitMs }: Table): Value[] => [
    Math.ceil(range.fromMs / timeUnitMs),
    Math.ceil(range.untilMs / timeUnitMs),
  ]
  return {
    unit: 'rows',
    total: async () => {
      let total = 0
      for (const table of tables) {
        const sql = `select count(*) as count from ${table.from} ${condition(table)}`
        total += (await state.get<{ count: number }>(sql, ...bounds(table)))?.count ?? 0
      }
      return total
    },
    batches: async function* () {
      for (const table of tables) {
        const sql = `select ${table.select} from ${table.from} ${condition(table)} order by ${table.order}`
        let rows: Row[] = []
        for await (const row of state.each(sql, ...bounds(table))) {
          rows.push(table.toRow(row as never))
          if (rows.length < rowsAtOnce) continue
          yield { rows, done: rows.length }
          rows = []
        }
        yield { rows, done: rows.length }
      }
    },
  }
}

const hexText = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const textOrNull = (text: string): string | null => (text === '' ? null : text)

interface FundingRow extends StoredFunding {
  readonly chain: string
  readonly address: Uint8Array
  readonly proven: number
}

const fundingsTable: Table = {
  select: 'chain, address, block, tx_index, position, time_unix, funder, tx, value_wei, proven',
  from: 'fundings',
  time: 'time_unix',
  timeUnitMs: 1000,
  order: 'chain, address',
  toRow: (row: FundingRow) => [
    row.chain,
    hexText(row.address),
    row.block,
    row.tx_index,
    row.position,
    row.time_unix * 1000,
    hexText(row.funder),
    hexText(row.tx),
    row.value_wei,
    row.proven === 1,
  ],
}

interface EntityRow {
  readonly chain: string
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly notes: string
  readonly updated_unix: number
}

const entitiesTable: Table = {
  select: 'chain, slug, name, description, notes, updated_unix',
  from: 'labels',
  time: 'updated_unix',
  timeUnitMs: 1000,
  order: 'chain, slug',
  toRow: ({ chain, slug, name, description, notes, updated_unix }: EntityRow) => [
    ...['entity', chain, null, slug, name, textOrNull(description), textOrNull(notes)],
    ...[null, null, null, updated_unix * 1000],
  ],
}

interface TaggedAddressRow {
  readonly chain: string
  readonly address: Uint8Array
  readonly source: string
  readonly name: string
  readonly entity: string
  readonly confidence: number
  readonly evidence_url: string
  readonly updated_unix: number
}

const taggedAddressesTable: Table = {
  select: 'chain, address, source, name, entity, confidence, evidence_url, updated_unix',
  from: 'tagged_addresses',
  time: 'updated_unix',
  timeUnitMs: 1000,
  order: 'chain, address, source',
  toRow: ({ chain, address, source, name, entity, confidence, evidence_url, updated_unix }: TaggedAddressRow) => [
    ...['address', chain, hexText(address), textOrNull(entity), name, null, null],
    ...[source, confidence, textOrNull(evidence_url), updated_unix * 1000],
  ],
}

interface MarketRow {
  readonly market_id: string
  readonly slug: string
  readonly body: Uint8Array
  readonly modified_ms: number
  readonly vanished_ms: number | null
}

const marketsTable: Table = {
  select: 'market_id, slug, body, modified_ms, vanished_ms',
  from: 'market_documents',
  time: 'modified_ms',
  timeUnitMs: 1,
  order: 'market_id',
  toRow: ({ market_id, slug, body, modified_ms, vanished_ms }: MarketRow) => {
    const document = Buffer.from(body).toString()
    const fields = JSON.parse(document) as Readonly<Record<string, unknown>>
    const text = (name: string): string | null => (typeof fields[name] === 'string' ? fields[name] : null)
    const flag = (name: string): boolean | null => (typeof fields[name] === 'boolean' ? fields[name] : null)
    const time = (name: string): number | null => {
      const atMs = Date.parse(text(name) ?? '')
      return Number.isNaN(atMs) ? null : atMs
    }
    return [
      ...[market_id, slug, text('question'), text('conditionId'), text('category')],
      ...[flag('active'), flag('closed'), flag('archived')],
      ...[text('outcomes'), text('outcomePrices'), text('volume'), text('liquidity')],
      ...[time('startDate'), time('endDate'), time('createdAt'), time('updatedAt')],
      ...[modified_ms, vanished_ms, document],
    ]
  },
}

interface QuoteRow {
  readonly id: string
  readonly key_id: string
  readonly created_ms: number
  readonly as_of_ms: number
  readonly priced_from: string
}

/** The members of a receipt that become columns. */
interface QuoteReceipt {
  readonly givenSide: string
  readonly quote: {
    readonly type: string
    readonly tenor: string
    readonly expiresAt: string
    readonly from: { readonly currency: string; readonly amount: string }
    readonly to: { readonly currency: string; readonly amount: string }
    readonly rate: string
    readonly fee: string
    readonly collateral: string
  }
}

const quotesTable: Table = {
  select: 'id, key_id, created_ms, as_of_ms, priced_from',
  from: 'fx_quotes',
  time: 'created_ms',
  timeUnitMs: 1,
  order: 'created_ms, id',
  toRow: ({ id, key_id, created_ms, as_of_ms, priced_from }: QuoteRow) => {
    const { quote, givenSide } = JSON.parse(priced_from) as QuoteReceipt
    const { type, tenor, from, to, rate, fee, collateral } = quote
    return [
      ...[id, key_id, type, tenor, created_ms, Date.parse(quote.expiresAt), as_of_ms, givenSide],
      ...[from.currency, from.amount, to.currency, to.amount, rate, fee, collateral, priced_from],
    ]
  },
}

const tablesOf: Readonly<Record<TableName, readonly Table[]>> = {
  fundings: [fundingsTable],
  labels: [entitiesTable, taggedAddressesTable],
  markets: [marketsTable],
  quotes: [quotesTable],
}
