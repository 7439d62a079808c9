import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decimal, type Fraction, formatDecimal, fractionOf, inverse, toNumber } from '#core/decimal.ts'
import { Fault } from '#core/fault.ts'
import {
  computePrice,
  decimalPlaces,
  type Price,
  type PricedOffer,
  type RequestedAmount,
  toBaseUnits,
} from './price.ts'
import type { Terms } from './resolve-offer.ts'

const six = { decimals: 6 }
const eighteen = { decimals: 18 }
const requested = (side: 'from' | 'to', text: string): RequestedAmount => ({ side, amount: decimal(text) })
type Token = PricedOffer['from']
const offer = (from: Token, to: Token, spreadPpm: number, feePpm: number, collateralPpm = 0): PricedOffer => ({
  from,
  to,
  spreadPpm: BigInt(spreadPpm),
  feePpm: BigInt(feePpm),
  collateralPpm: BigInt(collateralPpm),
})
const midOfText = (text: string): Fraction => fractionOf(decimal(text))
const shown = (price: Price) => ({
  rate: formatDecimal(price.rate),
  from: formatDecimal({ digits: price.from, scale: 6 }),
  to: formatDecimal({ digits: price.to, scale: 6 }),
  fee: formatDecimal({ digits: price.fee, scale: 6 }),
  collateral: formatDecimal({ digits: price.collateral, scale: 6 }),
})

test('a request by from: 1000 at 0.92 less 5 bps', () => {
  // rate 0.92 × 0.9995 = 0.91954; to 919.54; fee 919.54 × 0.0002 = 0.183908; collateral 1000 × 0.1
  assert.deepEqual(
    shown(computePrice(midOfText('0.92'), requested('from', '1000'), offer(six, six, 500, 200, 100_000))),
    {
      rate: '0.91954',
      from: '1000.000000',
      to: '919.540000',
      fee: '0.183908',
      collateral: '100.000000',
    },
  )
})

test('a request by to: the recipient gets the requested amount', () => {
  // fee 1000 × 0.0002 ÷ 0.9998 = 0.20004000… up; to 1000.200041; from 1000.200041 ÷ 0.91954 = 1087.7178…
  const price = computePrice(midOfText('0.92'), requested('to', '1000'), offer(six, six, 500, 200))
  assert.deepEqual(shown(price), {
    rate: '0.91954',
    from: '1087.717817',
    to: '1000.200041',
    fee: '0.200041',
    collateral: '0.000000',
  })
})

test('to is rounded down, from and fee up: 1 at 0.3333333 is 0.333333, 1 back costs 3.000001', () => {
  const third = midOfText('0.3333333')
  assert.equal(shown(computePrice(third, requested('from', '1'), offer(six, six, 0, 0))).to, '0.333333')
  assert.equal(shown(computePrice(third, requested('from', '1'), offer(six, six, 0, 1))).fee, '0.000001')
  assert.equal(shown(computePrice(third, requested('to', '1'), offer(six, six, 0, 0))).from, '3.000001')
})

test('amounts of a token with two decimals are whole cents', () => {
  const cents = { decimals: 2 }
  const price = computePrice(midOfText('0.92'), requested('from', '10.01'), offer(six, cents, 0, 200))
  // 10.01 × 0.92 = 9.2092, down to 9.20; fee 9.20 × 0.0002 = 0.00184, up to 0.01
  assert.equal(price.to, 920n)
  assert.equal(price.fee, 1n)
  assert.equal(toBaseUnits(price.to, cents), 920n)
})

test('an amount smaller than its fee or larger than 256 bits is out of range', () => {
  const outOfRange = (error: unknown) => error instanceof Fault && error.code === 'fx.amount_range'
  assert.throws(() => computePrice(midOfText('0.92'), requested('from', '0.000001'), offer(six, six, 0, 0)), outOfRange)
  assert.throws(() => computePrice(midOfText('1'), requested('from', '0.000001'), offer(six, six, 0, 1)), outOfRange)
  assert.throws(
    () => computePrice(midOfText('1'), requested('to', `1${'0'.repeat(60)}`), offer(six, eighteen, 0, 0)),
    outOfRange,
  )
})

const tokens = fc.constantFrom(six, eighteen, { decimals: 2 }, { decimals: 0 }, { decimals: 36 })
const bps = fc.bigInt(0n, 200_000n)
const anyTerms = fc.record({ spreadPpm: bps, feePpm: bps, collateralPpm: bps })
/** From very small to very large rates. */
const anyMid = fc.record({ numerator: fc.bigInt(1n, 10n ** 12n), denominator: fc.bigInt(1n, 10n ** 8n) })
const amounts = fc.bigInt(1n, 10n ** 15n)
const sides = fc.constantFrom('from' as const, 'to' as const)

