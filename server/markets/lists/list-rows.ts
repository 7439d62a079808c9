// Writes the values by which lists filter and order markets, events, series and tags (behaviour/markets.md#lists). They are
// written in the transaction that writes the record, so that both agree.
import { hash } from 'node:crypto'
import { replaceOnConflict } from '#storage/put-row.ts'
import type { StateWriter } from '#storage/state.ts'
import { sourceMs } from '../feeds/source-time.ts'
import type { StoredRecord } from '../records/documents.ts'
import type { KindName } from '../records/kinds.ts'

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
} as const

const names = Object.keys(columns)
const valuesOf = (fields: Fields): number[] => Object.values(columns).map((read) => read(fields))

const upsertRow = `
  insert into market_list (kind, id, number, ${names.join()}) values (?, ?, ?, ${names.map(() => '?').join()})
  ${replaceOnConflict(['kind', 'id'], names)}`

/** Call this in the transaction that writes the record; `old` is undefined for a new record. */
export async function putListRow(
  tx: StateWriter,
  kind: KindName,
  id: string,
  old: Fields | undefined,
  next: Fields,
): Promise<void> {
  if (!listedKinds.has(kind)) return
  const values = valuesOf(next)
  if (!old || valuesOf(old).join() !== values.join()) await tx.run(upsertRow, kind, id, numberOf(id), ...values)
  if (kind === 'market') await putKeys(tx, id, old, next)
}

/** A token list with more entries is not a list of outcomes. */
const tokensMax = 100

/** The condition and the tokens of a market, by which callers look it up. */
function keysOf(fields: Fields | undefined): (readonly ['condition' | 'token', string])[] {
  const condition = typeof fields?.conditionId === 'string' && fields.conditionId !== '' ? [fields.conditionId] : []
  const tokens = [...new Set(parseTokens(fields?.clobTokenIds))].slice(0, tokensMax)
  return [
    ...condition.map((value) => ['condition', value] as const),
    ...tokens.map((value) => ['token', value] as const),
  ]
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

async function putKeys(tx: StateWriter, id: string, old: Fields | undefined, next: Fields): Promise<void> {
  const keys = keysOf(next)
  if (keysOf(old).join() === keys.join()) return
  if (old) await tx.run('delete from market_keys where market_id = ?', id)
  const rows = keys.map(([name, value]) => [name, value, id])
  await tx.insertMany('market_keys', ['name', 'value', 'market_id'], rows)
}
