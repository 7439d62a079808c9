// `GET /series`, an endpoint beyond the specification: series with their events (behaviour/markets.md#lists).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { readWithCoverage } from '../../read/feed-coverage.ts'
import { findPage } from './find-page.ts'
import { keyFilters, orderOf } from './list-input.ts'
import { bytesMax, joinRecords, respondWith, tooLarge } from './respond.ts'
import { composeSeries } from './series-documents.ts'

export const series = createHandler(
  extensions['markets.series'],
  async ({ limit, offset, slug, closed, recurrence, exclude_events, ...input }, context: MarketsContext, request) => {
    const query = { kind: 'series', ...orderOf(input), slugs: slug, closed, keys: keyFilters({ recurrence }) } as const
    const { coverage, result: texts } = await readWithCoverage(context, async (reader) => {
      const { ids } = await findPage(reader, query, { offset, limit })
      return composeSeries(reader, ids, exclude_events)
    })
    if (!texts) throw tooLarge()
    const bytes = joinRecords(texts.map((text) => Buffer.from(text)))
    if (bytes.byteLength > bytesMax) throw tooLarge()
    return respondWith(context, request, coverage, bytes)
  },
)
