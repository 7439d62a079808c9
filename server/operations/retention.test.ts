import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { putMarkets } from '#markets/write/put-markets.ts'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { openContext, type TestContext } from '#test/context.ts'
import {
  dropIdempotencyKeys,
  dropMarketVersions,
  dropQuotes,
  startMarketRetention,
  startRetention,
} from './retention.ts'

const dayMs = 86_400_000

async function putQuotes(context: TestContext, ages: readonly number[]): Promise<void> {
  await context.state.write(async (tx) => {
    for (const [at, days] of ages.entries())
      await tx.run(
        `insert into fx_quotes
           (id, key_id, created_ms, as_of_ms, nonce, priced_from, receipt_key, receipt_signature, reply)
         values (?, 'k', ?, 0, null, '', '', ?, ?)`,
        ...[`q${at}`, context.clock.now() - days * dayMs, new Uint8Array(1), new Uint8Array(1)],
      )
  })
}

const remainingIds = async ({ state }: TestContext) =>
  (await state.all<{ id: string }>('select id from fx_quotes order by id')).map(({ id }) => id)

describe('quotes', () => {
  test('quotes older than quotesDays are deleted, others stay', async () => {
    await using context = await openContext({ retention: { quotesDays: 30 } })
    await putQuotes(context, [0, 29, 30, 31, 400])
    assert.equal(await dropQuotes(context, AbortSignal.timeout(10_000)), 2)
    assert.deepEqual(await remainingIds(context), ['q0', 'q1', 'q2'])
  })

  test('quotes are kept for a month by default', async () => {
    await using context = await openContext()
    await putQuotes(context, [29, 31])
    assert.equal(await dropQuotes(context, AbortSignal.timeout(10_000)), 1)
    assert.deepEqual(await remainingIds(context), ['q0'])
  })

  test('quotes are kept for at least two days', async () => {
    await using context = await openContext({ retention: { quotesDays: 1 } })
    await putQuotes(context, [1, 2, 3])
    assert.equal(await dropQuotes(context, AbortSignal.timeout(10_000)), 1)
    assert.deepEqual(await remainingIds(context), ['q0', 'q1'])
  })

  test('a quote with an idempotency key stays until the key expires after a day', async () => {
    await using context = await openContext({ retention: { quotesDays: 7 } })
    await putQuotes(context, [10, 10, 10])
    await context.state.write(async (tx) => {
      for (const [quote, ageMs] of [['q0', dayMs - 1] as const, ['q1', dayMs] as const])
        await tx.run(
          `insert into fx_idempotency (key_id, idempotency_key, body_hash, quote_id, created_ms) values ('k', ?, '', ?, ?)`,
          ...[quote, quote, context.clock.now() - ageMs],
        )
    })
    const drop = async () => {
      const keys = await dropIdempotencyKeys(context, AbortSignal.timeout(10_000))
      return [keys, await dropQuotes(context, AbortSignal.timeout(10_000))]
    }
    assert.deepEqual(await drop(), [1, 2])
    assert.deepEqual(await remainingIds(context), ['q0'])
    context.clock.advance(1)
    assert.deepEqual(await drop(), [1, 1])
    assert.deepEqual(await remainingIds(context), [])
  })

  test('many quotes are deleted in several transactions, and requests are handled in between', async () => {
    await using context = await openContext({ retention: { quotesDays: 7 } })
    await putQuotes(context, new Array<number>(1200).fill(9))
    let pauses = 0
    const sleep = async () => {
      pauses += 1
    }
    const clock = { ...systemClock, now: () => context.clock.now(), sleep }
    assert.equal(await dropQuotes({ ...context, clock }, AbortSignal.timeout(10_000)), 1200)
    assert.equal(pauses, 12)
    assert.deepEqual(await remainingIds(context), [])
  })

  test('with quotesDays 0 only expired idempotency keys are deleted', async () => {
    await using context = await openContext({ retention: { quotesDays: 0 } })
    await putQuotes(context, [30_000])
    const sql = `insert into fx_idempotency (key_id, idempotency_key, body_hash, quote_id, created_ms) values ('k', '', '', 'q0', 0)`
    await context.state.write((tx) => tx.run(sql))
    const stop = new AbortController()
    const loop = startRetention(context, stop.signal)
    while (await context.state.get('select 1 as one from fx_idempotency')) await nextEventLoopTurn()
    stop.abort()
    await loop
    assert.deepEqual(await remainingIds(context), ['q0'])
  })

  test('the loop repeats after everyMs and ends with the signal', async () => {
    await using context = await openContext({ retention: { quotesDays: 30, everyMs: 60_000 } })
    const stop = new AbortController()
    await putQuotes(context, [40])
    const loop = startRetention(context, stop.signal)
    const until = async (count: number) => {
      for (let tries = 0; (await remainingIds(context)).length !== count && tries < 500; tries++)
        await new Promise(setImmediate)
      assert.equal((await remainingIds(context)).length, count)
    }
    await until(0)
    await putQuotes(context, [40])
    await until(1)
    for (let tick = 0; tick < 20; tick++) await new Promise(setImmediate)
    context.clock.advance(60_000)
    await until(0)
    stop.abort()
    await loop
  })
})

test('market versions older than keptDays are deleted, and no quote', async () => {
  await using context = await openContext({ markets: { history: { keptDays: 30 } }, retention: { quotesDays: 0 } })
  await putQuotes(context, [400])
  for (const [at, days] of [31, 29].entries()) {
    const record = { kind: 'market', id: String(at), fields: { slug: `market-${at}` } } as const
    await context.ingest.write((tx) => putMarkets(tx, [record], context.clock.now() - days * dayMs))
  }
  const versions = () => context.ingest.all<{ id: string }>('select id from market_versions')
  assert.equal((await versions()).length, 2)
  const stop = new AbortController()
  const deleted = Promise.withResolvers<object>()
  const log = { ...context.log, info: (fields: object) => deleted.resolve(fields) } as typeof context.log
  const loop = startMarketRetention({ ...context, log }, stop.signal)
  assert.deepEqual(await deleted.promise, { marketVersions: 1 })
  stop.abort()
  await loop
  assert.deepEqual(
    (await versions()).map(({ id }) => id),
    ['1'],
  )
  assert.deepEqual(await remainingIds(context), ['q0'])
})

test('keep: off deletes all versions with the next run, forever none', async () => {
  for (const [keep, left] of [
    ['off', 0],
    ['forever', 1],
  ] as const) {
    await using context = await openContext({ markets: { history: { keep, keptDays: 1 } } })
    const record = { kind: 'market', id: '1', fields: { slug: 'market-1' } } as const
    await context.ingest.write((tx) => putMarkets(tx, [record], context.clock.now() - 50 * dayMs))
    await dropMarketVersions(context, new AbortController().signal)
    assert.equal((await context.ingest.all('select id from market_versions')).length, left)
  }
})
