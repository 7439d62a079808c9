// What a receipt says: everything a price was worked out from, in the words of the wire. It is written when the quote is
// made and stored with it, so that it tells what happened then, whatever the configuration has become. Pure.
import { createHash } from 'node:crypto'
import type { Quote } from '#api/wire/fx.ts'
import type { Receipt } from '#api/wire/fx-desk.ts'
import { formatDecimal } from '#core/decimal.ts'
import type { FxToken } from '#core/settings/fx.ts'
import type { QuoteInput } from './asked.ts'
import type { Mid, Rate } from './mid.ts'
import { type Asked, type Price, placesOf, rateFigures } from './price.ts'
import type { Offer } from './terms.ts'

export interface Priced {
  readonly input: QuoteInput
  readonly asked: Asked['side']
  readonly offer: Offer
  readonly mid: Mid
  readonly price: Price
  readonly outlierPpm: bigint
  readonly quote: Quote
  /** The quote as it is sent. */
  readonly reply: Uint8Array
}

export function receiptOf({ input, asked, offer, mid, price, outlierPpm, quote, reply }: Priced): Receipt {
  const { from, to } = offer
  return {
    version: '1',
    quote: {
      id: quote.id,
      type: input.type,
      tenor: input.tenor,
      createdAt: quote.createdAt,
      expiresAt: quote.expiresAt,
      from: side(from, quote.from.amount),
      to: side(to, quote.to.amount),
      rate: formatDecimal(price.rate),
      fee: quote.fee,
      collateral: quote.collateral ?? '0',
      sha256: sha256(reply),
    },
    asked,
    rates: mid.rates.map(toLine),
    leftOut: mid.leftOut.map(toLine),
    via: mid.via ?? null,
    mid: { over: mid.value.over.toString(), under: mid.value.under.toString() },
    terms: {
      spreadPpm: Number(offer.spreadPpm),
      feePpm: Number(offer.feePpm),
      collateralPpm: Number(offer.collateralPpm),
      outlierPpm: Number(outlierPpm),
    },
    rounding: {
      rateFigures,
      fromPlaces: placesOf(from),
      toPlaces: placesOf(to),
      ...({ to: 'down', from: 'up', fee: 'up', collateral: 'up' } as const),
    },
  }
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const side = ({ code, tracks, decimals }: FxToken, amount: string) => ({ currency: code, tracks, decimals, amount })

const toLine = ({ source, base, quote, rate, atMs }: Rate): Receipt['rates'][number] => ({
  source,
  base,
  quote,
  rate,
  at: new Date(atMs).toISOString(),
})
