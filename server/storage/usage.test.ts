import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { EndpointId } from '#api/contract/routes.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { countLoopTurns } from '#test/event-loop-turns.ts'
import { createKey, findKey } from './keys.ts'
import { addUsage, dayOf, findAcceptedByKey, pruneUsage, type UsageOutcome, usageDaysKept, usageOf } from './usage.ts'

const today = dayOf(testNowMs)
const noLastUses = new Map<string, number>()
const count = (day: number, keyId: string, endpoint: EndpointId, outcome: UsageOutcome, calls: number) => ({
  day,
  keyId,
  endpoint,
  outcome,
  calls,
})
const none = { 'key.group': 0, 'plan.too_low': 0, 'limit.second': 0, 'limit.day': 0 }

test('counts of the same key, day, endpoint and outcome add up', async () => {
  await using context = await openContext()
  await addUsage(context.state, [count(today, 'a', 'fx.createQuote', 'accepted', 3)], noLastUses)
  await addUsage(context.state, [count(today, 'a', 'fx.createQuote', 'accepted', 4)], noLastUses)
  assert.equal((await usageOf(context.state, { days: 1, nowMs: testNowMs }))[0]?.accepted, 7)
})

test('last uses of many keys are written with turns of the event loop between them', async () => {
  await using context = await openContext()
  const lastUses = new Map(Array.from({ length: 1000 }, (_, at) => [`key-${at}`, testNowMs]))
  const { turns } = await countLoopTurns(() => addUsage(context.state, [], lastUses))
  assert.ok(turns >= 10, `${turns} turns`)
})

test('a report has accepted and refused calls by day, key and endpoint, newest day first', async () => {
  await using context = await openContext()
  const counts = [
    count(today - 1, 'a', 'fx.createQuote', 'accepted', 1),
    count(today, 'b', 'markets.bySlug', 'accepted', 8),
    count(today, 'a', 'fx.createQuote', 'accepted', 5),
    count(today, 'a', 'fx.createQuote', 'limit.second', 2),
    count(today, 'a', 'explorer.fundedBy', 'limit.second', 4),
    count(today, 'a', 'explorer.fundedBy', 'plan.too_low', 1),
  ]
  await addUsage(context.state, counts, noLastUses)
  const report = await usageOf(context.state, { days: 2, nowMs: testNowMs })
  assert.deepEqual(
    report.map(({ day, keyId, accepted }) => `${day} ${keyId} ${accepted}`),
    ['2026-11-15 a 5', '2026-11-15 b 8', '2026-11-14 a 1'],
  )
  assert.deepEqual(report[0], {
    keyId: 'a',
    day: '2026-11-15',
    accepted: 5,
    refused: { ...none, 'limit.second': 6, 'plan.too_low': 1 },
    endpoints: {
      'explorer.fundedBy': { accepted: 0, refused: { ...none, 'limit.second': 4, 'plan.too_low': 1 } },
      'fx.createQuote': { accepted: 5, refused: { ...none, 'limit.second': 2 } },
    },
  })
})

test('a report covers the requested days including today, and optionally one key', async () => {
  await using context = await openContext()
  const days = [0, 1, 2, 3].map((ago) => count(today - ago, 'a', 'fx.createQuote', 'accepted', 1))
  await addUsage(context.state, [...days, count(today, 'b', 'fx.createQuote', 'accepted', 1)], noLastUses)
  const daysOf = async (keyId: string | undefined, wanted: number) =>
    (await usageOf(context.state, { keyId, days: wanted, nowMs: testNowMs })).map(({ day }) => day)
  assert.deepEqual(await daysOf('a', 1), ['2026-11-15'])
  assert.deepEqual(await daysOf('a', 3), ['2026-11-15', '2026-11-14', '2026-11-13'])
  assert.equal((await daysOf(undefined, 1)).length, 2)
  assert.deepEqual(await daysOf('nobody', 3), [])
  assert.equal((await daysOf('a', 1e12)).length, 4)
})

test('the daily count is the number of accepted calls of all endpoints', async () => {
  await using context = await openContext()
  const counts = [
    count(today, 'a', 'fx.createQuote', 'accepted', 5),
    count(today, 'a', 'markets.bySlug', 'accepted', 6),
    count(today, 'a', 'markets.bySlug', 'limit.day', 70),
    count(today - 1, 'a', 'markets.bySlug', 'accepted', 800),
    count(today, 'b', 'markets.bySlug', 'accepted', 1),
  ]
  await addUsage(context.state, counts, noLastUses)
  assert.deepEqual(
    await findAcceptedByKey(context.state, today),
    new Map([
      ['a', 11],
      ['b', 1],
    ]),
  )
})

test('last-used times are written with the counts', async () => {
  await using context = await openContext()
  const { id } = await createKey(context.state, { name: 'ci', plan: 'free' }, context.clock, context.random)
  await addUsage(context.state, [], new Map([[id, testNowMs + 7]]))
  assert.equal((await findKey(context.state, id))?.lastUsedAtMs, testNowMs + 7)
})

test('rows older than usageDaysKept are deleted; the last day is kept', async () => {
  await using context = await openContext()
  const oldest = today - usageDaysKept + 1
  const counts = [oldest - 1, oldest].map((day) => count(day, 'a', 'fx.createQuote', 'accepted', 1))
  await addUsage(context.state, counts, noLastUses)
  await pruneUsage(context.state, today)
  assert.equal((await findAcceptedByKey(context.state, oldest - 1)).size, 0)
  assert.equal((await findAcceptedByKey(context.state, oldest)).size, 1)
  assert.equal((await usageOf(context.state, { days: usageDaysKept, nowMs: testNowMs })).length, 1)
})
