// Recognizes the usual forms of documents with rates, so that `tetrad init` can write their settings: a list of pairs, an
// object that is keyed by currency, and a single price. Pure.
import { parseDay, parseTimestamp } from '#core/parse-timestamp.ts'
import { type DocumentPath, keyPath } from '#runtime/settings/fx-documents.ts'

export interface FoundDocument {
  /** Settings that differ from the defaults. */
  readonly document: Readonly<Record<string, DocumentPath>>
  /** If the document does not name it. */
  readonly pair?: string
  /** For daily rates: until the rates after a weekend. */
  readonly staleMs?: number
}

type Members = Readonly<Record<string, unknown>>

const dailyStaleMs = 4 * 86_400_000
/** In the order in which they are preferred. */
const timeNames = ['time', 'timestamp', 'updated_at', 'updatedAt', 'createdAt', 'time_last_update_unix', 'date']
const baseNames = ['base', 'from', 'base_code', 'base_currency', 'source']
const quoteNames = ['quote', 'to', 'target', 'quote_currency', 'symbol']
const priceNames = ['rate', 'price', 'mid', 'value', 'last']
const currency = /^[A-Z]{3}$/

/** Undefined: the form is not known. `url` may contain the pair of a single price. */
export function findDocumentPaths(value: unknown, url: string): FoundDocument | undefined {
  for (const [list, inner] of [['', value], ...Object.entries(membersOf(value) ?? {})] as [string, unknown][]) {
    const found = findList(list, inner) ?? findKeyed(list, inner, membersOf(value) ?? {})
    if (found) return found
  }
  return findSingle(membersOf(value), url)
}

function findList(list: string, value: unknown): FoundDocument | undefined {
  const [entry] = Array.isArray(value) ? value.map(membersOf) : []
  const base = nameOf(entry, baseNames, isCurrency)
  const quote = nameOf(entry, quoteNames, isCurrency)
  const prices = findPrices(entry)
  if (base === undefined || quote === undefined || !prices) return undefined
  return withTime({ list, base, quote, ...prices }, entry, '')
}

/** `{ base: 'USD', timestamp: …, rates: { EUR: 0.92 } }` */
function findKeyed(list: string, value: unknown, top: Members): FoundDocument | undefined {
  const entries = Object.entries(membersOf(value) ?? {})
  const [first] = entries
  if (list === '' || !first || !entries.every(([name]) => currency.test(name))) return undefined
  const base = nameOf(top, baseNames, isCurrency)
  const prices = isPrice(first[1]) ? { rate: '' } : findPrices(membersOf(first[1]))
  if (base === undefined || !prices) return undefined
  return withTime({ list, base: `$.${base}`, quote: keyPath, ...prices }, top, '$.')
}

function findSingle(members: Members | undefined, url: string): FoundDocument | undefined {
  const prices = findPrices(members)
  if (!members || !prices) return undefined
  const base = nameOf(members, baseNames, isCurrency)
  const quote = nameOf(members, quoteNames, isCurrency)
  const found = withTime({ list: '', ...(base && quote ? { base, quote } : {}), ...prices }, members, '')
  const [, from, to] = (base && quote ? undefined : /\b([A-Z]{3})[-_/]?([A-Z]{3})\b/.exec(url)) ?? []
  return from && to ? { ...found, pair: `${from}/${to}` } : found
}

function findPrices(entry: Members | undefined): Readonly<Record<string, string>> | undefined {
  if (isPrice(entry?.bid) && isPrice(entry?.ask)) return { bid: 'bid', ask: 'ask' }
  const rate = nameOf(entry, priceNames, isPrice)
  return rate === undefined ? undefined : { rate }
}

function withTime(paths: FoundDocument['document'], members: Members | undefined, prefix: string): FoundDocument {
  const name = nameOf(members, timeNames, (value) => timesOf(value) !== undefined)
  const times = timesOf(members?.[name ?? '']) ?? 'received'
  const document = {
    ...paths,
    ...(name !== undefined && { time: `${prefix}${name}` }),
    ...(times !== 'time' && { times }),
  }
  return { document, ...(times === 'date' && { staleMs: dailyStaleMs }) }
}

function timesOf(value: unknown): 'time' | 'utc' | 'date' | undefined {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : ''
  if (/^\d{9,10}$|^\d{13}$/.test(text) || parseTimestamp(text, { zone: 'needed' }) !== undefined) return 'time'
  if (parseTimestamp(text, { zone: 'utc' }) !== undefined) return 'utc'
  return parseDay(text) === undefined ? undefined : 'date'
}

const nameOf = (
  members: Members | undefined,
  names: readonly string[],
  isWanted: (value: unknown) => boolean,
): string | undefined => members && names.find((name) => Object.hasOwn(members, name) && isWanted(members[name]))

const isCurrency = (value: unknown): boolean => typeof value === 'string' && currency.test(value)

const isPrice = (value: unknown): boolean =>
  (typeof value === 'number' && value > 0) || (typeof value === 'string' && /^\d+(\.\d+)?$/.test(value))

const membersOf = (value: unknown): Members | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined
