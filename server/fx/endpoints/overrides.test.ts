import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { quotePriceVerification } from '#operations/verify-fx.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { openState } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { openContext, settingsWith, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { provenTimeOf } from '#test/proven-time.ts'
import { createFxCaches, type FxContext } from '../context.ts'
import { readReceipt } from '../extensions/receipts/receipt.ts'
import { changeOverride, type OverrideChange, overrideView, readOverrides } from '../pricing/overrides.ts'
import { storeRates } from '../rates/rate-store.ts'
import { createQuote } from './create-quote.ts'

const token = (code: string, tracks: string) => ({ code, tracks, decimals: 6, contract: `0x${'12'.repeat(20)}` })
const fx = {
  spender: '0x3333333333333333333333333333333333333333',
  sources: [{ id: 'a', kind: 'push', staleMs: 2_592_000_000 }],
  tokens: [token('USDC', 'USD'), token('EURC', 'EUR'), token('JPYC', 'JPY')],
  rules: [{ id: 'tier', pairs: ['EURC/USDC'], spreadBps: 3 }],
}

/** EUR/USD is 1.25 and USD/JPY 160. */
async function storeTestRates(state: State, atMs: number): Promise<void> {
  for (const [base, quote, rate] of [
    ['EUR', 'USD', '1.25'],
    ['USD', 'JPY', '160'],
  ] as const)
    await storeRates(state, 'a', [{ source: 'a', base, quote, rate, atMs }], atMs)
}

async function openDesk(): Promise<TestContext> {
  const context = await openContext({ fx })
  await storeTestRates(context.state, testNowMs)
  return context
}

async function quote(context: FxContext, from = 'EURC', to = 'USDC', type: 'tradable' | 'reference' = 'tradable') {
  const input = { from: { currency: from, amount: '1000' }, to: { currency: to }, tenor: 'instant', type } as const
  const outcome = await createQuote.handle(
    { ...input, recipientAddress: `0x${'11'.repeat(20)}` },
    context,
    testRequestInfo(),
  )
  assert.ok(outcome.is === 'bytes')
  return JSON.parse(new TextDecoder().decode(outcome.bytes)) as { id: string; rate: number }
}

const isStopped = (error: unknown): boolean => error instanceof Fault && error.code === 'fx.stopped'

