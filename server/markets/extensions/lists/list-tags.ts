// `GET /tags`, an endpoint beyond the specification: the tags of markets, events and series (behaviour/markets.md#lists).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { readWithCoverage } from '../../read/feed-coverage.ts'
import { findPage } from './find-page.ts'
import { keyFilters, orderOf } from './list-input.ts'
import { joinRecords, respondWith, withEtag } from './respond.ts'
import { readTags } from './tag-records.ts'

export const tags = createHandler(
  extensions['markets.tags'],
  async ({ limit, offset, is_carousel, ...input }, context: MarketsContext, request) => {
    const { coverage, result: records } = await readWithCoverage(context, async (reader) => {
      const query = { kind: 'tag', ...orderOf(input), keys: keyFilters({ carousel: is_carousel }) } as const
      const { ids } = await findPage(reader, query, { offset, limit })
      return readTags(reader, ids)
    })
    return respondWith(context, request, coverage, withEtag(joinRecords(records)))
  },
)
