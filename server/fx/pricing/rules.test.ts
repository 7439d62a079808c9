import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareFractions, decimal, type Fraction, fractionOf, inverse, product } from '#core/decimal.ts'
import type { FxRule } from '#runtime/settings/fx-rules.ts'
import { settingsWith, testNowMs } from '#test/context.ts'
import { findMid, type Rate } from './mid.ts'
import { computePrice } from './price.ts'
import { applyRule, combineRules, type RuledQuote } from './rules.ts'

const token = (code: string, tracks: string) => ({ code, tracks, decimals: 18, contract: `0x${'12'.repeat(20)}` })
const tokens = [token('EURC', 'EUR'), token('USDC', 'USD'), token('JPYC', 'JPY')]
const rulesOf = (...rules: object[]): readonly FxRule[] =>
  settingsWith({ fx: { tokens, rules: rules.map((rule, at) => ({ id: `r${at}`, ...rule })) } }).fx.rules

const quoteOf = (changes: Partial<RuledQuote> = {}): RuledQuote => ({
  ...{ from: 'EURC', to: 'USDC', tenor: 'instant', atMs: testNowMs },
  ...{ requested: { side: 'from', amount: decimal('1000') }, mid: fractionOf(decimal('1.25')) },
  ...changes,
})
function termsOf(rules: readonly FxRule[], quote: RuledQuote, dates: readonly string[] = []) {
  const applied = rules.map((rule) => applyRule(rule, quote, dates)).filter((rule) => rule !== undefined)
  return { ids: applied.map(({ id }) => id), applied, ...combineRules(500n, applied, quote) }
}

test('the last tier that a size reaches decides, in both directions and for both sides of a request', () => {
  const pairs = ['EURC/USDC']
  const rules = rulesOf({ pairs, minSize: '1000', spreadBps: 3 }, { pairs, minSize: '10000', spreadBps: '1.5' })
  const spread = (from: string, side: 'from' | 'to', amount: string) => {
    const to = from === 'EURC' ? 'USDC' : 'EURC'
    const mid = from === 'EURC' ? fractionOf(decimal('1.25')) : fractionOf(decimal('0.8'))
    return termsOf(rules, quoteOf({ from, to, mid, requested: { side, amount: decimal(amount) } })).spreadPpm
  }
  assert.deepEqual([spread('EURC', 'from', '999.999999'), spread('EURC', 'from', '1000')], [500n, 300n])
  assert.deepEqual([spread('EURC', 'from', '9999.999999'), spread('EURC', 'from', '10000')], [300n, 150n])
  // 1000 EURC are 1250 USDC at the mid.
  assert.deepEqual([spread('EURC', 'to', '1249.999999'), spread('EURC', 'to', '1250')], [500n, 300n])
  assert.deepEqual([spread('USDC', 'from', '1249.999999'), spread('USDC', 'from', '1250')], [500n, 300n])
  assert.deepEqual([spread('USDC', 'to', '999.999999'), spread('USDC', 'to', '1000')], [500n, 300n])
})

test('a rule of other pairs or tenors does not apply; one without pairs applies to all', () => {
  const rules = rulesOf(
    { pairs: ['EURC/JPYC'], spreadBps: 1 },
    { tenors: ['daily'], spreadBps: 2 },
    { spreadBps: 3 },
    { pairs: ['USDC/EURC'], spreadBps: 4 },
  )
  assert.deepEqual(termsOf(rules, quoteOf()).ids, ['r2', 'r3'])
  assert.deepEqual(termsOf(rules, quoteOf({ tenor: 'daily' })).ids, ['r1', 'r2', 'r3'])
})

test('hours are those of a time zone, and dates are local days; the receipt has only the date of the quote', () => {
  const week = rulesOf({ when: { week: 'Fri 17:00 - Sun 17:00', timeZone: 'America/New_York' }, spreadBps: 50 })
  const at = (iso: string) => termsOf(week, quoteOf({ atMs: Date.parse(iso) })).spreadPpm
  assert.deepEqual([at('2026-11-13T21:59:59.999Z'), at('2026-11-13T22:00:00Z')], [500n, 5000n])
  assert.deepEqual([at('2026-11-15T21:59:59.999Z'), at('2026-11-15T22:00:00Z')], [5000n, 500n])
  // One hour earlier in summer.
  assert.deepEqual([at('2026-07-10T20:59:59.999Z'), at('2026-07-10T21:00:00Z')], [500n, 5000n])
  const days = rulesOf({ when: { timeZone: 'Asia/Tokyo', dates: ['2026-11-16', '01-01'] }, spreadBps: 50 })
  const applied = (iso: string, dates: readonly string[] = []) =>
    termsOf(days, quoteOf({ atMs: Date.parse(iso) }), dates).applied[0]?.when?.dates
  assert.deepEqual(applied('2026-11-15T15:00:00Z'), ['2026-11-16'])
  assert.equal(applied('2026-11-15T14:59:59Z'), undefined)
  assert.deepEqual(applied('2026-12-31T15:00:00Z', ['2027-01-01']), ['01-01', '2027-01-01'])
  assert.deepEqual(applied('2026-11-17T00:00:00Z', ['2026-11-17', '2026-11-18']), ['2026-11-17'])
})

