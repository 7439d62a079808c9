// Writes the values by which lists filter and order markets, events, series and tags (behaviour/markets.md#lists). They are
// written in the transaction that writes the record, so that both agree.
import { hash } from 'node:crypto'
import type { StateWriter, Value } from '#storage/state.ts'
import type { StoredRecord } from '../records/documents.ts'
import type { KindName } from '../records/kinds.ts'
import { sourceMs } from '../records/source-time.ts'

type Fields = StoredRecord['fields']

/** Stored for a value that is absent. It is lower than any value. */
export const noValue = Number.MIN_SAFE_INTEGER

const amountMax = 9e15
const listedKinds: ReadonlySet<KindName> = new Set(['market', 'event', 'series', 'tag'])

/** Amounts are stored and compared in thousandths. */
export const toThousandths = (amount: number): number =>
  Math.round(Math.min(Math.max(amount * 1000, -amountMax), amountMax))

function amountOf(value: unknown): number {
  const amount = value === undefined || value === '' ? Number.NaN : Number(value)
  return Number.isNaN(amount) ? noValue : toThousandths(amount)
}

const timeOf = (value: unknown): number => sourceMs(value) ?? noValue

/** Other ids get a number from their hash, above the numeric ones, so that they have an order in which ids rarely tie. */
function numberOf(id: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(id)) return Number(id)
  return 1e15 + Number.parseInt(hash('sha256', id).slice(0, 12), 16)
}

const columns = {
  active: (fields: Fields) => Number(fields.active !== false),
  closed: (fields: Fields) => Number(fields.closed === true),
  archived: (fields: Fields) => Number(fields.archived === true),
  featured: (fields: Fields) => Number(fields.featured === true),
  volume: (fields: Fields) => amountOf(fields.volumeNum ?? fields.volume),
  liquidity: (fields: Fields) => amountOf(fields.liquidityNum ?? fields.liquidity),
  volume_24h: (fields: Fields) => amountOf(fields.volume24hr),
  start_ms: (fields: Fields) => timeOf(fields.startDate),
  end_ms: (fields: Fields) => timeOf(fields.endDate),
  created_ms: (fields: Fields) => timeOf(fields.createdAt),
  updated_ms: (fields: Fields) => timeOf(fields.updatedAt),
  closed_ms: (fields: Fields) => timeOf(fields.closedTime),
  event_start_ms: (fields: Fields) => timeOf(fields.startTime),
} as const

const names = Object.keys(columns)
const valuesOf = (fields: Fields): number[] => Object.values(columns).map((read) => read(fields))

/** A changed record. `old` is undefined for a new one. */
interface ListedChange {
  readonly kind: KindName
  readonly id: string
  readonly old: Fields | undefined
  readonly next: Fields
}

/** Call this in the transaction that writes the records. Each record is given once. */
export async function putListRows(tx: StateWriter, changes: readonly ListedChange[]): Promise<void> {
  const listed = changes.filter(({ kind }) => listedKinds.has(kind))
  const added: Value[][] = []
  /** By the columns that changed, because the indexes of the others are then not written. */
  const updated = new Map<string, { readonly columns: readonly number[]; readonly rows: Value[][] }>()
  for (const { kind, id, old, next } of listed) {
    const values = valuesOf(next)
    if (!old) {
      added.push([kind, id, numberOf(id), ...values])
      continue
    }
    const before = valuesOf(old)
    const columns = [...values.keys()].filter((at) => values[at] !== before[at])
    const group = updated.getOrInsertComputed(columns.join(), () => ({ columns, rows: [] }))
    group.rows.push([kind, id, ...columns.map((at) => values[at] ?? noValue)])
  }
  await tx.insertMany('market_list', ['kind', 'id', 'number', ...names], added)
  for (const { columns, rows } of updated.values())
    if (columns.length > 0)
      await tx.updateMany(
        'market_list',
        ['kind', 'id'],
        columns.map((at) => names[at] ?? ''),
        rows,
      )
  await putKeys(tx, listed)
}

/** A token list with more entries is not a list of outcomes. */
const tokensMax = 100

const text = (value: unknown): string[] =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? [String(value)] : []
const flag = (value: unknown): string[] => (value === true ? ['true'] : [])

/** The values of slow fields by which callers look records up, or filter lists. Of flags, only `true` is stored. */
const keyReaders = {
  market: {
    condition: ({ conditionId }: Fields) => text(conditionId),
    token: ({ clobTokenIds }: Fields) => [...new Set(parseTokens(clobTokenIds))].slice(0, tokensMax),
    question: ({ questionID }: Fields) => text(questionID),
    market_maker: ({ marketMakerAddress }: Fields) => text(marketMakerAddress),
    game: ({ gameId }: Fields) => text(gameId),
    sports_type: ({ sportsMarketType }: Fields) => text(sportsMarketType),
    resolution_status: ({ oracleResolutionStatus }: Fields) => text(oracleResolutionStatus),
    rfq: ({ rfqEnabled }: Fields) => flag(rfqEnabled),
  },
  event: {
    date: ({ eventDate }: Fields) => text(eventDate),
    week: ({ eventWeek }: Fields) => text(eventWeek),
    parent: ({ parentEvent }: Fields) => text(parentEvent),
    cyom: ({ cyom }: Fields) => flag(cyom),
    live: ({ live }: Fields) => flag(live),
    ended: ({ ended }: Fields) => flag(ended),
  },
  tag: { carousel: ({ isCarousel }: Fields) => flag(isCarousel) },
  series: { recurrence: ({ recurrence }: Fields) => text(recurrence) },
} as const

type NamesOf<T> = T extends unknown ? keyof T : never
export type KeyName = NamesOf<(typeof keyReaders)[keyof typeof keyReaders]>

function keysOf(kind: KindName, fields: Fields | undefined): [name: string, value: string][] {
  if (!fields || !(kind in keyReaders)) return []
  const readers: Readonly<Record<string, (fields: Fields) => string[]>> = keyReaders[kind as keyof typeof keyReaders]
  return Object.entries(readers).flatMap(([name, read]) => read(fields).map((value): [string, string] => [name, value]))
}

/** JSON in a string; token ids have more digits than a number can hold, so only texts are used. */
function parseTokens(text: unknown): string[] {
  if (typeof text !== 'string' || !text.startsWith('[')) return []
  try {
    return (JSON.parse(text) as unknown[]).filter((token) => typeof token === 'string' && token !== '') as string[]
  } catch {
    return []
  }
}

async function putKeys(tx: StateWriter, changes: readonly ListedChange[]): Promise<void> {
  const columns = ['kind', 'name', 'value', 'id']
  const [removed, added]: [string[][], string[][]] = [[], []]
  for (const { kind, id, old, next } of changes) {
    const [before, after] = [old, next].map((fields) => keysOf(kind, fields).map((key) => [kind, ...key, id]))
    removed.push(...without(before ?? [], after ?? []))
    added.push(...without(after ?? [], before ?? []))
  }
  await tx.deleteMany('market_keys', columns, removed)
  await tx.insertMany('market_keys', columns, added)
}

function without(keys: readonly string[][], others: readonly string[][]): string[][] {
  const known = new Set(others.map((key) => key.join()))
  return keys.filter((key) => !known.has(key.join()))
}
