// `GET /series`, an endpoint beyond the specification: series as they are inside the events of 4.8
// (behaviour/markets.md#lists).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../context.ts'
import { getFeedCoverage } from '../feeds/feed-coverage.ts'
import { orderOf } from '../lists/list-input.ts'
import { findPage } from '../lists/list-query.ts'
import { bytesMax, joinRecords, respondWith, tooLarge } from '../lists/respond.ts'
import { writeRecord } from '../records/documents.ts'
import { currentRecords, loadRecordGraph } from '../records/record-graph.ts'

export const series = createHandler(
  extensions['markets.series'],
  async ({ limit, offset, slug, closed, ...input }, context: MarketsContext, request) => {
    const read = await getFeedCoverage(context)
    const query = { kind: 'series', ...orderOf(input), slugs: slug, closed } as const
    const { ids } = await findPage(context.ingest.recent, query, { offset, limit })
    const names = ids.map((id) => ['series', id] as const)
    const graph = await context.ingest.snapshot((reader) => loadRecordGraph(currentRecords(reader), names))
    const written = new Map()
    const texts = ids.map((id) => writeRecord(graph, 'series', id, written)).filter((text) => text !== undefined)
    const bytes = joinRecords(texts.map((text) => Buffer.from(text)))
    if (bytes.byteLength > bytesMax) throw tooLarge()
    return respondWith(context, request, read, bytes)
  },
)
