// Computes rate, amounts, fee and collateral of a quote from the mid and the terms. Pure, exact, in integers of the
// smallest unit (behaviour/fx.md#rounding).
//
// 1. rate ≤ mid × (1 − spread). It is cut to 15 significant digits before amounts are computed from it: a JSON number
//    represents that many digits exactly, so the response shows the rate that was used.
// 2. Computed `to` is rounded down; computed `from`, fee and collateral are rounded up. Rounding never favours the taker.
// 3. The fee is a share of the `to` amount including the fee, so a request by `from` and one by `to` agree.
import { type Decimal, divide, type Fraction, tenTo, toSignificant, unitsOf } from '#core/decimal.ts'
import { Fault } from '#core/fault.ts'
import type { Terms } from './resolve-offer.ts'

export const rateFigures = 15
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

type TokenDecimals = { readonly decimals: number }

export function computePrice(
  mid: Fraction,
  requested: RequestedAmount,
  terms: Terms,
  fromToken: TokenDecimals,
  toToken: TokenDecimals,
): Price {
  const rate = takerRate(mid, terms.spreadPpm)
  if (rate.digits === 0n) throw new Error('the mid is zero')
  const fromPlaces = decimalPlaces(fromToken)
  const toPlaces = decimalPlaces(toToken)
  // to = from × over ÷ under, both in their own units
  const over = rate.digits * tenTo(toPlaces)
  const under = tenTo(rate.scale + fromPlaces)
  const amounts =
    requested.side === 'from'
      ? amountsByFrom(unitsOf(requested.amount, fromPlaces, 'down'), over, under, terms)
      : amountsByTo(unitsOf(requested.amount, toPlaces, 'up'), over, under, terms)
  if (amounts.to <= amounts.fee) {
    throw new Fault('fx.amount_range', { message: 'The amount is too small: the fee would take all of it.' })
  }
  if (toBaseUnits(amounts.from, fromToken) > uint256Max || toBaseUnits(amounts.to, toToken) > uint256Max) {
    throw new Fault('fx.amount_range', { message: 'The amount is too large for its token.' })
  }
  return { rate, ...amounts, collateral: divide(amounts.from * terms.collateralPpm, million, 'up') }
}

const takerRate = ({ numerator: over, denominator: under }: Fraction, spreadPpm: bigint): Decimal =>
  toSignificant({ numerator: over * (million - spreadPpm), denominator: under * million }, rateFigures)

/** The taker pays exactly `from`; the recipient gets `to` less the fee. */
function amountsByFrom(from: bigint, over: bigint, under: bigint, { feePpm }: Terms) {
  const to = divide(from * over, under, 'down')
  return { from, to, fee: divide(to * feePpm, million, 'up') }
}

/** The recipient gets exactly `net`. The fee is a share f of net plus fee, which is net × f ÷ (1 − f), rounded up. */
function amountsByTo(net: bigint, over: bigint, under: bigint, { feePpm }: Terms) {
  const fee = divide(net * feePpm, million - feePpm, 'up')
  const to = net + fee
  return { from: divide(to * under, over, 'up'), to, fee }
}
