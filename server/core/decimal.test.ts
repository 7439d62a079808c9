import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  compare,
  compareFractions,
  type Decimal,
  decimal,
  divide,
  fits,
  formatDecimal,
  fractionOf,
  inverse,
  mean,
  parseDecimal,
  product,
  toNumber,
  toSignificant,
  unitsOf,
} from './decimal.ts'

const anyDecimal = fc
  .record({ digits: fc.bigInt({ min: 0n, max: 10n ** 40n }), scale: fc.integer({ min: 0, max: 30 }) })
  .map((value): Decimal => ({ ...value }))

test('plain and exponent notation are parsed exactly; anything else is rejected', () => {
  const table: [string, string | undefined][] = [
    ['0', '0'],
    ['1.0842', '1.0842'],
    ['1.50', '1.50'],
    ['007.5', '7.5'],
    ['1e-7', '0.0000001'],
    ['1.25E+2', '125'],
    ['12345678901234567890.123456789012345678', '12345678901234567890.123456789012345678'],
    ...['', '.5', '5.', '-1', '+1', 'NaN', 'Infinity', '0x10', '1,5', ' 1', '1e9999', '1e101', '1'.repeat(129)].map(
      (text): [string, undefined] => [text, undefined],
    ),
  ]
  for (const [text, expected] of table) {
    const parsed = parseDecimal(text)
    assert.equal(parsed && formatDecimal(parsed), expected, text)
  }
  assert.throws(() => decimal('-1'), /not a decimal/)
})

test('parsing a formatted decimal returns it unchanged', () => {
  fc.assert(fc.property(anyDecimal, (value) => assert.deepEqual(decimal(formatDecimal(value)), value)))
})

test('division rounds in the given direction: 7 ÷ 2 is 3 down and 4 up, 6 ÷ 2 is 3 both ways', () => {
  assert.equal(divide(7n, 2n, 'down'), 3n)
  assert.equal(divide(7n, 2n, 'up'), 4n)
  assert.equal(divide(6n, 2n, 'down'), 3n)
  assert.equal(divide(6n, 2n, 'up'), 3n)
  assert.throws(() => divide(1n, 0n, 'up'))
  assert.throws(() => divide(-1n, 2n, 'up'))
})

test('units round in the given direction, and a value fits if both directions agree', () => {
  assert.equal(unitsOf(decimal('1.0000005'), 6, 'down'), 1_000_000n)
  assert.equal(unitsOf(decimal('1.0000005'), 6, 'up'), 1_000_001n)
  assert.equal(unitsOf(decimal('2'), 18, 'up'), 2n * 10n ** 18n)
  assert.equal(fits(decimal('1.50'), 1), true)
  assert.equal(fits(decimal('1.55'), 1), false)
})

test('comparison ignores the scale', () => {
  assert.equal(compare(decimal('1.5'), decimal('1.500')), 0)
  assert.equal(compare(decimal('0.1'), decimal('0.09')), 1)
  assert.equal(compare(decimal('99'), decimal('100.1')), -1)
})

test('inverse and mean are exact: the mean of 1/3 and 1/2 is 5/12', () => {
  const third = inverse(fractionOf(decimal('3')))
  assert.equal(
    compareFractions(mean(third, { numerator: 1n, denominator: 2n }), { numerator: 5n, denominator: 12n }),
    0,
  )
  assert.equal(
    compareFractions(product(third, { numerator: 3n, denominator: 1n }), { numerator: 1n, denominator: 1n }),
    0,
  )
  assert.throws(() => inverse(fractionOf(decimal('0'))))
})

test('significant digits are cut off, not rounded up', () => {
  assert.equal(formatDecimal(toSignificant({ numerator: 2n, denominator: 3n }, 5)), '0.66666')
  assert.equal(formatDecimal(toSignificant({ numerator: 20_000n, denominator: 3n }, 5)), '6666.6')
  assert.equal(formatDecimal(toSignificant({ numerator: 99_999_999n, denominator: 1n }, 5)), '99999000')
  assert.equal(formatDecimal(toSignificant({ numerator: 1n, denominator: 8n }, 15)), '0.125')
  assert.equal(formatDecimal(toSignificant({ numerator: 1n, denominator: 3_000_000n }, 3)), '0.000000333')
})

test('the result is at most the fraction and within one unit of the last digit', () => {
  const positive = fc.bigInt({ min: 1n, max: 10n ** 40n })
  fc.assert(
    fc.property(positive, positive, fc.integer({ min: 2, max: 20 }), (over, under, figures) => {
      const cut = toSignificant({ numerator: over, denominator: under }, figures)
      const exact = { numerator: over, denominator: under }
      assert.ok(compareFractions(fractionOf(cut), exact) <= 0)
      // cut × (1 + 10^(1 − figures)) > exact
      const above = { numerator: 10n ** BigInt(figures - 1) + 1n, denominator: 10n ** BigInt(figures - 1) }
      assert.ok(compareFractions(product(fractionOf(cut), above), exact) > 0)
      assert.ok(cut.digits.toString().replace(/0+$/, '').length <= figures)
    }),
  )
})

test('fifteen significant digits are exact as a JSON number', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 15n - 1n }), fc.integer({ min: 0, max: 30 }), (digits, scale) => {
      const text = JSON.stringify(toNumber({ digits, scale }))
      assert.equal(compare(decimal(text), { digits, scale }), 0)
    }),
  )
})
