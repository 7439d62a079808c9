// `GET /public-search`, an endpoint beyond the specification: events and tags by words (behaviour/markets.md#search).
import { type Extensions, extensions } from '#api/contract/extensions.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { createHandler } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../../context.ts'
import { splitAndCutWords } from '../../write/search-rows.ts'
import { composePage } from '../lists/compose-page.ts'
import { selectMatching } from '../lists/find-page.ts'
import { orderOf } from '../lists/list-input.ts'
import { type ListReader, readLists } from '../lists/read-lists.ts'
import { joinRecords, respondWith } from '../lists/respond.ts'
import { readTags } from '../lists/tag-records.ts'
import { findBestMatches, searchWords } from './search.ts'

/** Markets whose events are found. */
const matchesMax = 500

export const publicSearch = createHandler(
  extensions['markets.publicSearch'],
  async ({ q, query = '', limit_per_type: limit, page, search_tags, ...filters }, context: MarketsContext, request) => {
    const words = searchWords(q ?? query)
    const { coverage, result } = await readLists(context, async (lists) => {
      const { reader } = lists
      const marketIds = await findBestMatches(lists, words, matchesMax)
      const eventIds = await selectEvents(lists, filters, await findLinked(reader, 'market', marketIds, 'event'))
      const shown = eventIds.slice((page - 1) * limit, page * limit)
      return {
        ids: shown,
        tags: search_tags ? await findTags(reader, words, { marketIds, eventIds, limit }) : [],
        total: eventIds.length,
      }
    })
    const { ids, tags, total } = result
    const pagination = JSON.stringify({ hasMore: page * limit < total, totalResults: total })
    const composed = await composePage(
      context,
      request,
      {
        ...{ kind: 'event', ids, before: '{"events":[' },
        after: `],"tags":${Buffer.from(joinRecords(tags)).toString()},"pagination":${pagination}}`,
      },
      'limit_per_type',
    )
    return respondWith(context, request, coverage, composed)
  },
)

type EventFilters = Pick<
  Parsed<Extensions['markets.publicSearch']>,
  'sort' | 'ascending' | 'events_status' | 'events_tag' | 'exclude_tag_id' | 'recurrence'
>

/** The found events that match the filters: in the order of `sort`, or else in the order in which they were found. */
async function selectEvents(
  lists: ListReader,
  { sort, ascending, events_status, events_tag, exclude_tag_id, recurrence }: EventFilters,
  found: readonly string[],
): Promise<readonly string[]> {
  const query = {
    kind: 'event',
    ...orderOf({ order: sort ?? 'id', ascending }),
    closed: events_status && events_status !== 'active',
    tagSlugs: events_tag,
    excludedTagIds: exclude_tag_id,
    seriesRecurrence: recurrence,
  } as const
  const matching = await selectMatching(lists, query, found)
  if (sort !== undefined) return matching
  const ids = new Set(matching)
  return found.filter((id) => ids.has(id))
}

/** The records of a kind to which these records link: each once, in the order of the records. */
async function findLinked(
  reader: StateReader,
  fromKind: 'market' | 'event',
  ids: readonly string[],
  toKind: 'event' | 'tag',
): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await reader.all<{ from_id: string; to_id: string }>(
    `select from_id, to_id from market_links
     where from_kind = ? and from_id in (${ids.map(() => '?').join()}) and to_kind = ? order by to_id`,
    ...[fromKind, ...ids, toKind],
  )
  const linked = Map.groupBy(rows, ({ from_id }) => from_id)
  return [...new Set(ids.flatMap((id) => (linked.get(id) ?? []).map(({ to_id }) => to_id)))]
}

interface Found {
  readonly marketIds: readonly string[]
  readonly eventIds: readonly string[]
  readonly limit: number
}

/** The tags of the found records that contain all words. */
async function findTags(
  reader: StateReader,
  words: readonly string[],
  { marketIds, eventIds, limit }: Found,
): Promise<Uint8Array[]> {
  if (words.length === 0) return []
  const ids = new Set([
    ...(await findLinked(reader, 'market', marketIds, 'tag')),
    ...(await findLinked(reader, 'event', eventIds.slice(0, matchesMax), 'tag')),
  ])
  const tags = await readTags(reader, [...ids])
  return tags.filter((tag) => hasAllWords(tag, words)).slice(0, limit)
}

function hasAllWords(tag: Uint8Array, words: readonly string[]): boolean {
  const { label = '', slug = '' } = JSON.parse(Buffer.from(tag).toString()) as { label?: string; slug?: string }
  const tagWords = splitAndCutWords(`${label} ${slug}`)
  return words.every((word) => tagWords.some((start) => start.startsWith(word)))
}
