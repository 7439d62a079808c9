// `GET /tags`, an endpoint beyond the specification: the tags of markets, events and series (behaviour/markets.md#lists).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../context.ts'
import { getFeedCoverage } from '../feeds/feed-coverage.ts'
import { orderOf } from '../lists/list-input.ts'
import { findPage } from '../lists/list-query.ts'
import { joinRecords, respondWith } from '../lists/respond.ts'
import { readTags } from '../lists/tag-records.ts'

export const tags = createHandler(
  extensions['markets.tags'],
  async ({ limit, offset, ...input }, context: MarketsContext, request) => {
    const { recent } = context.ingest
    const read = await getFeedCoverage(context)
    const { ids } = await findPage(recent, { kind: 'tag', ...orderOf(input) }, { offset, limit })
    return respondWith(context, request, read, joinRecords(await readTags(recent, ids)))
  },
)
