// Computes rate, amounts, fee and collateral of a quote from the mid and the terms. Pure, exact, in integers of the
// smallest unit (behaviour/fx.md#rounding).
//
// 1. rate ≤ mid × (1 − spread). It is cut to 15 significant digits before amounts are computed from it: a JSON number
//    represents that many digits exactly, so the response shows the rate that was used.
// 2. A `to` that is computed from `from` is rounded down. In a request by `to`, the fee is rounded up and added to it.
//    Computed `from`, fee and collateral are rounded up. Rounding never favours the taker.
// 3. The fee is a share of the gross `to` amount, which includes it. A request by `from` whose recipient gets n, and a
//    request by `to` = n, cost the same.
import { type Decimal, divide, type Fraction, tenTo, toSignificant, unitsOf } from '#core/decimal.ts'
import { Fault } from '#core/fault.ts'
import type { Terms } from './resolve-offer.ts'

/** Significant digits of a rate. */
export const rateDigitsMax = 15
const amountPlaces = 6
const million = 1_000_000n
const uint256Max = 2n ** 256n - 1n

export interface RequestedAmount {
  readonly side: 'from' | 'to'
  readonly amount: Decimal
}

/** Amounts in units of 10^-places of their token. */
export interface Price {
  readonly rate: Decimal
  readonly from: bigint
  /** Gross: the recipient gets `to` less the fee. */
  readonly to: bigint
  /** In `to` units. */
  readonly fee: bigint
  /** In `from` units. */
  readonly collateral: bigint
}

/** Amounts have six decimals on the wire, or fewer if the token has fewer. */
export const decimalPlaces = (token: { readonly decimals: number }): number => Math.min(amountPlaces, token.decimals)

/** In the units of the token contract. */
export const toBaseUnits = (units: bigint, token: { readonly decimals: number }): bigint =>
  units * tenTo(token.decimals - decimalPlaces(token))

/** The terms of an offer, and the decimals of its tokens. */
export interface PricedOffer extends Terms {
  readonly from: { readonly decimals: number }
  readonly to: { readonly decimals: number }
}

export function computePrice(mid: Fraction, requested: RequestedAmount, offer: PricedOffer): Price {
  const rate = takerRate(mid, offer.spreadPpm)
  // The settings limit a spread to 99.99%, so only a mid of zero gives a rate of zero.
  if (rate.digits === 0n) throw new Error('the mid is zero')
  const fromPlaces = decimalPlaces(offer.from)
  const toPlaces = decimalPlaces(offer.to)
  const toPerFrom = { numerator: rate.digits * tenTo(toPlaces), denominator: tenTo(rate.scale + fromPlaces) }
  // The request has no more decimals than its token (quote-input.ts), so these amounts are exact.
  const amounts =
    requested.side === 'from'
      ? amountsByFrom(unitsOf(requested.amount, fromPlaces, 'down'), toPerFrom, offer)
      : amountsByTo(unitsOf(requested.amount, toPlaces, 'up'), toPerFrom, offer)
  if (amounts.to <= amounts.fee) {
    throw new Fault('fx.amount_range', { message: 'The amount is too small: the fee would take all of it.' })
  }
  if (toBaseUnits(amounts.from, offer.from) > uint256Max || toBaseUnits(amounts.to, offer.to) > uint256Max) {
    throw new Fault('fx.amount_range', { message: 'The amount is too large for its token.' })
  }
  return { rate, ...amounts, collateral: divide(amounts.from * offer.collateralPpm, million, 'up') }
}

const takerRate = ({ numerator, denominator }: Fraction, spreadPpm: bigint): Decimal =>
  toSignificant({ numerator: numerator * (million - spreadPpm), denominator: denominator * million }, rateDigitsMax)

/** The taker pays exactly `from`. `toPerFrom`: units of `to` for one unit of `from`. */
function amountsByFrom(from: bigint, { numerator, denominator }: Fraction, { feePpm }: Terms) {
  const to = divide(from * numerator, denominator, 'down')
  return { from, to, fee: divide(to * feePpm, million, 'up') }
}

/** The recipient gets exactly `net`. The fee is a share f of net plus fee, which is net × f ÷ (1 − f), rounded up. */
function amountsByTo(net: bigint, { numerator, denominator }: Fraction, { feePpm }: Terms) {
  // The settings limit a fee to 99.99%, so the divisor is above zero.
  const fee = divide(net * feePpm, million - feePpm, 'up')
  const to = net + fee
  return { from: divide(to * denominator, numerator, 'up'), to, fee }
}
