// The documents of all markets as 4.8 returns them, by id.
import { composeMarkets } from '#markets/read/compose-markets.ts'
import type { State } from '#storage/state.ts'

export const listDocuments = (ingest: State) =>
  ingest.snapshot(async (reader) => {
    const sql = `select id, vanished_ms as "vanishedMs" from market_records where kind = 'market' order by id`
    const rows = await reader.all<{ id: string; vanishedMs: number | null }>(sql)
    const markets = await composeMarkets(
      reader,
      rows.map(({ id }) => id),
    )
    return rows.map(({ id, vanishedMs }) => {
      const { slug = '', etag = '', modifiedMs = 0, body = new Uint8Array() } = markets.get(id) ?? {}
      return { id, slug, etag, modifiedMs, vanishedMs, text: Buffer.from(body).toString() }
    })
  })
