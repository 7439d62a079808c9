// The lists and streams of changes, as queries of the history (markets/threads/thread-query.ts). The JSON is written here,
// because field values may be any JSON, including integers of any size.
import type { Extensions } from '#api/contract/extensions.ts'
import { stringifyJson } from '#api/contract/json.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { findMarketId } from '../../read/slug-precedence.ts'
import type { VersionFilter } from '../../read/versions-after.ts'
import type { ThreadQuery } from '../../threads/thread-query.ts'
import { findMarketIds, listChangesAfter, listMarketChanges, resolveCursor } from './changes.ts'

const toJsonBytes = (value: unknown): Uint8Array => new TextEncoder().encode(stringifyJson(value))

/** A page of the changes of all markets. */
export const changesPageQuery: ThreadQuery<Parsed<Extensions['markets.changes']>, Uint8Array> = {
  name: 'changesPage',
  async run({ ingest }, { slugs, kinds, limit, ...input }) {
    const marketIds = slugs && (await findMarketIds(ingest, slugs))
    const after = await resolveCursor(ingest, input.after)
    const { changes, next, more } = await listChangesAfter(ingest, after, limit, { kinds, marketIds })
    return toJsonBytes({ changes, next: String(next), more })
  },
}

/** A page of the changes of one market. Undefined if no market has or had the slug. */
export const changesOfMarketQuery: ThreadQuery<Parsed<Extensions['markets.changesBySlug']>, Uint8Array | undefined> = {
  name: 'changesOfMarket',
  async run({ ingest }, { slug, limit, fields, related, ...input }) {
    const id = await findMarketId(ingest, slug)
    if (id === undefined) return undefined
    const cursor = input.cursor === undefined ? undefined : Number(input.cursor)
    const { changes, next } = await listMarketChanges(ingest, id, { cursor, limit, fields, related })
    return toJsonBytes({ changes, next: next === undefined ? null : String(next) })
  },
}

export interface ChangesBatch {
  /** Server-sent events. */
  readonly text: string
  readonly next: number
  readonly more: boolean
}

/** The next changes of a stream. */
export const changesBatchQuery: ThreadQuery<
  { readonly after: number; readonly limit: number; readonly filter: VersionFilter },
  ChangesBatch
> = {
  name: 'changesBatch',
  async run({ ingest }, { after, limit, filter }) {
    const { changes, next, more } = await listChangesAfter(ingest, after, limit, filter)
    const events = changes.map((change) => `event: change\nid: ${change.cursor}\ndata: ${stringifyJson(change)}\n\n`)
    return { text: events.join(''), next, more }
  },
}
