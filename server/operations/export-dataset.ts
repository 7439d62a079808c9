// The datasets of `tetrad export`: their columns, and their rows in batches. docs/export.md describes every column.
//
// 1. Amounts and rates are text or whole numbers, never floating-point numbers.
// 2. Only a few batches are in memory at a time, however many rows a dataset has.
// 3. Rows of one table are read in one snapshot. Duties are read in one snapshot per batch.
import { type Network, networks } from '#api/wire/validators.ts'
import type { DateNumber } from '#core/calendar.ts'
import { type ChainTime, type Epoch, type Epochs, overlap, type UtcDay, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Duties } from '#storage/duties.ts'
import type { State, Value } from '#storage/state.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { type DayPart, partsIn } from '#validators/duties/layout.ts'
import { storedTime } from '#validators/duties/networks.ts'
import { queryDuties } from '#validators/duties/store.ts'
import { amounts, counts, type Measure, measures } from '#validators/ratings/measures.ts'

export type DatasetName = 'duties' | 'fundings' | 'labels' | 'markets' | 'quotes'

/** time: Unix milliseconds. date: days since 1970-01-01. json: the text of a JSON document. */
export type ColumnType = 'text' | 'json' | 'boolean' | 'int32' | 'int64' | 'time' | 'date'

export interface Column {
  readonly name: string
  readonly type: ColumnType
  readonly isNullable: boolean
}

/** A cell is in the form that the type of its column defines. */
export type Cell = string | number | boolean | null
export type Row = readonly Cell[]

export interface Batch {
  readonly rows: readonly Row[]
  /** Adds to `total`. */
  readonly done: number
}

export interface Dataset {
  readonly columns: readonly Column[]
  /** What `total` counts. */
  readonly unit: string
  /** Reads the whole range once, for a progress bar. */
  readonly total: () => Promise<number>
  readonly batches: () => AsyncIterable<Batch>
}

/** Half-open, in Unix milliseconds. */
export interface TimeRange {
  readonly fromMs: number
  readonly untilMs: number
}

/** One column per line: its name and its type. A question mark after the type allows null. */
const parseColumns = (text: string): Column[] =>
  text
    .trim()
    .split(/\s*\n\s*/)
    .map((line) => {
      const [name = '', type = ''] = line.split(/\s+/)
      return { name, type: type.replace('?', '') as ColumnType, isNullable: type.endsWith('?') }
    })

export const datasetColumns: Readonly<Record<DatasetName, readonly Column[]>> = {
  duties: [
    ...parseColumns(`network text
      date date
      epochs int32
      validator_index int32`),
    ...counts.map((name): Column => ({ name, type: 'int32', isNullable: true })),
    ...amounts.map((name): Column => ({ name: `${name}_gwei`, type: 'int64', isNullable: true })),
  ],
  fundings: parseColumns(`chain text
    address text
    block int64
    tx_index int32
    position int32
    time time
    funder text
    tx text
    value_wei text
    proven boolean`),
  labels: parseColumns(`kind text
    chain text
    address text?
    entity text?
    name text
    description text?
    notes text?
    source text?
    confidence int32?
    evidence_url text?
    updated_at time`),
  markets: parseColumns(`id text
    slug text
    question text?
    condition_id text?
    category text?
    active boolean?
    closed boolean?
    archived boolean?
    outcomes text?
    outcome_prices text?
    volume text?
    liquidity text?
    start_date time?
    end_date time?
    created_at time?
    updated_at time?
    modified_at time
    vanished_at time?
    document json`),
  quotes: parseColumns(`id text
    key_id text
    type text
    tenor text
    created_at time
    expires_at time
    rates_at time
    given_side text
    from_currency text
    from_amount text
    to_currency text
    to_amount text
    rate text
    fee text
    collateral text
    receipt json`),
}

export type TableName = Exclude<DatasetName, 'duties'>

export const openTable = (name: TableName, state: State, range: TimeRange): Dataset => ({
  columns: datasetColumns[name],
  ...tableRows(state, tablesOf[name], range),
})

export const openDutiesTable = (duties: Duties, range: TimeRange): Dataset => ({
  columns: datasetColumns.duties,
  ...dutiesRows(duties, range),
})

// ------------------------------------------------------------------------------------------------------------------ tables

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

