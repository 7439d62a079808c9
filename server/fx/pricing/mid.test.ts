import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  compareFractions,
  decimal,
  type Fraction,
  formatDecimal,
  fractionOf,
  inverse,
  product,
  toSignificant,
} from '#core/decimal.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { settingsWith } from '#test/context.ts'
import { findMid, isFresh, median, type Rate } from './mid.ts'

const rate = (source: string, pair: string, text: string, atMs = 0): Rate => {
  const [base = '', quote = ''] = pair.split('/')
  return { source, base, quote, rate: text, atMs }
}
const midOf = (rates: readonly Rate[], from: string, to: string, crossVia: readonly string[]) => {
  const result = findMid(rates, from, to, { crossVia })
  return result.is === 'mid' ? result.mid : undefined
}
const shown = (value: Fraction | undefined) => value && formatDecimal(toSignificant(value, 10))
const mid = (rates: readonly Rate[], from: string, to: string, via = ['USD', 'EUR']) =>
  shown(midOf(rates, from, to, via)?.value)

test('the mid is the median of three sources and the exact mean of two: (1.08 + 1.09) ÷ 2 = 1.085', () => {
  const three = [rate('a', 'EUR/USD', '1.10'), rate('b', 'EUR/USD', '1.08'), rate('c', 'EUR/USD', '1.09')]
  assert.equal(mid(three, 'EUR', 'USD'), '1.09')
  assert.equal(mid(three.slice(1), 'EUR', 'USD'), '1.085')
})

test('a rate serves both orientations: 1 ÷ 1.25 = 0.8', () => {
  assert.equal(mid([rate('a', 'EUR/USD', '1.25')], 'USD', 'EUR'), '0.8')
  assert.equal(mid([rate('a', 'USD/EUR', '0.8')], 'EUR', 'USD'), '1.25')
})

test('a source with both orientations counts once, with its newest rate', () => {
  const rates = [rate('a', 'EUR/USD', '1.25', 1), rate('a', 'USD/EUR', '0.5', 2), rate('b', 'EUR/USD', '3', 1)]
  // the newest rate of a is 2, that of b is 3
  assert.equal(mid(rates, 'EUR', 'USD'), '2.5')
})

test('without a direct rate the pair is crossed: EUR/USD 1.25 × USD/JPY 160 = 200', () => {
  const rates = [rate('a', 'EUR/USD', '1.25'), rate('b', 'USD/JPY', '160')]
  assert.equal(mid(rates, 'EUR', 'JPY'), '200')
  assert.equal(mid(rates, 'JPY', 'EUR'), '0.005')
  assert.equal(mid([...rates, rate('c', 'EUR/JPY', '199')], 'EUR', 'JPY'), '199')
  assert.deepEqual(
    midOf(rates, 'EUR', 'JPY', ['USD'])?.rates.map(({ source }) => source),
    ['a', 'b'],
  )
})

test('the first configured currency with both legs is used for a cross', () => {
  const rates = [
    rate('a', 'GBP/EUR', '1.2'),
    rate('a', 'EUR/JPY', '160'),
    rate('a', 'GBP/CHF', '1.1'),
    rate('a', 'CHF/JPY', '170'),
  ]
  assert.equal(mid(rates, 'GBP', 'JPY'), '192')
  assert.equal(mid(rates, 'GBP', 'JPY', ['CHF', 'EUR']), '187')
  assert.equal(mid(rates, 'GBP', 'JPY', ['USD']), undefined)
})

test('a currency against itself is one, without any rate', () => {
  assert.equal(mid([], 'USD', 'USD'), '1')
})

test('the mids of both directions multiply to exactly one, direct or crossed', () => {
  const text = fc
    .tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 999_999 }))
    .map(([whole, part]) => `${whole}.${String(part).padStart(6, '0')}`)
  const rates = fc.array(
    fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('EUR/USD', 'USD/EUR', 'USD/JPY', 'JPY/USD'), text),
    { maxLength: 8 },
  )
  fc.assert(
    fc.property(rates, fc.constantFrom('EUR', 'USD'), (drawn, from) => {
      const list = drawn.map(([source, pair, value], index) => rate(source, pair, value, index % 3))
      const there = midOf(list, from, 'JPY', ['USD', 'EUR'])
      const back = midOf(list, 'JPY', from, ['USD', 'EUR'])
      assert.equal(there === undefined, back === undefined)
      if (!there || !back) return
      assert.equal(compareFractions(product(there.value, back.value), { numerator: 1n, denominator: 1n }), 0)
    }),
  )
})

test('the median does not depend on the order, and lies between the smallest and the largest', () => {
  const fraction = fc.record({ numerator: fc.bigInt(1n, 10n ** 20n), denominator: fc.bigInt(1n, 10n ** 20n) })
  fc.assert(
    fc.property(fc.array(fraction, { minLength: 1, maxLength: 9 }), (values) => {
      const sorted = values.toSorted(compareFractions)
      const result = median(values)
      assert.equal(compareFractions(result, median(values.toReversed())), 0)
      assert.ok(compareFractions(result, sorted[0] as Fraction) >= 0)
      assert.ok(compareFractions(result, sorted.at(-1) as Fraction) <= 0)
    }),
  )
  assert.throws(() => median([]))
  assert.equal(shown(inverse(median([fractionOf(decimal('4'))]))), '0.25')
})

