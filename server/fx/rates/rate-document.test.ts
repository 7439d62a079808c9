import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { FxSource } from '#runtime/settings/fx.ts'
import { settingsWith, testNowMs } from '#test/context.ts'
import { parseKeepingDigits, parseRateDocument, validateRate } from './rate-document.ts'

const sourceWith = (changes: object = {}): FxSource => {
  const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/', ...changes }
  return settingsWith({ fx: { sources: [source] } }).fx.sources[0] as FxSource
}
const read = (text: string, changes: object = {}) =>
  parseRateDocument(parseKeepingDigits(text), sourceWith(changes), testNowMs)
const time = new Date(testNowMs).toISOString()
const withRate = (rate: unknown) => JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', rate, time }] })

test('a document in the default format needs no paths', () => {
  assert.deepEqual(read(withRate('1.0842')), {
    rates: [{ source: 'a', base: 'EUR', quote: 'USD', rate: '1.0842', atMs: testNowMs }],
    rejected: [],
  })
})

test('a JSON number keeps every digit the source wrote', () => {
  const number = '1.08420000000000000000001'
  const text = withRate(0).replace('"rate":0', `"rate":${number}`)
  assert.equal(read(text).rates[0]?.rate, number)
  assert.equal(read(withRate(1e-7)).rates[0]?.rate, '0.0000001')
})

test('paths can start at the entry or at the top of the document; a fixed pair needs no paths', () => {
  const text = JSON.stringify({ meta: { asOf: testNowMs / 1000 }, data: { EURUSD: { last: 1.25 } } })
  const document = { list: 'data.EURUSD', rate: 'last', time: '$.meta.asOf' }
  assert.deepEqual(read(text, { pair: 'EUR/USD', document }).rates, [
    { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: testNowMs },
  ])
})

