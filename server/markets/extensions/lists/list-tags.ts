// `GET /tags`, an endpoint beyond the specification: the tags of markets, events and series (behaviour/markets.md#lists).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { findPage } from './find-page.ts'
import { keyFilters, orderOf } from './list-input.ts'
import { readLists } from './read-lists.ts'
import { joinRecords, respondWith, withEtag } from './respond.ts'
import { readTags } from './tag-records.ts'

export const tags = createHandler(
  extensions['markets.tags'],
  async ({ limit, offset, is_carousel, ...input }, context: MarketsContext, request) => {
    const { coverage, result: records } = await readLists(context, async (lists) => {
      const query = { kind: 'tag', ...orderOf(input), keys: keyFilters({ carousel: is_carousel }) } as const
      const { ids } = await findPage(lists, query, { offset, limit })
      return readTags(lists.reader, ids)
    })
    return respondWith(context, request, coverage, withEtag(joinRecords(records)))
  },
)
