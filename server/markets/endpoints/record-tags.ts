// `GET /markets/{id}/tags` and `GET /events/{id}/tags`, endpoints beyond the specification: the own tags of a record
// (behaviour/markets.md#events-series-and-tags).
import { extensions } from '#api/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { State } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { marketByIdErrorFormat } from '../error-format.ts'
import { getFeedCoverage, notFoundOrNotCovered, unreadOrNotFound } from '../feeds/feed-coverage.ts'
import { joinRecords, respondWith } from '../lists/respond.ts'
import { readTags } from '../lists/tag-records.ts'
import { currentRecords } from '../records/record-graph.ts'

export const marketTags = createHandler(
  extensions['markets.marketTags'],
  marketByIdErrorFormat,
  async ({ id }, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    const tags = await readOwnTags(context.state, 'market', id)
    return tags ? respondWith(context, request, read, tags) : notFoundOrNotCovered(context.state, read, { id })
  },
)

export const eventTags = createHandler(
  extensions['markets.eventTags'],
  marketByIdErrorFormat,
  async ({ id }, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    const tags = await readOwnTags(context.state, 'event', id)
    return tags ? respondWith(context, request, read, tags) : unreadOrNotFound(read, 'event')
  },
)

/** Undefined if the record is not stored. */
const readOwnTags = (state: State, kind: 'market' | 'event', id: string): Promise<Uint8Array | undefined> =>
  state.snapshot(async (reader) => {
    const record = await currentRecords(reader).record(kind, id)
    return record && joinRecords(await readTags(reader, record.links.tags ?? []))
  })
