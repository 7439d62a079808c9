// Reads some records of a feed again and compares them with the stored ones, for the doctor (behaviour/operations.md#doctor).
// Records that changed at the source since they were stored are not compared.
import { stringifyJson } from '#api/contract/json.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { fetchJson } from '#sources/http-client.ts'
import type { MarketsContext } from '../context.ts'
import { currentRecords } from '../read/current-records.ts'
import { readFeedState } from '../read/feed-state.ts'
import { decompose, Renames } from '../records/decompose.ts'
import { diffRecords } from '../records/diff-records.ts'
import { mergeRecord } from '../records/merge-record.ts'
import { type MarketRecord, normalizeRecord } from '../records/normalize.ts'
import { sourceMs } from '../records/source-time.ts'
import { pageUrl, parseFeedPage } from './feed-page.ts'
import { readPresence } from './feed-presence.ts'

interface FeedVerification {
  same: number
  /** Changed at the source since it was read, or without a time of change. */
  changed: number
  /** Different content with the same time of change. */
  readonly differing: string[]
}

/** With cursors, a random page is reached by following up to this many pages. */
const pagesMax = 5
const valueCharsMax = 60

/** `draw(until)` returns a random integer from 0 to `until`, exclusive. */
export async function verifyFeed(
  context: Pick<MarketsContext, 'ingest'>,
  feed: MarketFeed,
  count: number,
  draw: (until: number) => number,
): Promise<FeedVerification> {
  const page = [...(await readRandomPage(context, feed, draw))]
  const renames = new Renames(feed.fields)
  const tally: FeedVerification = { same: 0, changed: 0, differing: [] }
  for (let taken = 0; taken < count && page.length > 0; taken++) {
    const [value] = page.splice(draw(page.length), 1)
    const listed = decompose(value, feed.record, renames).filter(({ partial }) => partial !== true)
    for (const record of listed) await compareRecord(context, feed, record, tally)
  }
  return tally
}

async function readRandomPage(
  { ingest }: Pick<MarketsContext, 'ingest'>,
  feed: MarketFeed,
  draw: (until: number) => number,
) {
  const fetchPage = async (cursor: string) => {
    const limits = { timeoutMs: feed.timeoutMs, bytesMax: feed.pageBytesMax, headers: { accept: 'application/json' } }
    return parseFeedPage(await fetchJson(pageUrl(feed, 'full', cursor, undefined), limits), feed, cursor)
  }
  if (feed.paging.kind === 'offset') {
    const [presence] = await readPresence(ingest, feed.id)
    return (await fetchPage(String(draw(Math.max(1, presence?.markets.size ?? 0))))).records
  }
  let page = await fetchPage('')
  for (let pages = draw(pagesMax); pages > 0 && page.next !== undefined; pages--) page = await fetchPage(page.next)
  return page.records
}

async function compareRecord(
  { ingest }: Pick<MarketsContext, 'ingest'>,
  feed: MarketFeed,
  record: MarketRecord,
  tally: FeedVerification,
): Promise<void> {
  const { kind, id } = record
  const normalized = normalizeRecord(record)
  // It was rejected; `tetrad markets rejects` lists it.
  if (normalized.problems.length > 0) return
  const listedMs = sourceMs(normalized.fields.updatedAt)
  const stored = await currentRecords(ingest).record(kind, id)
  if (!stored) {
    const readUntilMs = (await readFeedState(ingest, feed.id))?.readUntilMs ?? null
    if (readUntilMs === null || listedMs === undefined || listedMs > readUntilMs) tally.changed += 1
    else tally.differing.push(`${kind} ${id}: listed by feed ${feed.id}, but not stored`)
    return
  }
  const [difference] = Object.entries(diffRecords(kind, stored, mergeRecord(stored, record, normalized)))
  if (!difference) {
    tally.same += 1
  } else if (
    listedMs === undefined ||
    listedMs !== sourceMs(stored.fields.updatedAt) ||
    (await isInOtherFeed(ingest, feed, id))
  ) {
    tally.changed += 1
  } else {
    const [field, [was, is]] = difference
    tally.differing.push(`${kind} ${id}: ${field} is ${shortJson(was)}, but ${shortJson(is)} in feed ${feed.id}`)
  }
}

/** Two feeds may have different versions of a market; the last one read is stored. */
async function isInOtherFeed(state: MarketsContext['ingest'], feed: MarketFeed, id: string): Promise<boolean> {
  const row = await state.get<{ number: number }>(
    "select number from market_records where kind = 'market' and id = ?",
    id,
  )
  const others = (await readPresence(state)).filter(({ source }) => source !== feed.id)
  return row !== undefined && others.some(({ markets }) => markets.has(row.number))
}

const shortJson = (value: unknown): string => stringifyJson(value).slice(0, valueCharsMax)
