// `GET /series`, an endpoint beyond the specification: series as they are inside the events of 4.8
// (behaviour/markets.md#lists).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { currentRecords } from '../../read/current-records.ts'
import { readWithCoverage } from '../../read/feed-coverage.ts'
import { writeRecord } from '../../records/documents.ts'
import { loadRecordGraph } from '../../records/record-graph.ts'
import { orderOf } from './list-input.ts'
import { findPage } from './list-query.ts'
import { bytesMax, joinRecords, respondWith, tooLarge } from './respond.ts'

export const series = createHandler(
  extensions['markets.series'],
  async ({ limit, offset, slug, closed, ...input }, context: MarketsContext, request) => {
    const query = { kind: 'series', ...orderOf(input), slugs: slug, closed } as const
    const { coverage, result: texts } = await readWithCoverage(context, async (reader) => {
      const { ids } = await findPage(reader, query, { offset, limit })
      const names = ids.map((id) => ['series', id] as const)
      const graph = await loadRecordGraph(currentRecords(reader), names)
      const written = new Map()
      return ids.map((id) => writeRecord(graph, 'series', id, written)).filter((text) => text !== undefined)
    })
    const bytes = joinRecords(texts.map((text) => Buffer.from(text)))
    if (bytes.byteLength > bytesMax) throw tooLarge()
    return respondWith(context, request, coverage, bytes)
  },
)
