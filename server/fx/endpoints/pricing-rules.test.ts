import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { quotePriceVerification } from '#operations/verify-fx.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openContext, settingsWith, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { createFxCaches } from '../context.ts'
import type { QuoteInput } from '../pricing/quote-input.ts'
import { storeRates } from '../rates/rate-store.ts'
import { createQuote } from './create-quote.ts'

const token = (code: string, tracks: string) => ({ code, tracks, decimals: 6, contract: `0x${'12'.repeat(20)}` })
const fxOf = (fx: object) => ({
  spender: '0x3333333333333333333333333333333333333333',
  sources: [{ id: 'a', kind: 'push', staleMs: 2_592_000_000 }],
  tokens: [token('USDC', 'USD'), token('EURC', 'EUR'), token('JPYC', 'JPY')],
  ...fx,
})

/** EUR/USD is 1.25 and USD/JPY 160. */
async function openDesk(fx: object): Promise<TestContext> {
  const context = await openContext({ fx: fxOf(fx) })
  for (const [base, quote, rate] of [
    ['EUR', 'USD', '1.25'],
    ['USD', 'JPY', '160'],
  ] as const)
    await storeRates(context.state, 'a', [{ source: 'a', base, quote, rate, atMs: testNowMs }], testNowMs)
  return context
}

const withSettings = (context: TestContext, fx: object) => ({ ...context, settings: settingsWith({ fx: fxOf(fx) }) })

async function rateOf(context: TestContext, changes: Partial<QuoteInput> = {}, keyId?: string): Promise<number> {
  const info = testRequestInfo()
  const input: QuoteInput = {
    ...{ from: { currency: 'EURC', amount: '1000' }, to: { currency: 'USDC' } },
    ...{ tenor: 'instant', type: 'tradable', recipientAddress: `0x${'11'.repeat(20)}` },
    ...changes,
  }
  const outcome = await createQuote.handle(input, context, {
    ...info,
    caller: { ...info.caller, keyId: keyId ?? info.caller.keyId },
  })
  assert.ok(outcome.is === 'bytes')
  return Number(JSON.parse(new TextDecoder().decode(outcome.bytes)).rate)
}

const refusedWith =
  (code: string, message = /./) =>
  (error: unknown) => {
    assert.ok(error instanceof Fault, String(error))
    assert.equal(error.code, code)
    assert.match(error.publicMessage, message)
    return true
  }
const sizeOf = (amount: string): Partial<QuoteInput> => ({ from: { currency: 'EURC', amount } })

