// `GET /tags`, an endpoint beyond the specification: the tags of markets, events and series (behaviour/markets.md#lists).
import { extensions } from '#api/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../context.ts'
import { marketsErrorFormat } from '../error-format.ts'
import { getFeedCoverage } from '../feeds/feed-coverage.ts'
import { orderOf } from '../lists/list-input.ts'
import { findPage } from '../lists/list-query.ts'
import { joinRecords, respondWith } from '../lists/respond.ts'

export const tags = createHandler(
  extensions['markets.tags'],
  marketsErrorFormat,
  async ({ limit, offset, ...input }, context: MarketsContext, request) => {
    const { recent } = context.state
    const read = await getFeedCoverage(context)
    const { ids } = await findPage(recent, { kind: 'tag', ...orderOf(input) }, { offset, limit })
    const rows = await recent.all<{ id: string; fields: string }>(
      `select id, fields from market_records where kind = 'tag' and id in (${ids.map(() => '?').join() || 'null'})`,
      ...ids,
    )
    // The stored fields are the tag as it is served, because tags have no links.
    const records = new Map(rows.map(({ id, fields }) => [id, Buffer.from(fields)]))
    const found = ids.map((id) => records.get(id)).filter((record) => record !== undefined)
    return respondWith(context, request, read, joinRecords(found))
  },
)
