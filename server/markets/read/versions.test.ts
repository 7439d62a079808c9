// Versions of one record in blocks: those of market_versions and those of ticks, in which several records share a row.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StateReader } from '#storage/state.ts'
import { openContext } from '#test/context.ts'
import { putMarkets } from '../write/put-markets.ts'
import { readVersionsBack, type VersionedRecord, type VersionRow } from './versions.ts'

const commits = 30

test('blocks of any size have all versions of a record that shares its commits, each read once', async () => {
  await using context = await openContext()
  for (let at = 0; at < commits; at++) {
    // Three versions in a row of ticks. Every fifth is a change of other fields too.
    const fields = { bestBid: at / 100, question: `Number ${Math.floor(at / 5)}?` }
    const markets = ['1', '2', '3'].map((id) => ({
      kind: 'market' as const,
      id,
      fields: { slug: `m-${id}`, ...fields },
    }))
    await context.ingest.write((tx) => putMarkets(tx, markets, context.clock.now() + at))
  }
  const wasted: string[] = []
  for (const id of ['1', '2', '3']) {
    const record = await context.ingest.get<VersionedRecord>(
      "select kind, id, number from market_records where kind = 'market' and id = ?",
      id,
    )
    assert.ok(record)
    const all = await readVersionsBack(context.ingest, record, Number.MAX_SAFE_INTEGER, 1000)
    assert.equal(all.length, commits)
    for (const rowsMax of [1, 2, 3, 4, 7, commits]) {
      let rowsRead = 0
      const counting = {
        ...context.ingest,
        all: async (sql: string, ...values: never[]) => {
          const rows = await context.ingest.all(sql, ...values)
          if (sql.includes('market_versions')) rowsRead += rows.length
          return rows
        },
      } as StateReader
      const found: VersionRow[] = []
      for (let until = Number.MAX_SAFE_INTEGER; ; ) {
        const block = await readVersionsBack(counting, record, until, rowsMax)
        found.push(...block)
        if (block.length < rowsMax) break
        until = (block.at(-1)?.seq ?? 0) - 1
      }
      assert.deepEqual(found, all, `market ${id} in blocks of ${rowsMax}`)
      const versions = all.filter(({ diff }) => !/^\{"bestBid":[^"]*\}$/.test(diff)).length
      if (rowsRead > 2 * versions) wasted.push(`${rowsRead} rows for ${versions} versions, in blocks of ${rowsMax}`)
    }
  }
  assert.deepEqual(wasted, [])
})
