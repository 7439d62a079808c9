// One page of a market feed: its address, and what is in it. Pure; the going from page to page is ingest.ts's.
import { stringifyJson } from '#api/json.ts'
import { valueAtPath } from '#core/value-at-path.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { sourceMs } from './source-time.ts'

export type Pass = 'full' | 'recent'

export interface FeedPage {
  readonly records: readonly unknown[]
  /** Cursor of the following page; undefined: this was the last. */
  readonly next: string | undefined
  /** Newest and oldest change named in it, by the source's own time. */
  readonly newestMs: number | undefined
  readonly oldestMs: number | undefined
}

/** Whether the source can be asked for what changed lately. */
export const hasRecent = ({ recent }: MarketFeed): boolean => recent.since !== '' || recent.newestFirst

/** `sinceMs`: for a recent pass, the time from which on changes are wanted. */
export function pageUrl(feed: MarketFeed, pass: Pass, cursor: string, sinceMs: number | undefined): string {
  const { paging, recent } = feed
  const url = new URL(feed.url)
  const set = (name: string, value: string) => {
    if (name !== '') url.searchParams.set(name, value)
  }
  for (const [name, value] of Object.entries(feed.query)) set(name, value)
  if (pass === 'recent') for (const [name, value] of Object.entries(recent.query)) set(name, value)
  if (pass === 'recent' && sinceMs !== undefined) set(recent.since, new Date(sinceMs).toISOString())
  set(paging.limit, String(paging.size))
  if (paging.kind === 'offset') set(paging.offset, cursor === '' ? '0' : cursor)
  else if (cursor !== '') set(paging.cursor, cursor)
  return url.href
}

/** Throws where there is no list. */
export function parseFeedPage(document: unknown, feed: MarketFeed, cursor: string): FeedPage {
  const records = valueAtPath(document, feed.list)
  if (!Array.isArray(records)) {
    throw new Error(feed.list === '' ? 'the page is not a list' : `there is no list at "${feed.list}" in the page`)
  }
  const times = records.map((record) => updatedMsOf(record, feed)).filter((ms) => ms !== undefined)
  return {
    records,
    next:
      feed.paging.kind === 'offset' ? nextOffset(feed, records, cursor) : nextCursor(feed, document, records, cursor),
    newestMs: times.length > 0 ? Math.max(...times) : undefined,
    oldestMs: times.length > 0 ? Math.min(...times) : undefined,
  }
}

/** How the records read that the next page is asked to begin with again. */
export const overlapKeys = ({ paging: { overlap } }: MarketFeed, { records }: FeedPage): ReadonlySet<string> =>
  new Set(records.slice(Math.max(0, records.length - overlap)).map((record) => stringifyJson(record)))

/** The records of a page with their places in it, without nulls and those that the page before ended with. */
export const newRecordsIn = ({ paging: { overlap } }: MarketFeed, { records }: FeedPage, before: ReadonlySet<string>) =>
  [...records.entries()].filter(
    ([at, record]) => record !== null && (at >= overlap || !before.has(stringifyJson(record))),
  )

/** The last page is the one that brings nothing beyond what the one before it had: sources may give fewer than asked for. */
function nextOffset({ paging: { overlap } }: MarketFeed, records: readonly unknown[], cursor: string) {
  const offset = cursor === '' ? 0 : Number(cursor)
  const again = offset === 0 ? 0 : overlap
  if (records.length <= again) return undefined
  return String(offset + Math.max(1, records.length - overlap))
}

function nextCursor({ paging: { next } }: MarketFeed, document: unknown, records: readonly unknown[], cursor: string) {
  if (records.length === 0) return undefined
  const found = next.startsWith('last.')
    ? valueAtPath(records.at(-1), next.slice('last.'.length))
    : valueAtPath(document, next)
  const text = typeof found === 'string' || typeof found === 'number' ? String(found) : ''
  // A cursor that leads to itself would never end.
  return text === '' || text === cursor ? undefined : text
}

/** `updatedAt` under the source's own name for it. */
function updatedMsOf(record: unknown, { fields, record: kind }: MarketFeed): number | undefined {
  if (typeof record !== 'object' || record === null) return undefined
  const renamed = Object.entries({ ...fields.all, ...fields[kind] }).find(([, ours]) => ours === 'updatedAt')?.[0]
  const members = record as Record<string, unknown>
  return sourceMs(members.updatedAt ?? (renamed === undefined ? undefined : members[renamed]))
}
