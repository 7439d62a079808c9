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

/** What is computed from some fields of a record. If none of them has changed, it has not changed either. */
interface Computed<T> {
  readonly fields: readonly string[]
  readonly read: (fields: Fields) => T
}

const from = <T>(name: string, read: (value: unknown) => T): Computed<T> => ({
  fields: [name],
  read: (fields) => read(fields[name]),
})

/** The first of these fields that the record has. */
const amountFrom = (...names: readonly string[]): Computed<number> => ({
  fields: names,
  read: (fields) => amountOf(names.map((name) => fields[name]).find((value) => value !== undefined)),
})

const isTrue = (value: unknown): number => Number(value === true)

const columns = {
  active: from('active', (value) => Number(value !== false)),
  closed: from('closed', isTrue),
  archived: from('archived', isTrue),
  featured: from('featured', isTrue),
  volume: amountFrom('volumeNum', 'volume'),
  liquidity: amountFrom('liquidityNum', 'liquidity'),
  volume_24h: amountFrom('volume24hr'),
  start_ms: from('startDate', timeOf),
  end_ms: from('endDate', timeOf),
  created_ms: from('createdAt', timeOf),
  updated_ms: from('updatedAt', timeOf),
  closed_ms: from('closedTime', timeOf),
  event_start_ms: from('startTime', timeOf),
} as const satisfies Readonly<Record<string, Computed<number>>>

const names = Object.keys(columns)
const readers: readonly Computed<number>[] = Object.values(columns)
const mayDiffer = <T>({ fields }: Computed<T>, old: Fields, next: Fields): boolean =>
  fields.some((name) => old[name] !== next[name])

/** A changed record. `old` is undefined for a new one. */
export interface ListedChange {
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
    if (!old) {
      added.push([kind, id, numberOf(id), ...readers.map(({ read }) => read(next))])
      continue
    }
    const columns: number[] = []
    const values: number[] = []
    for (const [at, reader] of readers.entries()) {
      if (!mayDiffer(reader, old, next)) continue
      const value = reader.read(next)
      if (value === reader.read(old)) continue
      columns.push(at)
      values.push(value)
    }
    const group = updated.getOrInsertComputed(columns.join(), () => ({ columns, rows: [] }))
    group.rows.push([kind, id, ...values])
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

const toText = (value: unknown): string[] =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? [String(value)] : []
const toFlag = (value: unknown): string[] => (value === true ? ['true'] : [])

/** The values of slow fields by which callers look records up, or filter lists. Of flags, only `true` is stored. */
const keyReaders = {
  market: {
    condition: from('conditionId', toText),
    token: from('clobTokenIds', (value) => [...new Set(parseTokens(value))].slice(0, tokensMax)),
    question: from('questionID', toText),
    market_maker: from('marketMakerAddress', toText),
    game: from('gameId', toText),
    sports_type: from('sportsMarketType', toText),
    resolution_status: from('oracleResolutionStatus', toText),
    rfq: from('rfqEnabled', toFlag),
  },
  event: {
    date: from('eventDate', toText),
    week: from('eventWeek', toText),
    parent: from('parentEvent', toText),
    cyom: from('cyom', toFlag),
    live: from('live', toFlag),
    ended: from('ended', toFlag),
  },
  tag: { carousel: from('isCarousel', toFlag) },
  series: { recurrence: from('recurrence', toText) },
} as const

type NamesOf<T> = T extends unknown ? keyof T : never
export type KeyName = NamesOf<(typeof keyReaders)[keyof typeof keyReaders]>

const keyReadersOf = (kind: KindName): readonly [name: string, reader: Computed<string[]>][] =>
  kind in keyReaders ? Object.entries(keyReaders[kind as keyof typeof keyReaders]) : []

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
    for (const [name, reader] of keyReadersOf(kind)) {
      if (old && !mayDiffer(reader, old, next)) continue
      const before = old ? reader.read(old) : []
      const after = reader.read(next)
      const toRow = (value: string) => [kind, name, value, id]
      removed.push(...before.filter((value) => !after.includes(value)).map(toRow))
      added.push(...after.filter((value) => !before.includes(value)).map(toRow))
    }
  }
  await tx.deleteMany('market_keys', columns, removed)
  await tx.insertMany('market_keys', columns, added)
}
