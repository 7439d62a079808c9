// Extensions: list the changes of one market, or of all markets. The JSON is written here, because field values may be
// any JSON, including integers of any size.
import { extensions } from '#api/contract/extensions.ts'
import { stringifyJson } from '#api/contract/json.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { getFeedCoverage, notFoundOrNotCovered } from '../../read/feed-coverage.ts'
import { findMarketId } from '../../read/slug-precedence.ts'
import { type KindName, kindNames, kinds, ownFields } from '../../records/kinds.ts'
import { findMarketIds, listChangesAfter, listMarketChanges, resolveCursor } from './changes.ts'

/** Length limit of an invalid name in the error. */
const valueCharsMax = 100

const toJsonBytes = (value: unknown): Uint8Array => Buffer.from(stringifyJson(value))

export const changesBySlug = createHandler(
  extensions['markets.changesBySlug'],
  async (input, context: MarketsContext) => {
    const { ingest } = context
    validateFields(input.fields, input.related)
    const feeds = await getFeedCoverage(context)
    const id = await findMarketId(ingest, input.slug)
    if (id === undefined) return notFoundOrNotCovered(ingest, feeds, input.slug)
    const { limit, fields, related } = input
    const cursor = input.cursor === undefined ? undefined : Number(input.cursor)
    const { changes, next } = await listMarketChanges(ingest, id, { cursor, limit, fields, related })
    return { is: 'bytes', bytes: toJsonBytes({ changes, next: next === undefined ? null : String(next) }) }
  },
)

export const changes = createHandler(extensions['markets.changes'], async (input, { ingest }: MarketsContext) => {
  const marketIds = input.slugs && (await findMarketIds(ingest, input.slugs))
  const after = await resolveCursor(ingest, input.after)
  const page = await listChangesAfter(ingest, after, input.limit, { kinds: input.kinds, marketIds })
  return { is: 'bytes', bytes: toJsonBytes({ changes: page.changes, next: String(page.next), more: page.more }) }
})

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