test('times are ISO 8601 with a zone, Unix seconds or milliseconds', () => {
  const at = (value: unknown) =>
    read(JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', rate: '1', time: value }] })).rates[0]?.atMs
  assert.equal(at('2026-11-15T13:00:00+01:00'), testNowMs)
  assert.equal(at(testNowMs / 1000), testNowMs)
  assert.equal(at(testNowMs), testNowMs)
  assert.equal(at(String(testNowMs)), testNowMs)
  const no = [
    '2026-11-15T12:00:00',
    'yesterday',
    '2026-13-15T12:00:00Z',
    '2026-02-30T12:00:00Z',
    '2026-11-14T24:00:00Z',
  ]
  for (const bad of [...no, 12, null, {}, '']) {
    assert.equal(at(bad), undefined, String(bad))
  }
})

test('zero, negative, non-numeric, implausible and missing rates are rejected with a reason', () => {
  const bad = ['0', '0.000', '-1.08', 'NaN', 'Infinity', '', '1e13', '0.0000000000001', null, true, {}, [], -1, 0]
  for (const rate of bad) {
    const { rates, rejected } = read(withRate(rate))
    assert.deepEqual(rates, [], String(rate))
    assert.equal(rejected[0]?.about, 'EUR/USD')
    assert.match(rejected[0]?.reason ?? '', /^the rate /)
  }
})

test('a rate in the future is rejected, because it would stay fresh too long', () => {
  const at = (aheadMs: number) => ({ base: 'EUR', quote: 'USD', rate: '1', time: testNowMs + aheadMs })
  assert.equal(read(JSON.stringify({ rates: [at(30_000)] })).rates.length, 1)
  assert.match(read(JSON.stringify({ rates: [at(30_001)] })).rejected[0]?.reason ?? '', /is 30 s ahead of this clock/)
})

test('a time that is NaN is rejected', () => {
  for (const atMs of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
    const read = validateRate({ source: 'a', base: 'EUR', quote: 'USD', rate: '1', atMs }, testNowMs)
    assert.match('reason' in read ? read.reason : '', /^the time is missing/)
  }
})

test('an invalid entry does not affect the others, and rates are sorted oldest first', () => {
  const entry = (base: string, atMs: number) => ({ base, quote: 'USD', rate: '1', time: atMs })
  const entries = [entry('EUR', testNowMs), entry('USD', testNowMs), 7, null, entry('GBP', testNowMs - 1000)]
  const { rates, rejected } = read(JSON.stringify({ rates: entries }))
  assert.deepEqual(
    rates.map(({ base }) => base),
    ['GBP', 'EUR'],
  )
  assert.equal(rejected.length, 3)
})

test('a document without its list, or with too many entries, is an error', () => {
  assert.throws(() => read('{"prices":[]}'), /no list at "rates"/)
  assert.throws(() => read('null'), /no list at "rates"/)
  assert.throws(() => read(JSON.stringify({ rates: new Array(1001).fill(0) })), /more than 1000/)
})

test('no document gives an invalid rate', () => {
  const leaf = fc.oneof(fc.constantFrom('EUR', 'USD', time, '1', '0', '-1', '1e400'), fc.double(), fc.string())
  const entry = fc.record({ base: leaf, quote: leaf, rate: leaf, time: leaf }, { requiredKeys: [] })
  fc.assert(
    fc.property(fc.array(fc.oneof(entry, fc.jsonValue()), { maxLength: 5 }), (entries) => {
      for (const rate of read(JSON.stringify({ rates: entries })).rates) {
        assert.match(rate.rate, /^\d+(\.\d+)?$/)
        assert.ok(Number(rate.rate) > 0 && Number(rate.rate) <= 1e12)
        assert.ok(Number.isSafeInteger(rate.atMs))
      }
    }),
    { numRuns: 500 },
  )
})

test('an exponent moves the decimal point exactly; it is not ignored if the settings do not name it', () => {
  const entry = { base: 'EUR', quote: 'USD', price: { price: '108425', expo: -5 }, time }
  const text = JSON.stringify({ rates: [entry] })
  const document = { rate: 'price.price', exponent: 'price.expo' }
  assert.deepEqual(read(text, { document }).rates[0]?.rate, '1.08425')
  const { rates, rejected } = read(text, { document: { rate: 'price.price' } })
  assert.deepEqual(rates, [])
  assert.match(rejected[0]?.reason ?? '', /has a member expo beside the rate; set document\.exponent/)
  const at = (price: unknown, expo: unknown) =>
    read(JSON.stringify({ rates: [{ ...entry, price: { price, expo } }] }), { document })
  assert.equal(at('2', 3).rates[0]?.rate, '2000')
  assert.equal(at(1.5, '-1').rates[0]?.rate, '0.15')
  assert.equal(at('1.5e2', -2).rates[0]?.rate, '1.50')
  for (const bad of [null, 'x', 1.5, {}, 99, -99, undefined])
    assert.match(at('2', bad).rejected[0]?.reason ?? '', /^the exponent /, String(bad))
})

test('a date counts from its start, and a source without times from the time of receipt, if the settings say so', () => {
  const withTime = (value: unknown) =>
    JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', rate: '1', time: value }] })
  const at = (value: unknown, times: string) => read(withTime(value), { document: { times } }).rates[0]?.atMs
  assert.equal(at('2026-11-15', 'date'), Date.UTC(2026, 10, 15))
  for (const bad of ['2026-02-30', time, testNowMs, null]) assert.equal(at(bad, 'date'), undefined, String(bad))
  assert.equal(at('2026-11-15', 'time'), undefined)
  for (const any of [undefined, 'yesterday', testNowMs - 1000]) assert.equal(at(any, 'received'), testNowMs)
})

test('the reason names what is in place of the rate', () => {
  const reasonOf = (rate: unknown) => read(withRate(rate)).rejected[0]?.reason
  assert.equal(reasonOf({ usd: '1' }), 'the rate is an object, not a decimal above zero; check document.rate')
  assert.equal(reasonOf(['1']), 'the rate is a list, not a decimal above zero; check document.rate')
  assert.equal(reasonOf(true), 'the rate is a boolean, not a decimal above zero; check document.rate')
  assert.equal(reasonOf(null), 'the rate is null, not a decimal above zero; check document.rate')
  assert.equal(reasonOf(undefined), 'the rate is missing; check document.rate')
  assert.equal(reasonOf('N/A'), 'the rate N/A is not a decimal above zero')
})

test('a number of decimals moves the decimal point to the left; an integer beside one is refused otherwise', () => {
  const at = (price: unknown, decimals: unknown, document: object = { rate: 'price', decimals: 'decimals' }) =>
    read(JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', price, decimals, time }] }), { document })
  assert.equal(at('108425', 5).rates[0]?.rate, '1.08425')
  assert.equal(at(150, 0).rates[0]?.rate, '150')
  for (const bad of [-1, 37, 1.5, null, 'x', {}])
    assert.match(at('2', bad).rejected[0]?.reason ?? '', /^the number of decimals .+ check document\.decimals/)
  assert.match(at('108425', 5, { rate: 'price' }).rejected[0]?.reason ?? '', /a member decimals beside the rate/)
  // A price with a decimal point is not in units of its decimals: they say how it is displayed.
  assert.equal(at('1.0842', 4, { rate: 'price' }).rates[0]?.rate, '1.0842')
})

test('bid and ask give their exact mean, and keep both sides if the settings say so', () => {
  const at = (bid: unknown, ask: unknown, changes: object = {}) =>
    read(JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', bid, ask, time }] }), {
      document: { bid: 'bid', ask: 'ask', ...changes },
    })
  assert.deepEqual(at('1.1', 1.1001).rates, [
    { source: 'a', base: 'EUR', quote: 'USD', rate: '1.10005', atMs: testNowMs },
  ])
  assert.deepEqual(at('1.1', '1.1', { sides: 'each' }).rates, [
    { source: 'a', base: 'EUR', quote: 'USD', rate: '1.1', bid: '1.1', ask: '1.1', atMs: testNowMs },
  ])
  const reasonOf = (bid: unknown, ask: unknown) => at(bid, ask).rejected[0]?.reason
  assert.equal(reasonOf('1.1', '1.0999'), 'the bid 1.1 is above the ask 1.0999')
  assert.equal(at('1', '1.02').rates.length, 1)
  assert.equal(reasonOf('1', '1.020001'), 'the ask 1.020001 is too far above the bid 1 (fx.outlierBps)')
  assert.equal(reasonOf('1.1', undefined), 'the ask is missing; check document.ask')
  assert.equal(reasonOf(null, '1.1'), 'the bid is null, not a decimal above zero; check document.bid')
})

test('the entries of an object have names, and a list has none', () => {
  const document = { list: 'rates', base: '$.base', quote: '$key', rate: '', time: '$.at' }
  const text = JSON.stringify({ base: 'USD', at: time, rates: { EUR: 0.92, USD: 1 } })
  assert.deepEqual(read(text, { document }), {
    rates: [{ source: 'a', base: 'USD', quote: 'EUR', rate: '0.92', atMs: testNowMs }],
    rejected: [],
  })
  assert.throws(
    () => read(withRate('1'), { document }),
    /"rates" in the document is a list, so its entries have no names/,
  )
})

test('names in a document may contain dots if the path is a list', () => {
  const text = JSON.stringify({ 'a.b': [{ '1. base': 'EUR', '2. rate': '1.25' }], 'c.d': time })
  const document = { list: ['a.b'], base: ['1. base'], rate: ['2. rate'], time: ['$', 'c.d'] }
  assert.deepEqual(read(text, { pair: 'EUR/USD', document }).rates, [
    { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: testNowMs },
  ])
})

test('a time without a zone is in UTC only if the settings say so', () => {
  const at = (times: string) =>
    read(JSON.stringify({ rates: [{ base: 'EUR', quote: 'USD', rate: '1', time: '2026-11-15 12:00:00' }] }), {
      document: { times },
    }).rates[0]?.atMs
  assert.deepEqual([at('utc'), at('time')], [testNowMs, undefined])
})
