// One page of a market feed: builds its URL and parses its content. Pure; read-feed.ts goes from page to page.
import { stringifyJson } from '#api/contract/json.ts'
import { valueAtPath } from '#core/value-at-path.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import type { Pass } from '../read/feed-state.ts'
import { sourceMs } from '../records/source-time.ts'

export interface FeedPage {
  readonly records: readonly unknown[]
  /** Cursor of the next page; undefined: this is the last page. */
  readonly next: string | undefined
  /** Newest `updatedAt` of the page, in the source's time. */
  readonly newestMs: number | undefined
}

/** Whether the source can list recent changes only. */
export const hasRecent = ({ recent }: MarketFeed): boolean => recent.since !== '' || recent.newestFirst

/** `sinceMs`: start of a recent pass. */
export function pageUrl(feed: MarketFeed, pass: Pass, cursor: string, sinceMs: number | undefined): string {
  const { paging, recent } = feed
  const url = new URL(feed.url)
  const set = (name: string, value: string) => {
    if (name !== '') url.searchParams.set(name, value)
  }
  for (const [name, value] of Object.entries(feed.query)) set(name, value)
  if (pass === 'recent') for (const [name, value] of Object.entries(recent.query)) set(name, value)
  if (pass === 'recent' && sinceMs !== undefined) set(recent.since, new Date(sinceMs).toISOString())
  if (paging.kind !== 'none') set(paging.limit, String(paging.size))
  if (paging.kind === 'offset') set(paging.offset, cursor === '' ? '0' : cursor)
  if (paging.kind === 'page') set(paging.page, cursor === '' ? String(paging.firstPage) : cursor)
  if (paging.kind === 'keyset' && cursor !== '') set(paging.cursor, cursor)
  return url.href
}

/** Throws if there is no list. */
export function parseFeedPage(document: unknown, feed: MarketFeed, cursor: string): FeedPage {
  const records = valueAtPath(document, feed.list)
  if (!Array.isArray(records)) {
    throw new Error(feed.list === '' ? 'the page is not a list' : `there is no list at "${feed.list}" in the page`)
  }
  return {
    records,
    next: findNext(feed, document, records, cursor),
    newestMs: newestOf(records.map((record) => sourceMs(sourceField(record, feed, 'updatedAt')))),
  }
}

function findNext(feed: MarketFeed, document: unknown, records: readonly unknown[], cursor: string) {
  switch (feed.paging.kind) {
    case 'offset':
      return nextOffset(feed, records, cursor)
    case 'page':
      return records.length === 0 ? undefined : String(Number(cursor || feed.paging.firstPage) + 1)
    case 'keyset':
      return nextCursor(feed, document, records, cursor)
    case 'none':
      return undefined
  }
}

/** In a loop: a page may have more records than a function has arguments. */
const newestOf = (times: readonly (number | undefined)[]): number | undefined =>
  times.reduce((newest, ms) => (newest === undefined || (ms !== undefined && ms > newest) ? ms : newest), undefined)

/** How many records of a page the next one repeats. */
export const overlapOf = ({ paging: { kind, overlap } }: MarketFeed): number => (kind === 'offset' ? overlap : 0)

/** The records that the next page repeats, as JSON. */
export const overlapKeys = (feed: MarketFeed, { records }: FeedPage): ReadonlySet<string> =>
  new Set(records.slice(Math.max(0, records.length - overlapOf(feed))).map((record) => stringifyJson(record)))

/** Whether the page begins with a record that the previous page ended with. Records may change, but keep their ids. */
export function continuesPage(feed: MarketFeed, { records }: FeedPage, previous: FeedPage | undefined): boolean {
  const overlap = overlapOf(feed)
  if (overlap === 0 || !previous) return true
  const ends = new Set(previous.records.slice(-overlap).map((record) => recordKey(record, feed)))
  return records.slice(0, overlap).some((record) => ends.has(recordKey(record, feed)))
}

/** Whether the previous page has all records of this one. */
export function isPartOf(feed: MarketFeed, { records }: FeedPage, previous: FeedPage | undefined): boolean {
  const previousKeys = new Set(previous?.records.map((record) => recordKey(record, feed)))
  return records.every((record) => previousKeys.has(recordKey(record, feed)))
}

/** What identifies a record: its id under the name that the source uses; without one, the whole record. */
export function recordKey(record: unknown, feed: MarketFeed): string {
  const id = sourceField(record, feed, 'id')
  const hasId = typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint'
  return hasId ? `id ${id}` : `json ${stringifyJson(record)}`
}

/** Two answers to the same request: all their records. They end the pass only if both do. */
export function mergePages(one: FeedPage, other: FeedPage): FeedPage {
  const texts = new Set(one.records.map((record) => stringifyJson(record)))
  return {
    records: [...one.records, ...other.records.filter((record) => !texts.has(stringifyJson(record)))],
    next: other.next ?? one.next,
    newestMs: newestOf([one.newestMs, other.newestMs]),
  }
}

/** The records of a page with their positions, without those that the previous page ended with. */
export const changedRecordsIn = (feed: MarketFeed, { records }: FeedPage, before: ReadonlySet<string>) =>
  [...records.entries()].filter(([at, record]) => at >= overlapOf(feed) || !before.has(stringifyJson(record)))

/** A short page is no sign of the end: sources may return fewer than `size`. */
function nextOffset(feed: MarketFeed, records: readonly unknown[], cursor: string) {
  if (records.length === 0) return undefined
  return String(Number(cursor) + Math.max(1, records.length - overlapOf(feed)))
}

function nextCursor({ paging: { next } }: MarketFeed, document: unknown, records: readonly unknown[], cursor: string) {
  if (records.length === 0) return undefined
  const value = next.startsWith('last.')
    ? valueAtPath(records.at(-1), next.slice('last.'.length))
    : valueAtPath(document, next)
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  // A cursor that leads to itself would loop for ever.
  return text === '' || text === cursor ? undefined : text
}

/** The value of a field, under our name or the one that the source uses. */
function sourceField(record: unknown, { fields, record: kind }: MarketFeed, name: string): unknown {
  if (typeof record !== 'object' || record === null) return undefined
  const renamed = Object.entries({ ...fields.all, ...fields[kind] }).find(([, ours]) => ours === name)?.[0]
  const members = record as Record<string, unknown>
  return members[name] ?? (renamed === undefined ? undefined : members[renamed])
}
