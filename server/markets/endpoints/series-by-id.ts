// `GET /series/{id}`, an endpoint beyond the specification: one series as it is inside the events of 4.8
// (behaviour/markets.md#events-series-and-tags).
import { extensions } from '#api/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../context.ts'
import { marketByIdErrorFormat } from '../error-format.ts'
import { getFeedCoverage, unreadOrNotFound } from '../feeds/feed-coverage.ts'
import { respondWith } from '../lists/respond.ts'
import { writeRecord } from '../records/documents.ts'
import { currentRecords, loadRecordGraph } from '../records/record-graph.ts'

export const seriesById = createHandler(
  extensions['markets.seriesById'],
  marketByIdErrorFormat,
  async ({ id }, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    const graph = await context.state.snapshot((reader) => loadRecordGraph(currentRecords(reader), [['series', id]]))
    const text = writeRecord(graph, 'series', id, new Map())
    return text === undefined
      ? unreadOrNotFound(read, 'series')
      : respondWith(context, request, read, Buffer.from(text))
  },
)
