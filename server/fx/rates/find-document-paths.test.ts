import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FxSource } from '#runtime/settings/fx.ts'
import { settingsWith, testNowMs } from '#test/context.ts'
import { findDocumentPaths } from './find-document-paths.ts'
import { parseKeepingDigits, parseRateDocument } from './rate-document.ts'

const url = 'https://rates.example/products/EUR-USD/ticker'
const timestamp = testNowMs / 1000
const time = new Date(testNowMs).toISOString()

/** The rates that the found settings read from the same document. */
function readWithFound(document: unknown): readonly string[] | undefined {
  const found = findDocumentPaths(document, url)
  if (!found) return undefined
  const source = settingsWith({ fx: { sources: [{ id: 'a', kind: 'http-json', url, ...found }] } }).fx.sources[0]
  const { rates, rejected } = parseRateDocument(
    parseKeepingDigits(JSON.stringify(document)),
    source as FxSource,
    testNowMs,
  )
  assert.deepEqual(rejected, [])
  return rates.map(({ base, quote, rate, atMs }) => `${base}/${quote} ${rate} ${(testNowMs - atMs) / 1000}`)
}

test('documents without a list are recognized: keyed by currency, with one price or bid and ask', () => {
  const rates = { EUR: 0.92, USD: 1, JPY: 151.37 }
  const read = ['USD/EUR 0.92 0', 'USD/JPY 151.37 0']
  assert.deepEqual(readWithFound({ disclaimer: 'x', timestamp, base: 'USD', rates }), read)
  assert.deepEqual(
    readWithFound({ result: 'success', time_last_update_unix: timestamp, base_code: 'USD', rates }),
    read,
  )
  const sides = { JPY: { bid: 151.36, ask: 151.38, mid: 151.37 } }
  assert.deepEqual(readWithFound({ timestamp, base: 'USD', rates: sides }), ['USD/JPY 151.37 0'])
})

test('a document with a date is read as daily rates, and one without a time as received', () => {
  const daily = { amount: 1, base: 'EUR', date: '2026-11-13', rates: { USD: 1.0842 } }
  assert.deepEqual(readWithFound(daily), [`EUR/USD 1.0842 ${2.5 * 86_400}`])
  assert.equal(findDocumentPaths(daily, url)?.staleMs, 345_600_000)
  assert.deepEqual(readWithFound({ base: 'EUR', rates: { USD: 1.0842 } }), ['EUR/USD 1.0842 0'])
})

test('a single price is recognized, and its pair is in the document or in the URL', () => {
  assert.deepEqual(readWithFound({ bid: '1.0841', ask: '1.0843', price: '1.2', time }), ['EUR/USD 1.0842 0'])
  assert.deepEqual(readWithFound({ from: 'GBP', to: 'USD', rate: 1.27, timestamp }), ['GBP/USD 1.27 0'])
})

test('lists are recognized wherever they are, with other names', () => {
  const entry = { base: 'EUR', quote: 'USD', rate: '1.0842', time }
  assert.deepEqual(readWithFound({ rates: [entry] }), ['EUR/USD 1.0842 0'])
  assert.deepEqual(readWithFound([{ from: 'EUR', to: 'USD', price: '1.0842', updated_at: time }]), ['EUR/USD 1.0842 0'])
})

test('other documents are not recognized', () => {
  for (const document of [null, 7, 'text', [], {}, { error: 'invalid key' }, { rates: {} }, { rates: { EUR: 0.92 } }])
    assert.equal(findDocumentPaths(document, url), undefined, JSON.stringify(document))
})
