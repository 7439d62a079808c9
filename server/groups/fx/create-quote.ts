// Spec 4.4. What is asked → what is offered → the mid of the fresh rates → the price → signed receipt → stored → answered.
// The answer is always the stored bytes, so that a replay cannot differ from the first reply (decision 0024).
import { contract } from '#api/contract.ts'
import { stringifyJson } from '#api/json.ts'
import type { Quote } from '#api/wire/fx.ts'
import { oldText } from '#core/age.ts'
import { canonicalJson } from '#core/canonical-json.ts'
import { compare, formatDecimal, toNumber } from '#core/decimal.ts'
import { signed } from '#core/ed25519.ts'
import { Fault } from '#core/fault.ts'
import type { FxSettings } from '#core/settings/fx.ts'
import { mayPriceTrades, timingOf } from '#core/settings/fx-sources.ts'
import { answer, type Outcome } from '#serve/answer.ts'
import { bodyHash, type QuoteInput, readAsked } from './asked.ts'
import type { FxContext } from './context.ts'
import { findMid, isFresh, type Mid } from './mid.ts'
import { type Asked, baseUnits, type Price, placesOf, priceOf } from './price.ts'
import { type KeptReply, keepQuote, type NewQuote, type Replay, replayed } from './quotes.ts'
import { latestRates } from './rate-store.ts'
import { receiptOf } from './receipt-body.ts'
import { receiptSigner, rememberedSigner } from './receipt-key.ts'
import { shape } from './shape.ts'
import { maturitySeconds, type Offer, offerOf, outlierPpm } from './terms.ts'
import { typedDataOf } from './typed-data.ts'

/** Everything a quote is made of, but for its id and nonce. */
interface Deal {
  readonly input: QuoteInput
  readonly keyId: string
  readonly asked: Asked['side']
  readonly offer: Offer
  readonly mid: Mid
  readonly price: Price
  readonly createdMs: number
}

export const createQuote = answer(contract['fx.createQuote'], shape, async (input, context: FxContext, { caller }) => {
  const { settings, state, clock } = context
  const asked = readAsked(input, settings.fx.tokens)
  const replay = replayOf(input, caller.keyId)
  const createdMs = clock.now()
  // Before pricing: a replay is owed even when the rates have gone stale or the pair is no longer offered.
  const earlier = replay && (await replayed(state, replay, createdMs))
  if (earlier) return sent(earlier)
  const offer = findOffer(settings.fx, input)
  // Signed for a contract that nobody has named, it could not be settled, or by whoever holds that address (decision 0183).
  if (input.type === 'tradable' && settings.fx.spender === '') throw new Fault('fx.no_spender')
  const mid = await freshMid(context, offer, input.type, createdMs)
  const price = priceWithin(mid, asked, offer)
  const deal = { input, keyId: caller.keyId, asked: asked.side, offer, mid, price, createdMs }
  return sent(await keepQuote(state, (attempt) => drawQuote(context, deal, attempt), replay, createdMs))
})

const sent = ({ reply, asOfMs }: KeptReply): Outcome<Quote> => ({
  is: 'bytes',
  bytes: reply,
  confidence: { asOf: new Date(asOfMs).toISOString() },
})

const replayOf = (input: QuoteInput, keyId: string): Replay | undefined =>
  input.idempotencyKey === undefined
    ? undefined
    : { keyId, idempotencyKey: input.idempotencyKey, bodyHash: bodyHash(input) }

function findOffer(fx: FxSettings, { from, to, tenor }: QuoteInput): Offer {
  const offer = offerOf(fx, from.currency, to.currency, tenor)
  if (offer) return offer
  const codes = fx.tokens.map(({ code }) => code)
  const unknown = [from.currency, to.currency].filter((code) => !codes.includes(code))
  throw new Fault('fx.pair_unknown', { says: notOffered(unknown, `${from.currency}/${to.currency}`) })
}

function notOffered(unknown: readonly string[], pair: string): string {
  if (unknown.length === 0) return `The pair ${pair} is not offered.`
  const [noun, verb] = unknown.length === 1 ? ['currency', 'is'] : ['currencies', 'are']
  return `The ${noun} ${unknown.join(' and ')} ${verb} not offered.`
}