describe('pricing rules', () => {
  test('tier, hours and skew price a quote: 1.25 × 1.01 × 0.998 from 5000 EURC on a weekend', async () => {
    const pairs = ['EURC/USDC']
    const rules = [
      { id: 'tier', pairs, minSize: '5000', spreadBps: 3 },
      { id: 'weekend', when: { week: 'Fri 17:00 - Sun 17:00', timeZone: 'America/New_York' }, spreadBps: 20 },
      { id: 'long', pairs, skewBps: 100 },
    ]
    await using context = await openDesk({ rules: rules.slice(0, 1) })
    assert.deepEqual(
      [await rateOf(context, sizeOf('4999')), await rateOf(context, sizeOf('5000'))],
      [1.249375, 1.249625],
    )
    const weekend = withSettings(context, { rules })
    assert.equal(await rateOf(weekend, sizeOf('5000')), 1.259975)
    // 0.8 ÷ 1.01 × 0.998
    const back = { from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' } }
    assert.equal(await rateOf(weekend, back), 0.79049504950495)
  })

  test('a rule that stops applies to tradable and reference quotes of its pairs', async () => {
    const rules = [{ id: 'halt', pairs: ['USDC/EURC'], stop: true }]
    await using context = await openDesk({ rules })
    for (const type of ['tradable', 'reference'] as const)
      await assert.rejects(rateOf(context, { type }), refusedWith('fx.stopped', /no quotes for this pair now/))
    await rateOf(context, { to: { currency: 'JPYC' } })
  })

  test('rates of closed hours price tradable quotes only with a spread of a rule for these hours', async () => {
    const closed = { week: 'Fri 17:00 - Sun 17:00', timeZone: 'America/New_York' }
    const sources = [{ id: 'a', kind: 'push', staleMs: 60_000, closed }]
    await using context = await openDesk({ sources })
    // Without aging, as before.
    context.clock.advance(3_600_000)
    assert.equal(await rateOf(context, { type: 'reference' }), 1.249375)
    await assert.rejects(rateOf(context), refusedWith('fx.stopped', /market of this pair is closed/))
    const withRule = (rule: object) => withSettings(context, { sources, rules: [{ id: 'r', ...rule }] })
    await assert.rejects(rateOf(withRule({ spreadBps: 9 })), refusedWith('fx.stopped'))
    await assert.rejects(
      rateOf(withRule({ pairs: ['EURC/USDC'], when: closed, skewBps: 9 })),
      refusedWith('fx.stopped'),
    )
    assert.equal(await rateOf(withRule({ when: closed, spreadBps: 80 })), 1.24)
    // Open again, and the rate is new.
    context.clock.advance(24 * 3_600_000)
    const atMs = context.clock.now()
    await storeRates(context.state, 'a', [{ source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs }], atMs)
    assert.equal(await rateOf(context), 1.249375)
  })

  test('dates of a file apply within seconds of a change; without the file there are no quotes', async () => {
    await using bare = await openDesk({})
    const file = join(bare.dir, 'holidays.txt')
    const context = withSettings(bare, { rules: [{ id: 'holidays', when: { file }, stop: true }] })
    await assert.rejects(rateOf(context), refusedWith('fx.stopped'))
    const write = async (text: string) => {
      await writeFile(file, text)
      bare.clock.advance(5000)
    }
    await write('# Christmas\n12-25\n\n2026-12-24 # evening\n')
    assert.equal(await rateOf(context), 1.249375)
    await write('12-25\n2026-11-15\n')
    await assert.rejects(rateOf(context), refusedWith('fx.stopped'))
    await write('11-16\n')
    assert.equal(await rateOf(context), 1.249375)
    await write('tomorrow\n')
    await assert.rejects(rateOf(context), (error: unknown) => {
      assert.match((error as Fault).message, /has the line tomorrow, which is not a date/)
      return refusedWith('fx.stopped')(error)
    })
    await write('11-16\n')
    await rm(file)
    bare.clock.advance(5000)
    await assert.rejects(rateOf(context), refusedWith('fx.stopped'))
  })

  test('the sum of an hour is exact on one server, counts per key, and includes other servers after a second', async () => {
    const rules = [{ id: 'hour', pairs: ['EURC/USDC', 'EURC/JPYC'], maxPerHour: '3000' }]
    await using context = await openDesk({ rules })
    const other = { ...context, fx: createFxCaches(context.clock) }
    const refused = refusedWith('fx.amount_range', /sum up to more than 3000 EURC/)
    await rateOf(context, sizeOf('1000'))
    await rateOf(context, { ...sizeOf('998.999999'), to: { currency: 'JPYC' } })
    // 1250 USDC are 1000 EURC.
    await rateOf(context, { from: { currency: 'USDC', amount: '1250' }, to: { currency: 'EURC' } })
    await assert.rejects(rateOf(context, sizeOf('1.000002')), refused)
    await rateOf(context, { ...sizeOf('2000'), type: 'reference' })
    await rateOf(context, sizeOf('3000'), 'another-key')
    // Another server reads the sum from the database.
    await assert.rejects(rateOf(other, sizeOf('1.000002')), refused)
    await rateOf(other, { from: { currency: 'USDC' }, to: { currency: 'EURC', amount: '1' } })
    context.clock.advance(1000)
    await assert.rejects(rateOf(context, sizeOf('1')), refused)
    context.clock.advance(3_599_000)
    await rateOf(context, sizeOf('3000'))
    await assert.rejects(rateOf(context, sizeOf('1')), refused)
  })

  test('many requests at once do not exceed the sum of an hour', async () => {
    await using context = await openDesk({ rules: [{ id: 'hour', pairs: ['EURC/USDC'], maxPerHour: '5000' }] })
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => rateOf(context, sizeOf('1000'))))
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 5)
  })

  test('the doctor recomputes quotes over all rules without a difference', async () => {
    const random = createSeededRandom('rules')
    const pick = <T>(values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T
    await using context = await openDesk({})
    const codes = ['USDC', 'EURC', 'JPYC']
    let created = 0
    for (let round = 0; round < 60; round++) {
      const pairs = () => pick([['EURC/USDC'], ['USDC/EURC'], ['EURC/JPYC'], ['JPYC/USDC']])
      const when = pick([
        undefined,
        { week: 'Fri 17:00 - Sun 17:00', timeZone: 'America/New_York' },
        { timeZone: 'Asia/Tokyo', dates: ['2026-11-15', '12-25'] },
        { holidays: 'target', week: 'Mon 00:00 - Tue 00:00' },
      ])
      const rules = [
        { id: 'tier', pairs: pairs(), minSize: pick(['10', '1000', '5000']), spreadBps: pick([0, '2.5', 40]) },
        { id: 'hours', ...(when && { when }), spreadBps: pick([3, '120.25']) },
        { id: 'skew', pairs: pairs(), skewBps: pick([-50, '12.5', 0]), ...(when && { when }) },
      ].filter(() => random.next() < 0.7)
      const [from, to] = [pick(codes), pick(codes)]
      if (from === to) continue
      const amount = pick(['10', '999.99', '1000', '123456.789'])
      const sides =
        random.next() < 0.5
          ? { from: { currency: from, amount }, to: { currency: to } }
          : { from: { currency: from }, to: { currency: to, amount } }
      await rateOf(withSettings(context, { rules }), {
        ...{ ...sides, tenor: pick(['instant', 'hourly', 'daily'] as const) },
        type: pick(['tradable', 'reference'] as const),
      })
      created += 1
      context.clock.advance(Math.floor(random.next() * 7_200_000))
    }
    const result = await quotePriceVerification.run(context, 1000)
    assert.deepEqual([result.checked, result.differing], [created, []])
  })
})
