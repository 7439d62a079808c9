// Builds the receipt of a quote: everything that its price was computed from. The receipt is stored with the quote, so it
// does not depend on later changes of the settings. Pure.
import { hash } from 'node:crypto'
import type { Quote } from '#api/contract/wire/fx.ts'
import type { Receipt } from '#api/contract/wire/fx-extensions.ts'
import { formatDecimal } from '#core/decimal.ts'
import type { FxToken } from '#runtime/settings/fx.ts'
import { type Mid, type Rate, sidesOf } from '../pricing/mid.ts'
import { decimalPlaces, type Price, type RequestedAmount, rateDigitsMax } from '../pricing/price.ts'
import type { QuoteInput } from '../pricing/quote-input.ts'
import type { RuledOffer } from '../pricing/rule-offer.ts'

export interface PricedRequest {
  readonly input: QuoteInput
  readonly requestedSide: RequestedAmount['side']
  readonly offer: RuledOffer
  readonly mid: Mid
  readonly price: Price
}

/** `reply`: the response with the quote. */
export function buildReceipt(priced: PricedRequest, quote: Quote, reply: Uint8Array, outlierPpm: bigint): Receipt {
  const { input, requestedSide, offer, mid, price } = priced
  const { from, to } = offer
  return {
    version: '2',
    quote: {
      id: quote.id,
      type: input.type,
      tenor: input.tenor,
      createdAt: quote.createdAt,
      expiresAt: quote.expiresAt,
      from: toReceiptSide(from, quote.from.amount),
      to: toReceiptSide(to, quote.to.amount),
      rate: formatDecimal(price.rate),
      fee: quote.fee,
      collateral: quote.collateral ?? '0',
      sha256: sha256(reply),
    },
    givenSide: requestedSide,
    rates: mid.rates.map(toReceiptRate),
    excluded: mid.leftOut.map(toReceiptRate),
    via: mid.via ?? null,
    mid: { numerator: mid.value.numerator.toString(), denominator: mid.value.denominator.toString() },
    rules: [...offer.rules],
    terms: {
      basicSpreadPpm: Number(offer.basicSpreadPpm),
      spreadPpm: Number(offer.spreadPpm),
      feePpm: Number(offer.feePpm),
      collateralPpm: Number(offer.collateralPpm),
      outlierPpm: Number(outlierPpm),
    },
    rounding: {
      rateDigits: rateDigitsMax,
      fromPlaces: decimalPlaces(from),
      toPlaces: decimalPlaces(to),
      ...({ to: 'down', from: 'up', fee: 'up', collateral: 'up' } as const),
    },
  }
}

export const sha256 = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex')

const toReceiptSide = ({ code, tracks, decimals }: FxToken, amount: string) => ({
  currency: code,
  tracks,
  decimals,
  amount,
})

const toReceiptRate = (stored: Rate): Receipt['rates'][number] => {
  const { source, base, quote, rate, atMs } = stored
  return { source, base, quote, rate, ...sidesOf(stored), at: new Date(atMs).toISOString() }
}
