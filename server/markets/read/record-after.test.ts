// Snapshots among versions (decisions/store-market-versions-as-differences.md): they save reads and change no response.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { StateReader } from '#storage/state.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { countLoopTurns } from '#test/event-loop-turns.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { mergeTicks } from '../ticks/merge-ticks.ts'
import { putMarkets } from '../write/put-markets.ts'
import { snapshotEvery } from '../write/snapshots.ts'
import { dropVersionsBefore } from '../write/version-writer.ts'
import { marketAsOf } from './market-as-of.ts'
import { findMarketResponse } from './market-response.ts'

const put = (context: TestContext, ...records: MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

const market = (id: string, fields: object, events = ['10']): MarketRecord => ({
  kind: 'market',
  id,
  fields: { slug: `m-${id}`, ...fields },
  links: { events },
})
const event = (fields: object): MarketRecord => ({ kind: 'event', id: '10', fields: { slug: 'ten', ...fields } })

const first = [market('1', { bestBid: 0 }), market('2', {}), event({ title: 'Ten' })]

const countOf = async ({ ingest }: TestContext, table: string) =>
  (await ingest.get<{ n: number }>(`select count(*) as n from ${table}`))?.n

/** The reader with a count of the rows it returned. */
function counted(reader: StateReader): { reader: StateReader; rows: () => number } {
  let rows = 0
  return {
    rows: () => rows,
    reader: {
      get: (sql, ...values) => {
        rows += 1
        return reader.get(sql, ...values)
      },
      all: async <R>(sql: string, ...values: never[]) => {
        const found = await reader.all<R>(sql, ...values)
        rows += found.length
        return found
      },
    },
  }
}

/** Changes the price and the text once per second and returns the first response. */
async function trades(context: TestContext, count: number): Promise<string | undefined> {
  await put(context, ...first)
  const etag = (await findMarketResponse(context, 'm-1', true))?.etag
  const startMs = context.clock.now()
  await context.ingest.write(async (tx) => {
    for (let at = 1; at <= count; at++) {
      const records = [market('1', { bestBid: at / 1000, question: `${at}?` }), market('2', { question: `${at}?` })]
      await putMarkets(tx, records, startMs + at * 1000)
    }
  })
  context.clock.advance(count * 1000)
  return etag
}

describe('a request about the past', () => {
  test('reads at most the versions between two snapshots of each record', async () => {
    await using context = await openContext()
    const etag = await trades(context, 3 * snapshotEvery + 50)
    assert.equal(await countOf(context, 'market_snapshots'), 6)
    while ((await mergeTicks(context.ingest)) > 0);
    const { reader, rows } = counted(context.ingest)
    assert.equal((await marketAsOf(reader, 'm-1', testNowMs))?.etag, etag)
    // Two markets with 350 changes each, and a pack of their block; all other reads are single rows.
    assert.ok(rows() <= 2 * snapshotEvery + 100, `${rows()} rows were read`)
  })

  test('400: is refused beyond the limit of reads, with advice', async () => {
    await using context = await openContext()
    await trades(context, 60)
    await assert.rejects(marketAsOf(context.ingest, 'm-1', testNowMs, { readsMax: 100 }), {
      code: 'markets.too_many_changes',
      status: 400,
      publicMessage: /Request a later time/,
    })
    assert.ok(await marketAsOf(context.ingest, 'm-1', testNowMs + 50_000, { readsMax: 100 }))
  })

  test('yields to the event loop while it reads', async () => {
    await using context = await openContext()
    await put(context, ...first)
    const diff = '{"bestBid":[0.1,0.2]}'
    const rows = Array.from({ length: 20_000 }, (_, at) => [
      at + 100,
      testNowMs + 1 + at,
      'market',
      '1',
      'changed',
      diff,
    ])
    await context.ingest.write((tx) =>
      tx.insertMany('market_versions', ['seq', 'at_ms', 'kind', 'id', 'change_type', 'diff'], rows),
    )
    const { turns } = await countLoopTurns(() => marketAsOf(context.ingest, 'm-1', testNowMs))
    assert.ok(turns >= 30, `${turns} turns in 20 000 versions`)
  })
})

test('1: any history, with or without snapshots, gives the earlier responses', async () => {
  const step = fc.record({
    id: fc.constantFrom('1', '2'),
    title: fc.constantFrom('Ten', 'X', 'Zehn'),
    bestBid: fc.integer({ min: 0, max: 5 }),
    apart: fc.boolean(),
  })
  const history = fc.array(step, { minLength: 230, maxLength: 260 })
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      await using context = await openContext()
      await put(context, ...first)
      const responses: { atMs: number; slug: string; etag: string | undefined }[] = []
      for (const [at, { id, title, bestBid, apart }] of steps.entries()) {
        context.clock.advance(1000)
        // Texts and volumes count up, so that the market and the event change in every step.
        const changed = market(id, { bestBid, volumeNum: at, description: `${at}` }, apart ? [] : ['10'])
        await put(context, changed, event({ title, volume: at, description: `${at}` }))
        if (at % 15 > 0) continue
        const slug = `m-${1 + (at % 2)}`
        responses.push({ atMs: context.clock.now(), slug, etag: (await findMarketResponse(context, slug, true))?.etag })
      }
      const check = async (how: string) => {
        for (const { atMs, slug, etag } of responses) {
          assert.equal((await marketAsOf(context.ingest, slug, atMs))?.etag, etag, `${how}, ${slug} at ${atMs}`)
        }
      }
      assert.ok(((await countOf(context, 'market_snapshots')) ?? 0) >= 2)
      await check('with snapshots')
      await context.ingest.write((tx) => tx.run('delete from market_snapshots'))
      await check('without')
    }),
    // Without shrinking, which takes long.
    { numRuns: 2, endOnFailure: true },
  )
})

test('a snapshot is deleted with the versions that follow it, so that it is not used for a later state', async () => {
  await using context = await openContext()
  await trades(context, snapshotEvery + 10)
  const cutoffMs = context.clock.now() + 1
  while ((await context.ingest.write((tx) => dropVersionsBefore(tx, cutoffMs))) > 0);
  assert.equal(await countOf(context, 'market_versions'), 0)
  assert.equal(await countOf(context, 'market_snapshots'), 0)
  const etag = (await findMarketResponse(context, 'm-1', true))?.etag
  context.clock.advance(5000)
  await put(context, market('1', { bestBid: 0.99 }))
  assert.equal((await marketAsOf(context.ingest, 'm-1', cutoffMs))?.etag, etag)
})