interface Case {
  readonly mid: Fraction
  readonly terms: Terms
  readonly from: { readonly decimals: number }
  readonly to: { readonly decimals: number }
  readonly side: 'from' | 'to'
  readonly units: bigint
}
const cases: fc.Arbitrary<Case> = fc.record({
  mid: anyMid,
  terms: anyTerms,
  from: tokens,
  to: tokens,
  side: sides,
  units: amounts,
})

/** Undefined if the fee takes the whole amount, because then there is no quote. */
function priced({ mid, terms, from, to, side, units }: Case): Price | undefined {
  const places = decimalPlaces(side === 'from' ? from : to)
  try {
    return computePrice(mid, { side, amount: { digits: units, scale: places } }, { ...terms, from, to })
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

const forEach = (hold: (price: Price, drawn: Case) => void) => {
  let quotes = 0
  fc.assert(
    fc.property(cases, (drawn) => {
      const price = priced(drawn)
      if (!price) return
      quotes += 1
      hold(price, drawn)
    }),
    { numRuns: 500 },
  )
  assert.ok(quotes > 100, `only ${quotes} of the drawn cases made a quote`)
}

test('to = from × rate within one unit, with the rate of the response', () => {
  forEach(({ rate, from, to }, drawn) => {
    const onWire = decimal(JSON.stringify(toNumber(rate)))
    // Both sides multiplied out: to × 10^(scale + fromPlaces) against from × digits × 10^toPlaces
    const paid = from * onWire.digits * 10n ** BigInt(decimalPlaces(drawn.to))
    const received = to * 10n ** BigInt(onWire.scale + decimalPlaces(drawn.from))
    const unit =
      drawn.side === 'from'
        ? 10n ** BigInt(onWire.scale + decimalPlaces(drawn.from))
        : onWire.digits * 10n ** BigInt(decimalPlaces(drawn.to))
    assert.ok(paid >= received, 'rounded in the favour of the taker')
    assert.ok(paid - received < unit, 'more than one unit off')
  })
})

test('the requested amount is exact: what the taker pays, or what the recipient gets', () => {
  forEach(({ from, to, fee }, { side, units }) => assert.equal(side === 'from' ? from : to - fee, units))
})

test('the fee is its share of to, the collateral its share of from, both rounded up', () => {
  const upward = (amount: bigint, ppm: bigint) => (amount * ppm + 999_999n) / 1_000_000n
  forEach(({ from, to, fee, collateral }, { terms }) => {
    assert.equal(fee, upward(to, terms.feePpm))
    assert.equal(collateral, upward(from, terms.collateralPpm))
  })
})

test('the price is never better than the mid for the taker', () => {
  forEach(({ from, to }, { mid, ...drawn }) => {
    // to ÷ 10^toPlaces ≤ from ÷ 10^fromPlaces × mid
    const received = to * 10n ** BigInt(decimalPlaces(drawn.from)) * mid.denominator
    assert.ok(received <= from * 10n ** BigInt(decimalPlaces(drawn.to)) * mid.numerator)
  })
})

test('a round trip never gains, even without spread and fee', () => {
  fc.assert(
    fc.property(cases, sides, fc.boolean(), (drawn, sideBack, free) => {
      const terms = free ? { spreadPpm: 0n, feePpm: 0n, collateralPpm: 0n } : drawn.terms
      const there = priced({ ...drawn, terms })
      if (!there) return
      const net = there.to - there.fee
      const back = { mid: inverse(drawn.mid), terms, from: drawn.to, to: drawn.from, side: sideBack }
      if (sideBack === 'from') {
        const returned = priced({ ...back, units: net })
        if (returned) assert.ok(returned.to - returned.fee <= there.from)
      } else {
        // Buying the amount back costs at least what was received for it.
        const returned = priced({ ...back, units: there.from })
        if (returned) assert.ok(returned.from >= net)
      }
    }),
    { numRuns: 500 },
  )
})

test('base units of a token with 18 decimals are the six decimals of the wire and twelve zeros', () => {
  const price = computePrice(
    midOfText('0.92'),
    requested('from', '1234567.654321'),
    offer(eighteen, eighteen, 500, 200),
  )
  assert.equal(toBaseUnits(price.from, eighteen), 1_234_567_654_321_000_000_000_000n)
  assert.equal(toBaseUnits(price.to, eighteen) % 10n ** 12n, 0n)
})
