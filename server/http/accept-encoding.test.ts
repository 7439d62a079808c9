import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { encodingFor } from './accept-encoding.ts'

const ours = ['br', 'gzip'] as const

describe('examples', () => {
  const table: readonly (readonly [header: string | undefined, taken: string | undefined])[] = [
    [undefined, undefined],
    ['', undefined],
    ['gzip, deflate, br, zstd', 'br'],
    ['x-gzip', 'gzip'],
    ['GZIP ; Q=0.5', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0', undefined],
    ['br;q=0, *', 'gzip'],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['*;q=0, gzip', 'gzip'],
    ['gzip;q=0.5, *', 'br'],
    ['gzip;q=0, x-gzip', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0, deflate', undefined],
    ['gzip;q=1.5', undefined],
    ['gzip;q=', undefined],
    ['gzipped, agzip', undefined],
    [',,;q=1, gzip', 'gzip'],
  ]
  for (const [header, taken] of table) {
    test(`"${header}" selects ${taken ?? 'no encoding'}`, () => assert.equal(encodingFor(header, ours), taken))
  }

  test('sends uncompressed if `*` gives identity a higher weight than the only encoding', () => {
    assert.equal(encodingFor('gzip;q=0.5, *', ['gzip']), undefined)
    assert.equal(encodingFor('gzip;q=0.5, *;q=0.4', ['gzip']), 'gzip')
  })
})

const name = fc.constantFrom('br', 'gzip', 'identity', '*', 'deflate', 'zstd')
/** Weights in thousandths. */
const entry = fc.tuple(name, fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }))
const spaces = fc.constantFrom('', ' ', '\t ')
const headerOf = (entries: readonly (readonly [string, number | undefined])[], space: string) =>
  entries
    .map(([one, weight]) => (weight === undefined ? one : `${one}${space};${space}q=${(weight / 1000).toFixed(3)}`))
    .join(`${space},${space}`)

test('the selected encoding is accepted and has the highest weight', () => {
  const entries = fc.uniqueArray(entry, { selector: ([one]) => one, maxLength: 6 })
  fc.assert(
    fc.property(entries, spaces, (stated, space) => {
      const taken = encodingFor(headerOf(stated, space), ours)
      const weights = new Map<string, number>(stated.map(([one, weight]) => [one, weight ?? 1000]))
      const weightOf = (one: string) => weights.get(one) ?? weights.get('*') ?? 0
      if (taken === undefined) {
        for (const one of ours) assert.ok(weightOf(one) === 0 || weightOf(one) < weightOf('identity'))
      } else {
        assert.ok(weightOf(taken) > 0)
        for (const one of [...ours, 'identity']) assert.ok(weightOf(taken) >= weightOf(one))
      }
    }),
  )
})

test('any header is parsed, and one of 100 000 characters in linear time', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary-ascii' }), (text) => void encodingFor(text, ours)))
  const ones = '1'.repeat(50_000)
  const zeros = '0'.repeat(50_000)
  const blanks = ' '.repeat(100_000)
  // A backtracking pattern would take minutes for these.
  for (const text of [`gzip;q=.${ones}${zeros}x`, `gzip${blanks}x`, `${blanks};q=1`, ','.repeat(100_000)]) {
    assert.equal(encodingFor(text, ours), undefined)
  }
})
