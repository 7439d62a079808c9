// Writes the slow values by which lists filter and order markets, events, series and tags (records/list-columns.ts). They are
// written in the transaction that writes the record, so that both agree.
import { hash } from 'node:crypto'
import type { StateWriter, Value } from '#storage/state.ts'
import { type ListKind, listKinds } from '../columns/list-view.ts'
import type { StoredRecord } from '../records/documents.ts'
import type { KindName } from '../records/kinds.ts'
import { hashedFrom, maySlowValuesDiffer, slowColumns, slowValues } from '../records/list-columns.ts'

type Fields = StoredRecord['fields']

export const isListed = (kind: KindName): kind is ListKind => (listKinds as readonly KindName[]).includes(kind)

/** Other ids get a number from their hash, above the numeric ones, so that they have an order in which ids rarely tie. */
function numberOf(id: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(id)) return Number(id)
  return hashedFrom + Number.parseInt(hash('sha256', id).slice(0, 12), 16)
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

const mayDiffer = <T>({ fields }: Computed<T>, old: Fields, next: Fields): boolean =>
  fields.some((name) => old[name] !== next[name])

/** A changed record. */
export interface ListedChange {
  readonly kind: KindName
  readonly id: string
  /** Of a new record; undefined if its kind is not listed. */
  readonly place: number | undefined
  /** Undefined: the record is new. */
  readonly old: Fields | undefined
  readonly next: Fields
}

/** Call this in the transaction that writes the records. Each record is given once. */
export async function putListRows(tx: StateWriter, changes: readonly ListedChange[]): Promise<void> {
  const listed = changes.filter(({ kind }) => isListed(kind))
  const added: Value[][] = []
  const updated: Value[][] = []
  for (const { kind, id, place, old, next } of listed) {
    if (!old) added.push([place ?? null, kind, id, numberOf(id), ...slowValues(kind, next)])
    else if (maySlowValuesDiffer(kind, old, next)) updated.push([kind, id, ...slowValues(kind, next)])
  }
  await tx.insertMany('market_list', ['place', 'kind', 'id', 'number', ...slowColumns], added)
  await tx.updateMany('market_list', ['kind', 'id'], slowColumns, updated)
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
