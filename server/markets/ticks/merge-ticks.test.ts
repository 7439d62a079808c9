// A merge of ticks, or of packs, changes nothing that is read, whenever it happens (merge-ticks.ts, merge-packs.ts).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { seedsOf } from '#test/long.ts'
import { marketAsOf } from '../read/market-as-of.ts'
import { readHistoryHead, readVersionsBack, type VersionedRecord, type VersionRow } from '../read/versions.ts'
import { readVersionsAfter } from '../read/versions-after.ts'
import type { KindName } from '../records/kinds.ts'
import type { MarketRecord } from '../records/normalize.ts'
import { putMarkets } from '../write/put-markets.ts'
import { dropVersionsBefore } from '../write/version-writer.ts'
import { mergePacks } from './merge-packs.ts'
import { mergeTicks } from './merge-ticks.ts'

/** As feeds send them, and as they should not. */
const values = [0.5, 0.25, '7', null, undefined, 'many', -0, 1e21, 0.1 + 0.2, 12345678901234567890n] as const
const marketIds = Array.from({ length: 60 }, (_, at) => String(100 + at))

function drawRecords(draws: SeededRandom, isFirst = false): MarketRecord[] {
  const value = () => values[draws.whole(0, values.length)]
  const listed = marketIds.filter(() => isFirst || draws.happens(0.3))
  const event = { slug: 'ten', title: draws.happens(0.9) ? 'Ten' : 'Zehn', volume: value(), commentCount: value() }
  return [
    ...listed.map((id): MarketRecord => {
      const question = draws.happens(0.95) ? 'Open?' : 'Closed?'
      const outcomePrices = JSON.stringify([String(draws.whole(0, 9) / 10), '0.5'])
      const fields = { slug: `m-${id}`, question, bestBid: value(), volumeNum: value(), outcomePrices }
      return { kind: 'market', id, fields, links: { events: ['10'] } }
    }),
    { kind: 'event', id: '10', fields: event, links: { series: ['9'] } },
    { kind: 'series', id: '9', fields: { slug: 'nine', score: value() } },
  ]
}

const put = (context: TestContext, records: readonly MarketRecord[]) =>
  context.ingest.write((tx) => putMarkets(tx, records, context.clock.now()))

/** Calls `before` before every statement of a read. */
const interrupted = (reader: StateReader, before: () => Promise<unknown>): StateReader => ({
  get: async (sql, ...args) => {
    await before()
    return reader.get(sql, ...args)
  },
  all: async (sql, ...args) => {
    await before()
    return reader.all(sql, ...args)
  },
})

async function readStream(reader: StateReader, after: number, limit: number, filter = {}) {
  const { seq: head } = await readHistoryHead(reader)
  const found: VersionRow[] = []
  for (let from = after; ; ) {
    const rows = await readVersionsAfter(reader, { after: from, until: head }, limit, filter, 1e6)
    found.push(...rows)
    if (rows.length < limit) return found
    from = rows.at(-1)?.seq ?? head
  }
}

async function readBack(reader: StateReader, record: VersionedRecord, size: number): Promise<VersionRow[]> {
  const found: VersionRow[] = []
  for (let until = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await readVersionsBack(reader, record, until, size)
    found.push(...rows)
    if (rows.length < size) return found
    until = (rows.at(-1)?.seq ?? 0) - 1
  }
}

/** What can be read of a history from a version on. */
async function readAll(context: TestContext, reader: StateReader, after: number, times: readonly number[]) {
  const records = await context.ingest.all<VersionedRecord & { kind: KindName }>(
    "select kind, id, number from market_records where id in ('100', '131', '159', '10', '9') order by kind, id",
  )
  const back: VersionRow[][] = []
  for (const [at, record] of records.entries())
    back.push((await readBack(reader, record, 1 + 7 * at)).filter(({ seq }) => seq > after))
  const past: unknown[] = []
  for (const atMs of times) past.push((await marketAsOf(reader, 'm-131', atMs))?.etag)
  return {
    stream: await readStream(reader, after, 33),
    events: await readStream(reader, after, 50, { kinds: ['event', 'series'] }),
    markets: await readStream(reader, after, 1000, { marketIds: new Set(['100', '159']) }),
    ...{ back, past },
  }
}

