import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { alignDecimals, divideIntegers, groupThousands, gwei, subtractDecimals } from './format.ts'

test('subtracting decimals is exact', () => {
  // 1000.200041 − 0.200041; 919.54 − 0.183908; beyond the digits of a float
  assert.equal(subtractDecimals('1000.200041', '0.200041'), '1000')
  assert.equal(subtractDecimals('919.540000', '0.183908'), '919.356092')
  assert.equal(subtractDecimals('123456789012345678901.5', '0.25'), '123456789012345678901.25')
  assert.equal(subtractDecimals('5', '5'), '0')
  assert.equal(subtractDecimals('100', '0'), '100')
  assert.equal(subtractDecimals('0.1', '0.25'), '−0.15')
})

test('amounts with thousands separators keep every digit', () => {
  assert.equal(groupThousands('889744.51'), '889,744.51')
  assert.equal(groupThousands('-123456789012345678901.10'), '−123,456,789,012,345,678,901.10')
  assert.equal(groupThousands('n/a'), 'n/a')
})

test('a fraction is shown as a decimal of twelve digits, cut', () => {
  assert.equal(divideIntegers('5000', '5421'), '0.922339051835')
  assert.equal(divideIntegers('5421', '5000'), '1.0842')
  assert.equal(divideIntegers('1', '150'), '0.00666666666666')
  assert.equal(divideIntegers('3000', '2'), '1500')
  assert.equal(divideIntegers('0', '7'), '0')
})

test('subtracting a fee from amount plus fee returns the amount', () => {
  const money = fc.bigInt(0n, 10n ** 30n)
  const text = (millionths: bigint) => `${millionths / 1_000_000n}.${String(millionths % 1_000_000n).padStart(6, '0')}`
  fc.assert(
    fc.property(money, money, (left, fee) => {
      const short = text(left).replace(/\.?0+$/, '')
      assert.equal(subtractDecimals(text(left + fee), text(fee)), short)
    }),
  )
})

test('amounts of a column have the same number of decimals', () => {
  assert.deepEqual(
    [1_500_000_000, 0, -20].map((amount) => gwei(amount, 9)),
    ['1.500000000 ETH', '0.000000000 ETH', '−0.000000020 ETH'],
  )
  assert.deepEqual(alignDecimals(['1000', '920.94', '0.000001']), ['1000.000000', '920.940000', '0.000001'])
  assert.deepEqual(alignDecimals(['1', '20']), ['1', '20'])
})
