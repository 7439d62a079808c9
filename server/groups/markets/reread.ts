// Some records of a feed read once more and held against what is stored, for the doctor (decision 0130). A feed moves on
// while one looks: a record that says it changed later than the stored one is not compared.
import { stringifyJson } from '#api/json.ts'
import type { MarketFeed } from '#core/settings/markets.ts'
import { fetchJson } from '#io/fetch.ts'
import type { MarketsContext } from './context.ts'
import { decompose, Renames } from './decompose.ts'
import { pageUrl, readPage } from './feed.ts'
import { presentRecords } from './library.ts'
import { mergedWith } from './records.ts'
import { type MarketRecord, refine } from './refine.ts'
import { sourceMs } from './source-time.ts'
import { standingOf } from './standing.ts'
import { diffOf } from './versions.ts'

export interface RereadRecords {
  readonly same: number
  /** Changed at the source since it was read, or not told when. */
  readonly movedOn: number
  /** Another content under the same time of change. */
  readonly differing: readonly string[]
}

/** A cursor leads from page to page: so many are gone through at most. */
const pagesMax = 5
const valueCharsMax = 60

/** `draw(until)`: a whole number from 0 up to and without it. */
export async function rereadFeed(
  context: Pick<MarketsContext, 'state'>,
  feed: MarketFeed,
  count: number,
  draw: (until: number) => number,
): Promise<RereadRecords> {
  const page = [...(await somePage(context, feed, draw))]
  const renames = new Renames(feed.fields)
  const sum = { same: 0, movedOn: 0, differing: [] as string[] }
  for (let taken = 0; taken < count && page.length > 0; taken++) {
    const [value] = page.splice(draw(page.length), 1)
    const stated = decompose(value, feed.record, renames).filter(({ partial }) => partial !== true)
    for (const record of stated) await judge(context, feed, record, sum)
  }
  return sum
}

async function somePage({ state }: Pick<MarketsContext, 'state'>, feed: MarketFeed, draw: (until: number) => number) {
  const ask = async (cursor: string) => {
    const limits = { timeoutMs: feed.timeoutMs, bytesMax: feed.pageBytesMax, headers: { accept: 'application/json' } }
    return readPage(await fetchJson(pageUrl(feed, 'full', cursor, undefined), limits), feed, cursor)
  }
  if (feed.paging.kind === 'offset') {
    const known = await state.get<{ count: number }>(
      'select count(*) as count from market_sightings where source = ?',
      feed.id,
    )
    return (await ask(String(draw(Math.max(1, known?.count ?? 0))))).records
  }
  let page = await ask('')
  for (let pages = draw(pagesMax); pages > 0 && page.next !== undefined; pages--) page = await ask(page.next)
  return page.records
}

type Sum = { same: number; movedOn: number; differing: string[] }

async function judge(
  { state }: Pick<MarketsContext, 'state'>,
  feed: MarketFeed,
  record: MarketRecord,
  sum: Sum,
): Promise<void> {
  const { kind, id } = record
  const refined = refine(record)
  // It was rejected when it came; `tetrad markets rejects` lists it.
  if (refined.problems.length > 0) return
  const statedMs = sourceMs(refined.fields.updatedAt)
  const stored = await presentRecords(state).record(kind, id)
  if (!stored) {
    const readUntilMs = (await standingOf(state, feed.id))?.markMs ?? null
    if (readUntilMs === null || statedMs === undefined || statedMs > readUntilMs) sum.movedOn += 1
    else sum.differing.push(`${kind} ${id}: the feed ${feed.id} shows it, and it is not stored`)
    return
  }
  const [odd] = Object.entries(diffOf(kind, stored, mergedWith(stored, record, refined)))
  if (!odd) {
    sum.same += 1
  } else if (
    statedMs === undefined ||
    statedMs !== sourceMs(stored.fields.updatedAt) ||
    (await hasOther(state, feed, id))
  ) {
    sum.movedOn += 1
  } else {
    const [field, [was, is]] = odd
    sum.differing.push(`${kind} ${id}: ${field} is ${shown(was)}, the feed ${feed.id} shows ${shown(is)}`)
  }
}

/** Two feeds may say different things of one market; the one that spoke last is stored. */
const hasOther = async (state: MarketsContext['state'], feed: MarketFeed, id: string): Promise<boolean> =>
  (await state.get(
    'select 1 as one from market_sightings where market_id = ? and source <> ? limit 1',
    id,
    feed.id,
  )) !== undefined

const shown = (value: unknown): string => stringifyJson(value).slice(0, valueCharsMax)