const isFreshAt = (id: string, atMs: number, sources: readonly FxSource[], nowMs: number, confirmedMs = nowMs) =>
  isFresh({ ...rate(id, 'EUR/USD', '1', atMs), confirmedMs }, sources, nowMs)

test('fresh up to the limit of its own source, stale a millisecond later; an unknown source is never fresh', () => {
  const source = { kind: 'http-json', url: 'https://rates.example/' }
  const { sources } = settingsWith({
    fx: {
      sources: [
        { ...source, id: 'a', staleMs: 1000 },
        { ...source, id: 'b', staleMs: 5000 },
      ],
    },
  }).fx
  assert.equal(isFreshAt('a', 100, sources, 1100), true)
  assert.equal(isFreshAt('a', 100, sources, 1101), false)
  assert.equal(isFreshAt('b', 100, sources, 5100), true)
  assert.equal(isFreshAt('gone', 100, sources, 100), false)
})

test('a rate may be 30 s ahead of our clock, and not a millisecond more', () => {
  const { sources } = settingsWith({ fx: { sources: [{ id: 'a', kind: 'push' }] } }).fx
  assert.equal(isFreshAt('a', 30_100, sources, 100), true)
  assert.equal(isFreshAt('a', 30_101, sources, 100), false)
})

test('closed hours do not age a rate: the bank’s Friday rate is fresh on Monday morning and stale on Monday night', () => {
  const { sources } = settingsWith({ fx: { sources: [{ id: 'bank', kind: 'ecb', path: 'a.xml' }] } }).fx
  const friday = rate('bank', 'EUR/USD', '1.08', Date.UTC(2026, 10, 13, 13, 10))
  const at = (day: number, hour: number) => {
    const nowMs = Date.UTC(2026, 10, day, hour)
    return isFresh({ ...friday, confirmedMs: nowMs }, sources, nowMs)
  }
  // Friday 14:10 to midnight in Frankfurt is 9 h 50; the limit of 28 h is reached on Monday at 18:10 there.
  assert.deepEqual([at(14, 12), at(15, 23), at(16, 17), at(16, 18)], [true, true, true, false])
})

test('a polled rate must be confirmed within four intervals and two timeouts; a pushed one need not be', () => {
  const timing = { everyMs: 15_000, timeoutMs: 4000, staleMs: 3_600_000 }
  const { sources } = settingsWith({
    fx: {
      sources: [
        { id: 'a', kind: 'http-json', url: 'https://rates.example/', ...timing },
        { id: 'desk', kind: 'push', staleMs: 3_600_000 },
      ],
    },
  }).fx
  const isUsed = (id: string, confirmedMs: number) => isFreshAt(id, 1_000_000, sources, 2_000_000, confirmedMs)
  assert.deepEqual([isUsed('a', 1_932_000), isUsed('a', 1_931_999)], [true, false])
  // Confirmed by a clock that was ahead.
  assert.deepEqual([isUsed('a', 2_068_000), isUsed('a', 2_068_001)], [true, false])
  assert.equal(isUsed('desk', 1_000_000), true)
})

const midWithOutlierLimit = (texts: readonly string[], outlierPpm = 20_000n) => {
  const rates = texts.map((text, at) => rate(`s${at}`, 'EUR/USD', text))
  const result = findMid(rates, 'EUR', 'USD', { crossVia: ['JPY'], outlierPpm })
  if (result.is !== 'mid') return result.is
  return { mid: shown(result.mid.value), leftOut: result.mid.leftOut.map(({ rate }) => rate) }
}

test('a rate that differs from the median of the others by more than the limit is excluded', () => {
  assert.deepEqual(midWithOutlierLimit(['1.08', '1.09', '1.50']), { mid: '1.085', leftOut: ['1.50'] })
  assert.deepEqual(midWithOutlierLimit(['1.08', '1.09', '0.10', '1.10', '9']), { mid: '1.09', leftOut: ['0.10', '9'] })
  assert.deepEqual(midWithOutlierLimit(['1.08']), { mid: '1.08', leftOut: [] })
})

test('the limit is included: 1.02 is two percent from 1, 1.020001 is more', () => {
  assert.deepEqual(midWithOutlierLimit(['1', '1.02']), { mid: '1.01', leftOut: [] })
  assert.equal(midWithOutlierLimit(['1', '1.020001']), 'disputed')
})

test('without a majority there is no mid: one against one, two against two, three different ones', () => {
  assert.equal(midWithOutlierLimit(['1.08', '1.20']), 'disputed')
  assert.equal(midWithOutlierLimit(['1', '1', '2', '2']), 'disputed')
  assert.equal(midWithOutlierLimit(['1', '1.5', '2.25']), 'disputed')
})