interface FundingRow {
  readonly chain: string
  readonly address: Uint8Array
  readonly block: number
  readonly tx_index: number
  readonly position: number
  readonly time_unix: number
  readonly funder: Uint8Array
  readonly tx: Uint8Array
  readonly value_wei: string
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

// ------------------------------------------------------------------------------------------------------------------ duties

const dayMs = 86_400_000
/** A batch has up to 512 × 32 rows. A row of the database holds up to 64 days, so fewer days would read it more often. */
const daysAtOnce = 32
const validatorsAtOnce = 512

/** The duties of one network that are exported. */
interface DutiesPlan {
  readonly network: Network
  readonly time: ChainTime
  /** Finalized epochs that were read. */
  readonly covered: readonly Epochs[]
  /** UTC days. */
  readonly days: Range
  /** Those with duties on any of the days, in ascending order. */
  readonly validators: Int32Array
}

function dutiesRows(duties: Duties, range: TimeRange): Omit<Dataset, 'columns'> {
  let planned: Promise<readonly DutiesPlan[]> | undefined
  const plan = () => {
    planned ??= planDuties(duties, range)
    return planned
  }
  return {
    unit: 'batches',
    total: async () => {
      const batches = (await plan()).map(
        ({ days, validators }) =>
          Math.ceil((days.until - days.from) / daysAtOnce) * Math.ceil(validators.length / validatorsAtOnce),
      )
      return batches.reduce((sum, count) => sum + count, 0)
    },
    batches: async function* () {
      for (const network of await plan()) {
        const { days, validators } = network
        for (let from = days.from; from < days.until; from += daysAtOnce) {
          const batchDays = { from, until: Math.min(from + daysAtOnce, days.until) }
          for (let at = 0; at < validators.length; at += validatorsAtOnce) {
            const batchValidators = [...validators.subarray(at, at + validatorsAtOnce)]
            yield { rows: await readDuties(duties, network, batchDays, batchValidators), done: 1 }
          }
        }
      }
    },
  }
}

async function planDuties(duties: Duties, range: TimeRange): Promise<readonly DutiesPlan[]> {
  const plans: DutiesPlan[] = []
  for (const network of networks) {
    const time = await storedTime(duties, network)
    const covered = (await coveredEpochs(duties, network)) as Epochs[]
    const [first, last] = [covered[0], covered.at(-1)]
    if (!time || !first || !last) continue
    const calendar = utcDays(time)
    // A day is in the range if it starts in the range.
    const dayFrom = (atMs: number): number => calendar.firstFrom(Math.ceil(atMs / dayMs) as DateNumber)
    const from = Math.max(calendar.dayOf(first.from), dayFrom(range.fromMs))
    const until = Math.min(calendar.dayOf((last.until - 1) as Epoch) + 1, dayFrom(range.untilMs))
    if (from >= until) continue
    const epochs = {
      from: calendar.epochsOf(from as UtcDay).from,
      until: calendar.epochsOf((until - 1) as UtcDay).until,
    }
    const validators = await findValidators(duties, network, partsIn(time, epochs))
    plans.push({ network, time, covered, days: { from, until }, validators })
  }
  return plans
}

/** Those with duties in any of the parts, in ascending order. */
export async function findValidators(duties: Duties, network: Network, parts: readonly DayPart[]): Promise<Int32Array> {
  let isPresent = new Uint8Array(0)
  for (const { part } of parts) {
    const validators = await queryDuties(duties, 'validatorsIn', { network, part })
    const end = (validators.at(-1) ?? -1) + 1
    if (end > isPresent.length) {
      const before = isPresent
      isPresent = new Uint8Array(end)
      isPresent.set(before)
    }
    for (const validator of validators) isPresent[validator] = 1
  }
  return Int32Array.from(isPresent.keys()).filter((validator) => isPresent[validator] === 1)
}

/** Rows by validator, then date. */
async function readDuties(
  duties: Duties,
  { network, time, covered }: DutiesPlan,
  days: Range,
  validators: readonly number[],
): Promise<readonly Row[]> {
  const calendar = utcDays(time)
  const dayNumbers = Array.from({ length: days.until - days.from }, (_, at) => (days.from + at) as UtcDay)
  const epochs = dayNumbers.map((day) => countCommon(calendar.epochsOf(day), covered))
  const { day, validator, sums } = await queryDuties(duties, 'sumRecords', {
    query: {
      ...{ network, time, validators, days, isUtc: true, grain: 'days', byValidator: true },
      windowOf: dayNumbers,
    },
    wanted: { measures, scores: [] },
  })
  const order = [...day.keys()].sort(
    (a, b) => (validator[a] as number) - (validator[b] as number) || (day[a] as number) - (day[b] as number),
  )
  const valueAt = (measure: Measure, record: number): number | null => {
    const value = sums[measure]?.[record] as number
    return Number.isNaN(value) ? null : value
  }
  return order.map((record) => {
    const ownDay = day[record] as UtcDay
    return [
      ...[network, calendar.dateOf(ownDay), epochs[ownDay - days.from] as number, validator[record] as number],
      ...measures.map((measure) => valueAt(measure, record)),
    ]
  })
}

/** How many of the epochs were read. */
export const countCommon = (epochs: Epochs, covered: readonly Epochs[]): number =>
  covered.reduce((sum, range) => {
    const common = overlap(epochs, range)
    return sum + Math.max(0, common.until - common.from)
  }, 0)