/** A tradable quote rests only on sources that may price one (decision 0181). */
async function freshMid(
  { state, settings }: FxContext,
  { from, to }: Offer,
  type: QuoteInput['type'],
  nowMs: number,
): Promise<Mid> {
  const { crossVia } = settings.fx
  const sources = type === 'tradable' ? settings.fx.sources.filter(mayPriceTrades) : settings.fx.sources
  const latest = await latestRates(state, from.tracks, to.tracks)
  const fresh = latest.filter((rate) => isFresh(rate, sources, nowMs))
  const found = findMid(fresh, from.tracks, to.tracks, { crossVia, outlierPpm: outlierPpm(settings.fx) })
  if (found.is === 'mid') return found.mid
  const disputed = found.is === 'disputed'
  const shown = disputed ? latest.filter((rate) => found.rates.includes(rate)) : latest
  const told = shown.map(
    ({ source, base, quote, rate, atMs, confirmedMs }) =>
      `${source} ${base}/${quote} ${rate} ${oldText(nowMs - atMs)}, confirmation ${oldText(nowMs - confirmedMs)}`,
  )
  const isHeldBack = !disputed && sources.length < settings.fx.sources.length
  throw new Fault(disputed ? 'fx.rate_disputed' : 'fx.rate_stale', {
    ...(isHeldBack && { says: 'No fresh rate for this pair that may price a tradable quote.' }),
    detail: `${from.tracks}/${to.tracks}: ${told.join(', ') || 'no source has given a rate'}`,
    retryAfterMs: Math.min(5000, ...sources.map((source) => timingOf(source).everyMs)),
  })
}

function priceWithin(mid: Mid, asked: Asked, offer: Offer): Price {
  const price = priceOf(mid.value, asked, offer, offer.from, offer.to)
  const given = { digits: price.from, scale: placesOf(offer.from) }
  if (compare(given, offer.min) < 0 || compare(given, offer.max) > 0) {
    const [min, max] = [formatDecimal(offer.min), formatDecimal(offer.max)]
    throw new Fault('fx.amount_range', {
      says: `The amount is outside the range offered for this pair: ${min} to ${max} ${offer.from.code}.`,
      terms: { min, max, currency: offer.from.code },
    })
  }
  return price
}

async function drawQuote(context: FxContext, deal: Deal, attempt: number): Promise<NewQuote> {
  const { input, keyId, mid, createdMs } = deal
  // The key that is remembered may have been retired by another process.
  const signer = await (attempt === 0 ? rememberedSigner(context) : receiptSigner(context))
  const id = context.random.uuid()
  const nonce = input.type === 'tradable' ? drawNonce(context.random.bytes(7)) : null
  const expiresMs = createdMs + context.settings.fx.expirySeconds[input.type] * 1000
  const quote = toQuote(context.settings.fx, deal, { id, nonce, expiresMs })
  const utf8 = new TextEncoder()
  const reply = utf8.encode(stringifyJson(quote))
  const pricedFrom = canonicalJson(receiptOf({ ...deal, quote, reply, outlierPpm: outlierPpm(context.settings.fx) }))
  return {
    id,
    keyId,
    createdMs,
    asOfMs: Math.min(createdMs, ...mid.rates.map(({ atMs }) => atMs)),
    nonce,
    pricedFrom,
    receiptKey: signer.id,
    receiptSignature: await signed(signer.key, utf8.encode(pricedFrom)),
    reply,
  }
}

/** 53 bits, the most that a JSON number carries exactly. */
const drawNonce = (bytes: Uint8Array): number =>
  bytes.reduce((sum, byte, place) => sum + (place === 0 ? byte & 31 : byte) * 256 ** (6 - place), 0)

function toQuote(
  fx: FxSettings,
  { input, offer, price, createdMs }: Deal,
  drawn: { readonly id: string; readonly nonce: number | null; readonly expiresMs: number },
): Quote {
  const { from, to } = offer
  const inFrom = (units: bigint) => formatDecimal({ digits: units, scale: placesOf(from) })
  const inTo = (units: bigint) => formatDecimal({ digits: units, scale: placesOf(to) })
  const quote: Quote = {
    id: drawn.id,
    rate: toNumber(price.rate),
    to: { currency: to.code, amount: inTo(price.to) },
    // What was asked stays as it was written, but for zeros before it; what was computed has all its decimals (decision 0176).
    from: { currency: from.code, amount: input.from.amount?.replace(/^0+(?=\d)/, '') ?? inFrom(price.from) },
    createdAt: new Date(createdMs).toISOString(),
    expiresAt: new Date(drawn.expiresMs).toISOString(),
    fee: inTo(price.fee),
  }
  if (price.collateral > 0n) quote.collateral = inFrom(price.collateral)
  if (drawn.nonce === null || input.recipientAddress === undefined) return quote
  quote.typedData = typedDataOf({
    chainId: fx.chainId,
    permit2: fx.permit2,
    spender: fx.spender,
    quoteId: drawn.id,
    from: { contract: from.contract, amount: baseUnits(price.from, from) },
    to: { contract: to.contract, amount: baseUnits(price.to, to) },
    fee: baseUnits(price.fee, to),
    collateral: baseUnits(price.collateral, from),
    recipient: input.recipientAddress,
    nonce: drawn.nonce,
    maturitySeconds: Math.floor(createdMs / 1000) + maturitySeconds[input.tenor],
  })
  return quote
}