test('a skew raises the price of the first token: 1.25 + 1 % for a payer of EURC, 0.8 ÷ 1.01 for a payer of USDC', () => {
  const rules = rulesOf({ pairs: ['EURC/USDC'], skewBps: 100 })
  const skew = (from: string, to: string) => termsOf(rules, quoteOf({ from, to })).skew
  assert.deepEqual(skew('EURC', 'USDC'), { numerator: 1_010_000n, denominator: 1_000_000n })
  assert.deepEqual(skew('USDC', 'EURC'), { numerator: 1_000_000n, denominator: 1_010_000n })
  const lower = rulesOf({ pairs: ['EURC/USDC'], skewBps: '-0.5' })
  assert.deepEqual(termsOf(lower, quoteOf()).skew, { numerator: 999_950n, denominator: 1_000_000n })
})

test('the bid stays below the ask after rounding, direct and crossed, with sides, tiers and skews', () => {
  const price = fc.integer({ min: 90_000, max: 110_000 })
  const bps = (min: number) => fc.integer({ min: min * 100, max: 999_899 }).map((value) => String(value / 100))
  const rule = fc.record({
    pairs: fc.constantFrom(['EURC/USDC'], ['USDC/EURC'], ['EURC/JPYC'], ['JPYC/EURC'], ['USDC/JPYC']),
    skewBps: fc.oneof(bps(-9999), fc.constantFrom('0.01', '-0.01', '1', '-1')),
  })
  const tier = fc.record({
    pairs: fc.constantFrom(['EURC/USDC'], ['EURC/JPYC'], ['JPYC/EURC']),
    minSize: fc.constantFrom('1', '1000', '2000'),
    spreadBps: fc.oneof(bps(0), fc.constantFrom('0', '0.01')),
  })
  const one: Fraction = { numerator: 1n, denominator: 1n }
  fc.assert(
    fc.property(
      fc.tuple(price, price, fc.integer({ min: 0, max: 500 })),
      fc.array(fc.oneof(rule, tier), { maxLength: 5 }),
      fc.constantFrom(['EURC', 'USDC'] as const, ['EURC', 'JPYC'] as const),
      fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.integer({ min: 1, max: 3000 })),
      ([first, second, width], drawn, [base, other], sizes) => {
        const rateOf = (pair: string, value: number): Rate => ({
          ...{ source: 'a', base: pair.slice(0, 3), quote: pair.slice(4), atMs: 0, rate: `${value + width}.5` },
          ...{ bid: `${value}.5`, ask: `${value + 2 * width}.5` },
        })
        const rates = [rateOf('EUR/USD', first), rateOf('USD/JPY', second)]
        const rules = rulesOf(...drawn)
        const rate = (from: string, to: string, size: number) => {
          const tracks = (code: string) => code.slice(0, 3)
          const found = findMid(rates, tracks(from), tracks(to), { crossVia: ['USD'] })
          assert.ok(found.is === 'mid')
          const requested = { side: 'from', amount: decimal(String(size)) } as const
          const { spreadPpm, skew } = termsOf(rules, quoteOf({ from, to, requested, mid: found.mid.value }))
          const decimals = { from: { decimals: 18 }, to: { decimals: 18 } }
          const terms = { spreadPpm, feePpm: 0n, collateralPpm: 0n, ...decimals }
          // A large amount, so that only the rounding of the rate matters.
          const large = { side: 'from', amount: decimal('1e24') } as const
          return fractionOf(computePrice(product(found.mid.value, skew), large, terms).rate)
        }
        const bid = rate(base, other, sizes[0])
        const ask = inverse(rate(other, base, sizes[1]))
        assert.ok(compareFractions(bid, ask) <= 0)
        assert.ok(compareFractions(product(bid, inverse(ask)), one) <= 0)
      },
    ),
    { numRuns: 500 },
  )
})
