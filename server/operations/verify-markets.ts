// Verifies market documents against their records, and records against their feeds.

import { errorMessage } from '#core/error-message.ts'
import { verifyFeed } from '#markets/feeds/verify-feed.ts'
import { writeMarket } from '#markets/records/documents.ts'
import { currentRecords, loadRecordGraph, marketNames } from '#markets/records/record-graph.ts'
import {
  compareEach,
  nothingToVerify,
  optionalNotes,
  randomBelow,
  sampleOf,
  type Verification,
} from './verification.ts'

export const marketDocumentVerification: Verification = {
  name: 'market documents against their records',
  todo: 'the document was changed outside the server, or a record was written without it; read the whole feed again (tetrad ingest markets --full)',
  async run(context, count) {
    const from = (limit: number, offset: number) =>
      context.state.all<{ id: string; etag: string; body: Uint8Array }>(
        'select market_id as id, etag, body from market_documents order by market_id limit ? offset ?',
        ...[limit, offset],
      )
    const all = await context.state.get<{ count: number }>('select count(*) as count from market_documents')
    const items = await sampleOf(count, {
      first: (limit) => from(limit, 0),
      any: async () => (await from(1, randomBelow(context, all?.count ?? 0)))[0],
      keyOf: ({ id }) => id,
    })
    return compareEach(items, async ({ id, etag, body }) => {
      const graph = await loadRecordGraph(currentRecords(context.state), marketNames([id]))
      const document = writeMarket(graph, id, new Map())
      if (!document) return `market ${id}: it has a document but no record`
      const isSame = Buffer.compare(document.body, body) === 0 && document.etag === etag
      return isSame ? undefined : `market ${id}: its records produce a different document`
    })
  },
}

/** A difference is only doubtful: the feed may have changed the record without changing its updatedAt. */
export const marketRecordVerification: Verification = {
  name: 'markets against their feeds',
  todo: 'read the whole feed again (tetrad ingest markets --full); if it happens again, the feed changes records without changing updatedAt: lower fullEveryMs',
  async run(context, count) {
    const { groups, markets } = context.settings
    if (!groups.markets.enabled || markets.feeds.length === 0) return nothingToVerify('no feed is configured')
    let [checked, changed] = [0, 0]
    const [doubtful, silent]: [string[], string[]] = [[], []]
    for (const feed of markets.feeds) {
      try {
        const read = await verifyFeed(context, feed, count, (until) => randomBelow(context, until))
        checked += read.same
        changed += read.changed
        doubtful.push(...read.differing)
      } catch (error) {
        silent.push(`${feed.id}: ${errorMessage(error)}`)
      }
    }
    return {
      checked,
      differing: [],
      doubtful,
      ...optionalNotes(changed > 0 ? [`${changed} have changed since`] : [], silent),
    }
  },
}
