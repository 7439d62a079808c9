// `GET /series`, an endpoint beyond the specification: series with their events (behaviour/markets.md#lists).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { composePage } from './compose-page.ts'
import { findPage } from './find-page.ts'
import { keyFilters, orderOf } from './list-input.ts'
import { readLists } from './read-lists.ts'
import { respondWith } from './respond.ts'

export const series = createHandler(
  extensions['markets.series'],
  async ({ limit, offset, slug, closed, recurrence, exclude_events, ...input }, context: MarketsContext, request) => {
    const query = { kind: 'series', ...orderOf(input), slugs: slug, closed, keys: keyFilters({ recurrence }) } as const
    const { coverage, result: page } = await readLists(context, (lists) => findPage(lists, query, { offset, limit }))
    const composed = await composePage(context, request, { kind: 'series', ids: page.ids, isShort: exclude_events })
    return respondWith(context, request, coverage, composed)
  },
)
