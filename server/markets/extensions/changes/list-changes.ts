// Extensions: list the changes of one market, or of all markets.
import { extensions } from '#api/contract/extensions.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { getFeedCoverage, notFoundOrNotCovered } from '../../read/feed-coverage.ts'
import { type KindName, kindNames, kinds, ownFields } from '../../records/kinds.ts'
import { readHistory } from '../../threads/thread-query.ts'
import { changesOfMarketQuery, changesPageQuery } from './change-queries.ts'

/** Length limit of an invalid name in the error. */
const valueCharsMax = 100

export const changesBySlug = createHandler(
  extensions['markets.changesBySlug'],
  async (input, context: MarketsContext, { caller }) => {
    validateFields(input.fields, input.related)
    const feeds = await getFeedCoverage(context)
    const bytes = await readHistory(context, caller, changesOfMarketQuery, input)
    return bytes ? { is: 'bytes', bytes } : notFoundOrNotCovered(context.ingest, feeds, input.slug)
  },
)

export const changes = createHandler(
  extensions['markets.changes'],
  async (input, context: MarketsContext, { caller }) => ({
    is: 'bytes',
    bytes: await readHistory(context, caller, changesPageQuery, input),
  }),
)

/** Refuse unknown field names, because they would silently match no change. */
function validateFields(fields: readonly string[] = [], related: boolean): void {
  const allowed = related ? shownFields : marketFields
  const at = fields.findIndex((name) => !allowed.has(name))
  if (at < 0) return
  const scope = related ? 'or of a related record' : '(with related=true also of related records)'
  const message = `must be a field of the market ${scope}, such as outcomePrices, bestBid or closed`
  throw invalid(['query', 'fields', String(at)], message, fields[at]?.slice(0, valueCharsMax))
}

const fieldsOfKind = (kind: KindName): string[] => [...ownFields[kind], ...Object.keys(kinds[kind].links)]
const marketFields: ReadonlySet<string> = new Set(fieldsOfKind('market'))
const shownFields: ReadonlySet<string> = new Set(kindNames.flatMap(fieldsOfKind))