describe('overrides', () => {
  test('a pause stops both directions and both types of its pair, until it is resumed; others continue', async () => {
    await using context = await openDesk()
    const set = (change: OverrideChange) => changeOverride(context, change, 'ann')
    await set({ pair: 'USDC/EURC', paused: true })
    await assert.rejects(quote(context), isStopped)
    await assert.rejects(quote(context, 'USDC', 'EURC', 'reference'), isStopped)
    await quote(context, 'USDC', 'JPYC')
    await set({ pair: null, paused: true })
    await assert.rejects(quote(context, 'USDC', 'JPYC'), isStopped)
    await set({ pair: null, paused: false })
    await quote(context, 'USDC', 'JPYC')
    await assert.rejects(quote(context), isStopped)
    await set({ pair: 'EURC/USDC', paused: false })
    await quote(context)
  })

  test('a spread replaces that of terms and rules, that of a pair the one of all pairs, and is in the receipt', async () => {
    await using context = await openDesk()
    const set = (change: OverrideChange) => changeOverride(context, change, 'ann')
    assert.equal((await quote(context)).rate, 1.249625)
    await set({ pair: null, spreadBps: '40' })
    assert.equal((await quote(context)).rate, 1.245)
    await set({ pair: 'EURC/USDC', spreadBps: '2.5' })
    const { id, rate } = await quote(context)
    assert.equal(rate, 1.2496875)
    const signed = await readReceipt(context.state, id)
    assert.deepEqual(
      signed?.receipt.rules?.map((rule) => [rule.id, rule.pair, rule.spreadPpm]),
      [
        ['tier', 'EURC/USDC', 300],
        ['override', 'EURC/USDC', 250],
      ],
    )
    await set({ pair: 'EURC/USDC', spreadBps: null })
    await set({ pair: null, spreadBps: null })
    assert.equal((await quote(context)).rate, 1.249625)
    const verified = await quotePriceVerification.run(context, 10)
    assert.deepEqual([verified.checked, verified.differing], [4, []])
  })

  test('who changed what and when is stored, and a pause keeps the spread of the pair', async () => {
    await using context = await openDesk()
    await changeOverride(context, { pair: 'USDC/EURC', spreadBps: '25' }, 'ann')
    context.clock.advance(60_000)
    await changeOverride(context, { pair: 'EURC/USDC', paused: true }, 'bob')
    const { list } = await readOverrides(context.state)
    assert.deepEqual(list.map(overrideView), [
      {
        ...{ pair: 'EURC/USDC', paused: true, spreadBps: '25' },
        ...{ changedAt: '2026-11-15T12:01:00.000Z', changedBy: 'bob' },
      },
    ])
  })

  test('a pair of unknown tokens is refused, and changes nothing', async () => {
    await using context = await openDesk()
    for (const pair of ['EURC/EURC', 'EURC/GBPC', 'EURC'])
      await assert.rejects(
        async () => changeOverride(context, { pair, paused: true }, 'ann'),
        (error) => error instanceof Fault && /USDC, EURC, JPYC/.test(JSON.stringify(error.problems)),
      )
    assert.deepEqual(await readOverrides(context.state), { revision: 0, list: [] })
  })

  test('a quote that is priced while a pause commits is priced again, and refused', async () => {
    await using context = await openDesk()
    let isFirst = true
    // Between the price and the commit.
    const state: State = {
      ...context.state,
      writeTogether: async (write, item) => {
        if (isFirst) await changeOverride(context, { pair: null, paused: true }, 'ann')
        isFirst = false
        return context.state.writeTogether(write, item)
      },
    }
    await assert.rejects(quote({ ...context, state }), isStopped)
    assert.deepEqual(await context.state.all('select id from fx_quotes'), [])
  })
})

describe('a pause with two servers', { skip: noPostgres }, () => {
  const quotes = 500

  test(`during ${quotes} concurrent quotes: none commits after the pause`, async () => {
    await using server = await startPostgres({ track_commit_timestamp: 'on' })
    const location = await server.schema()
    const open = () => openState('', { state: location })
    const states = [await open(), await open(), await open()]
    try {
      const clock = systemClock
      const contexts = states.map((state): FxContext => {
        const parts = { settings: settingsWith({ fx }), random: systemRandom, log: silentLog, fx: createFxCaches() }
        return { ...parts, state, clock, provenTime: provenTimeOf(clock) }
      })
      const [one, other, desk] = contexts as [FxContext, FxContext, FxContext]
      await storeTestRates(desk.state, clock.now())
      await Promise.all([quote(one), quote(other)])
      let stored = 0
      const enough = Promise.withResolvers<void>()
      const results = Array.from({ length: quotes }, async (_, at) => {
        // Some begin later, so that every stage of a quote meets the pause.
        if (at >= quotes / 2) await enough.promise
        try {
          await quote(at % 2 === 0 ? one : other)
          stored += 1
          if (stored === 20) enough.resolve()
          return 'stored'
        } catch (error) {
          assert.ok(isStopped(error), String(error))
          return 'stopped'
        }
      })
      await enough.promise
      await changeOverride(desk, { pair: null, paused: true }, 'desk')
      const outcomes = await Promise.all(results)
      const { late, all } = (await desk.state.get<{ late: number; all: number }>(
        `select count(*) as "all", count(*) filter (where pg_xact_commit_timestamp(q.xmin) > pg_xact_commit_timestamp(o.xmin)) as late
         from fx_quotes q, fx_overrides o`,
      )) as { late: number; all: number }
      assert.equal(all, outcomes.filter((outcome) => outcome === 'stored').length + 2)
      assert.equal(late, 0)
      assert.ok(outcomes.includes('stopped'))
      await changeOverride(desk, { pair: null, paused: false }, 'desk')
      await Promise.all([quote(one), quote(other)])
    } finally {
      await Promise.all(states.map((state) => state.close()))
    }
  })
})