const countOf = async (context: TestContext, table: string) =>
  (await context.ingest.get<{ n: number }>(`select count(*) as n from ${table}`))?.n ?? 0

for (const seed of seedsOf(20, 2)) {
  test(`rules 1 and 3: everything reads the same with merges before any statement (seed ${seed})`, async () => {
    const draws = createSeededRandom(`merge ${seed}`)
    await using plain = await openContext()
    await using merged = await openContext()
    const times: number[] = []
    for (let step = 0; step < 40; step++) {
      const records = drawRecords(draws, step === 0)
      const withMerge = draws.happens(0.15)
      for (const context of [plain, merged]) {
        context.clock.advance(1000)
        await put(context, records)
      }
      if (withMerge) await mergeTicks(merged.ingest, undefined, draws.whole(1, 9))
      if (withMerge && draws.happens(0.3)) await mergePacks(merged.ingest, Number.MAX_SAFE_INTEGER, undefined, 2)
      if (step % 7 === 0) times.push(merged.clock.now())
    }
    const expected = await readAll(plain, plain.ingest, 0, times)
    assert.ok(expected.stream.length > 300 && expected.past.every((etag) => etag !== undefined))
    const mergeSome = async () => {
      if (draws.happens(0.02)) await mergeTicks(merged.ingest, undefined, 1)
      if (draws.happens(0.02)) await mergePacks(merged.ingest, Number.MAX_SAFE_INTEGER, undefined, 2)
    }
    assert.deepEqual(await readAll(merged, interrupted(merged.ingest, mergeSome), 0, times), expected)
    await mergeTicks(merged.ingest, undefined, 1)
    const packs = await countOf(merged, 'market_packs')
    assert.ok(packs > 1 && (await countOf(merged, 'market_ticks')) < (await countOf(plain, 'market_ticks')) / 2)
    assert.deepEqual(await readAll(merged, merged.ingest, 0, times), expected)
    // What is left after retention reads the same, too.
    const cutoffMs = testNowMs + 25_000
    for (const { ingest } of [plain, merged])
      while ((await ingest.write((tx) => dropVersionsBefore(tx, cutoffMs, 7))) > 0);
    const { horizonSeq } = await readHistoryHead(merged.ingest)
    const later = times.filter((ms) => ms >= cutoffMs)
    assert.deepEqual(
      await readAll(merged, merged.ingest, horizonSeq, later),
      await readAll(plain, plain.ingest, horizonSeq, later),
    )
    assert.ok(horizonSeq > 100 && later.length > 1)
    assert.equal(await countOf(merged, `market_packs where until_seq <= ${horizonSeq}`), 0)
  })
}

test('rule 2: of two merges of the same rows, one takes effect; a merge that is interrupted changes nothing', async () => {
  await using context = await openContext()
  const draws = createSeededRandom('merges')
  for (let step = 0; step < 20; step++) {
    context.clock.advance(1000)
    await put(context, drawRecords(draws))
  }
  const before = await readStream(context.ingest, 0, 100)
  const failing = (call: (tx: StateWriter, work: (tx: StateWriter) => Promise<unknown>) => Promise<unknown>): State =>
    stateWith(context.ingest, {
      write: ((work: (tx: StateWriter) => Promise<unknown>, options: object) =>
        context.ingest.write((tx) => call(tx, work), options)) as State['write'],
    })
  const lost = failing(async (tx, work) => {
    await work(tx)
    throw new Error('lost')
  })
  await assert.rejects(mergeTicks(lost, undefined, 1), /lost/)
  assert.equal(await countOf(context, 'market_packs'), 0)
  let others = 0
  // Another process merges the rows after they have been packed.
  const late = stateWith(context.ingest, {
    write: (async (work: (tx: StateWriter) => Promise<unknown>, options: object) => {
      if (others === 0) others = await mergeTicks(context.ingest, undefined, 1)
      return context.ingest.write(work, options)
    }) as State['write'],
  })
  assert.equal(await mergeTicks(late, undefined, 1), 0)
  assert.equal(await countOf(context, 'market_packs'), others)
  assert.ok(others > 1)
  assert.deepEqual(await readStream(context.ingest, 0, 100), before)
})
