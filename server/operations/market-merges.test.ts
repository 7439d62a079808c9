// Old changes of markets are packed by the day.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveCursor } from '#markets/extensions/changes/changes.ts'
import { marketAsOf } from '#markets/read/market-as-of.ts'
import { readHistoryHead, readVersionsBack, type VersionedRecord } from '#markets/read/versions.ts'
import type { MarketRecord } from '#markets/records/normalize.ts'
import { mergeTicks } from '#markets/ticks/merge-ticks.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { mergeOldPacks } from './market-merges.ts'

/** Two blocks of markets. */
const recordsAt = (step: number): MarketRecord[] =>
  Array.from({ length: 60 }, (_, at) => ({
    kind: 'market',
    id: String(at),
    fields: { slug: `m-${at}`, bestBid: (step + at) / 1000, volumeNum: step },
  }))

const countOf = async (context: TestContext, table: string) =>
  (await context.ingest.get<{ n: number }>(`select count(*) as n from ${table}`))?.n ?? 0

test('packs are merged by the day when they are older than fullDays, and changes of all markets end there', async () => {
  await using context = await openContext({ markets: { history: { fullDays: 2, keptDays: 30 } } })
  const draw = async (count: number) => {
    for (let step = 0; step < count; step++) {
      context.clock.advance(1000)
      await context.ingest.write((tx) => putMarkets(tx, recordsAt(step), context.clock.now()))
      await mergeTicks(context.ingest, undefined, 1)
    }
  }
  await draw(8 * 24)
  const pastMs = context.clock.now()
  const etag = (await marketAsOf(context.ingest, 'm-1', pastMs))?.etag
  const record = await context.ingest.get<VersionedRecord>("select kind, id, number from market_records where id = '1'")
  assert.ok(record && etag)
  const before = await readVersionsBack(context.ingest, record, Number.MAX_SAFE_INTEGER, 1000)
  assert.equal(await mergeOldPacks(context), 0)
  const { seq: lastOld } = await readHistoryHead(context.ingest)
  context.clock.advance(2 * 86_400_000 + 1000)
  await draw(8)
  assert.ok((await mergeOldPacks(context)) >= 2)
  assert.equal(
    await countOf(context, 'market_packs where merged = 1'),
    await countOf(context, '(select distinct block from market_packs) as b'),
  )
  assert.equal(await countOf(context, `market_packs where merged = 0 and until_seq <= ${lastOld}`), 0)
  assert.deepEqual(
    (await readVersionsBack(context.ingest, record, Number.MAX_SAFE_INTEGER, 1000)).slice(-before.length),
    before,
  )
  assert.equal((await marketAsOf(context.ingest, 'm-1', pastMs))?.etag, etag)
  assert.equal(await resolveCursor(context.ingest, undefined), lastOld)
  await assert.rejects(resolveCursor(context.ingest, String(lastOld - 1)), { code: 'markets.history_expired' })
})