test('a disputed pair is not crossed instead, and a disputed leg disputes the cross', () => {
  const rates = [
    rate('a', 'EUR/USD', '1'),
    rate('b', 'EUR/USD', '2'),
    rate('a', 'EUR/JPY', '160'),
    rate('a', 'USD/JPY', '150'),
  ]
  const find = (from: string, to: string, via: string) =>
    findMid(rates, from, to, { crossVia: [via], outlierPpm: 20_000n }).is
  assert.equal(find('EUR', 'USD', 'JPY'), 'disputed')
  assert.equal(find('EUR', 'JPY', 'USD'), 'mid')
  const noDirect = rates.filter(({ quote, base }) => !(base === 'EUR' && quote === 'JPY'))
  assert.equal(findMid(noDirect, 'EUR', 'JPY', { crossVia: ['USD'], outlierPpm: 20_000n }).is, 'disputed')
})

test('with an outlier limit, a mid is within the limit of every rate it uses, in both orientations', () => {
  const texts = fc.array(fc.integer({ min: 90, max: 115 }), { minLength: 1, maxLength: 7 })
  fc.assert(
    fc.property(texts, (cents) => {
      const rates = cents.map((value, at) => rate(`s${at}`, 'EUR/USD', `1.${value + 100}`))
      const rules = { crossVia: [], outlierPpm: 20_000n }
      const there = findMid(rates, 'EUR', 'USD', rules)
      const back = findMid(rates, 'USD', 'EUR', rules)
      assert.equal(there.is, back.is)
      if (there.is !== 'mid' || back.is !== 'mid') return
      assert.equal(compareFractions(product(there.mid.value, back.mid.value), { numerator: 1n, denominator: 1n }), 0)
      assert.equal(there.mid.rates.length + there.mid.leftOut.length, rates.length)
      assert.ok(there.mid.rates.length >= 2 || rates.length === 1)
      for (const used of there.mid.rates) {
        const ratio = product(fractionOf(decimal(used.rate)), inverse(there.mid.value))
        assert.ok(compareFractions(ratio, { numerator: 102n, denominator: 100n }) <= 0)
        assert.ok(compareFractions(ratio, { numerator: 100n, denominator: 102n }) >= 0)
      }
    }),
  )
})

test('each side prices its own direction: a payer of EUR gets 1.25 USD, and a payer of USD 1 ÷ 1.28 EUR', () => {
  const sided = (source: string, pair: string, bid: string, ask: string): Rate => ({
    ...rate(source, pair, formatDecimal(decimal(String((Number(bid) + Number(ask)) / 2)))),
    bid,
    ask,
  })
  const one = [sided('a', 'EUR/USD', '1.25', '1.28')]
  assert.deepEqual([mid(one, 'EUR', 'USD'), mid(one, 'USD', 'EUR')], ['1.25', '0.78125'])
  // A source that states the pair the other way round: 0.78125 EUR for a payer of USD.
  const inverse = [sided('a', 'USD/EUR', '0.78125', '0.8')]
  assert.deepEqual([mid(inverse, 'EUR', 'USD'), mid(inverse, 'USD', 'EUR')], ['1.25', '0.78125'])
  const crossed = [...one, sided('a', 'USD/JPY', '160', '200')]
  assert.deepEqual([mid(crossed, 'EUR', 'JPY', ['USD']), mid(crossed, 'JPY', 'EUR', ['USD'])], ['200', '0.00390625'])
  const two = [...one, rate('b', 'EUR/USD', '1.26')]
  assert.equal(mid(two, 'EUR', 'USD'), '1.255')
})

test('a round trip over bids and asks never gains, direct or crossed, whatever the sources', () => {
  const price = fc.integer({ min: 90_000, max: 110_000 })
  const rates = fc.array(
    fc.record({
      source: fc.constantFrom('a', 'b', 'c'),
      pair: fc.constantFrom('EUR/USD', 'USD/EUR', 'USD/JPY', 'JPY/USD'),
      bid: price,
      width: fc.integer({ min: 0, max: 900 }),
      isSided: fc.boolean(),
    }),
    { maxLength: 9 },
  )
  fc.assert(
    fc.property(
      rates,
      fc.constantFrom('EUR', 'USD'),
      fc.option(fc.constant(20_000n), { nil: undefined }),
      (drawn, from, ppm) => {
        const list = drawn.map(({ source, pair, bid, width, isSided }, at): Rate => {
          const text = (units: number) => formatDecimal({ digits: BigInt(units), scale: 6 })
          const sides = isSided ? { bid: text(bid * 10), ask: text((bid + width) * 10) } : {}
          return { ...rate(source, pair, text(bid * 10 + width * 5), at), ...sides }
        })
        const rules = { crossVia: ['USD', 'EUR'], ...(ppm !== undefined && { outlierPpm: ppm }) }
        const there = findMid(list, from, 'JPY', rules)
        const back = findMid(list, 'JPY', from, rules)
        assert.equal(there.is, back.is)
        if (there.is !== 'mid' || back.is !== 'mid') return
        assert.ok(compareFractions(product(there.mid.value, back.mid.value), { numerator: 1n, denominator: 1n }) <= 0)
      },
    ),
  )
})
