// Spec 4.4: prices a quote, signs its receipt, stores both and returns the quote.
// The response is always the stored bytes, so a replay is identical to the first response
// (behaviour/fx.md#stored-quotes).
import { contract } from '#api/contract/contract.ts'
import { stringifyJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import { messageWithText } from '#api/contract/with-numbers-as-text.ts'
import { formatAgeOf } from '#core/age.ts'
import { compare, formatDecimal, product, toNumber } from '#core/decimal.ts'
import { Fault } from '#core/fault.ts'
import { createHandler, type HandlerResult } from '#http/handler.ts'
import type { FxSettings } from '#runtime/settings/fx.ts'
import { mayPriceTrades, timingOf } from '#runtime/settings/fx-sources.ts'
import type { FxContext } from '../context.ts'
import { countTowardsHour } from '../pricing/hour-limit.ts'
import { contradictedMs, findMid, isFresh, type Mid } from '../pricing/mid.ts'
import { applyOverrides, knownOverrides, type Overrides, readOverrides } from '../pricing/overrides.ts'
import { computePrice, decimalPlaces, type Price, type RequestedAmount, toBaseUnits } from '../pricing/price.ts'
import { bodyHash, type QuoteInput, readRequestedAmount } from '../pricing/quote-input.ts'
import { findReplay, type NewQuote, type Replay, type StoredReply, storeQuote } from '../pricing/quotes.ts'
import { maturitySeconds, type Offer, outlierPpm, resolveOffer } from '../pricing/resolve-offer.ts'
import { applyRules, type RuledOffer } from '../pricing/rule-offer.ts'
import { latestRates } from '../rates/rate-store.ts'
import { canonicalJson } from '../receipts/canonical-json.ts'
import { signEd25519 } from '../receipts/ed25519.ts'
import { buildReceipt, type PricedRequest } from '../receipts/receipt-body.ts'
import { getCachedSigner, getReceiptSigner } from '../receipts/receipt-key.ts'
import { largeIntegerHeaders } from '../typed-data/large-integers.ts'
import { buildTypedData } from '../typed-data/typed-data.ts'

/** A quote without its id and nonce. */
interface QuoteDraft extends PricedRequest {
  readonly keyId: string
  readonly createdMs: number
  /** Their revision. */
  readonly overrides: number
}

export const createQuote = createHandler(contract['fx.createQuote'], async (input, context: FxContext, { caller }) => {
  const { settings, state, clock, provenTime } = context
  const requested = readRequestedAmount(input, settings.fx.tokens)
  const replay = toReplay(input, caller.keyId, provenTime.forDeletions())
  const createdMs = clock.now()
  // Before pricing: a replay must work even if the rates are stale or the pair is no longer offered.
  const earlier = replay && (await findReplay(state, replay))
  if (earlier) return toResult(earlier)
  const basic = findOffer(settings.fx, input)
  // Without a spender, the signed permit could not be settled (behaviour/fx.md#settlement-contract).
  if (input.type === 'tradable' && settings.fx.spender === '') throw new Fault('fx.no_spender')
  const mid = await freshMid(context, basic, input.type, createdMs)
  const quote = {
    ...{ from: basic.from.code, to: basic.to.code, tenor: input.tenor },
    ...{ requested, mid: mid.value, atMs: createdMs },
  }
  const ruled = await applyRules(context, basic, quote, { type: input.type, mid })
  const draft = (overrides: Overrides): QuoteDraft => {
    const offer = applyOverrides(ruled, overrides, quote)
    const price = priceWithinLimits(mid, requested, offer)
    const priced = { offer, mid, price, createdMs, overrides: overrides.revision }
    return { input, keyId: caller.keyId, requestedSide: requested.side, ...priced }
  }
  const first = draft(await knownOverrides(context))
  if (ruled.hourLimit) await countTowardsHour(context, ruled.hourLimit, caller.keyId)
  const build = async (attempt: number) =>
    buildQuote(context, attempt === 0 ? first : draft(await readOverrides(state)), attempt)
  return toResult(await storeQuote(state, build, replay))
})

const toResult = ({ reply, asOfMs }: StoredReply): HandlerResult<Quote> => ({
  is: 'bytes',
  bytes: reply,
  confidence: { asOf: new Date(asOfMs).toISOString() },
  headers: largeIntegerHeaders(reply),
})

const toReplay = (input: QuoteInput, keyId: string, nowMs: number): Replay | undefined =>
  input.idempotencyKey === undefined
    ? undefined
    : { keyId, idempotencyKey: input.idempotencyKey, bodyHash: bodyHash(input), nowMs }

function findOffer(fx: FxSettings, { from, to, tenor }: QuoteInput): Offer {
  const offer = resolveOffer(fx, from.currency, to.currency, tenor)
  if (offer) return offer
  const codes = fx.tokens.map(({ code }) => code)
  const unknown = [from.currency, to.currency].filter((code) => !codes.includes(code))
  throw new Fault('fx.pair_unknown', { message: notOfferedText(unknown, `${from.currency}/${to.currency}`) })
}

function notOfferedText(unknown: readonly string[], pair: string): string {
  if (unknown.length === 0) return `The pair ${pair} is not offered.`
  const [noun, verb] = unknown.length === 1 ? ['currency', 'is'] : ['currencies', 'are']
  return `The ${noun} ${unknown.join(' and ')} ${verb} not offered.`
}

/** Tradable quotes use only sources that are marked as tradable (behaviour/fx.md#tradable-sources). */
async function freshMid(
  { state, settings, fx }: FxContext,
  { from, to }: Offer,
  type: QuoteInput['type'],
  nowMs: number,
): Promise<Mid> {
  const { crossVia } = settings.fx
  const sources = type === 'tradable' ? settings.fx.sources.filter(mayPriceTrades) : settings.fx.sources
  const latest = await fx.latestRates(state, `${from.tracks}/${to.tracks}`, () =>
    latestRates(state, from.tracks, to.tracks),
  )
  const fresh = latest.filter((rate) => isFresh(rate, sources, nowMs))
  const result = findMid(fresh, from.tracks, to.tracks, { crossVia, outlierPpm: outlierPpm(settings.fx) })
  if (result.is === 'mid') return result.mid
  const disputed = result.is === 'disputed'
  const shown = disputed ? latest.filter((rate) => result.rates.includes(rate)) : latest
  const rateTexts = shown.map(({ source, base, quote, rate, atMs, confirmedMs }) => {
    const confirmation =
      confirmedMs === contradictedMs ? 'contradicted' : `confirmation ${formatAgeOf(nowMs - confirmedMs)}`
    return `${source} ${base}/${quote} ${rate} ${formatAgeOf(nowMs - atMs)}, ${confirmation}`
  })
  const hasReferenceOnly = !disputed && sources.length < settings.fx.sources.length
  throw new Fault(disputed ? 'fx.rate_disputed' : 'fx.rate_stale', {
    ...(hasReferenceOnly && { message: 'No source for tradable quotes has a fresh rate for this pair.' }),
    detail: `${from.tracks}/${to.tracks}: ${rateTexts.join(', ') || 'no rate received'}`,
    retryAfterMs: Math.min(5000, ...sources.map((source) => timingOf(source).everyMs)),
  })
}

function priceWithinLimits(mid: Mid, requested: RequestedAmount, offer: RuledOffer): Price {
  const price = computePrice(product(mid.value, offer.skew), requested, offer)
  const amount = { digits: price.from, scale: decimalPlaces(offer.from) }
  if (compare(amount, offer.min) < 0 || compare(amount, offer.max) > 0) {
    const [min, max] = [formatDecimal(offer.min), formatDecimal(offer.max)]
    throw new Fault('fx.amount_range', {
      message: `The amount is outside the range offered for this pair: ${min} to ${max} ${offer.from.code}.`,
      textValues: { min, max, currency: offer.from.code },
    })
  }
  return price
}

async function buildQuote(context: FxContext, draft: QuoteDraft, attempt: number): Promise<NewQuote> {
  const { input, keyId, mid, offer, createdMs } = draft
  // Another process may have retired the cached key.
  const signer = await (attempt === 0 ? getCachedSigner(context) : getReceiptSigner(context))
  const id = context.random.uuid()
  const nonce = input.type === 'tradable' ? toNonce(context.random.bytes(7)) : null
  const expiresMs = createdMs + context.settings.fx.expirySeconds[input.type] * 1000
  const quote = toQuote(context.settings.fx, draft, { id, nonce, expiresMs })
  const utf8 = new TextEncoder()
  const reply = utf8.encode(stringifyJson(quote))
  const pricedFrom = canonicalJson(buildReceipt(draft, quote, reply, outlierPpm(context.settings.fx)))
  return {
    id,
    keyId,
    createdMs,
    asOfMs: Math.min(createdMs, ...mid.rates.map(({ atMs }) => atMs)),
    nonce,
    pricedFrom,
    receiptKey: signer.id,
    receiptSignature: await signEd25519(signer.key, utf8.encode(pricedFrom)),
    reply,
    overrides: draft.overrides,
    hourLimit: offer.hourLimit,
  }
}

/** 53 bits: the largest integer that a JSON number represents exactly. */
const toNonce = (bytes: Uint8Array): number =>
  bytes.reduce((sum, byte, index) => sum + (index === 0 ? byte & 31 : byte) * 256 ** (6 - index), 0)

function toQuote(
  fx: FxSettings,
  { input, offer, price, createdMs }: QuoteDraft,
  generated: { readonly id: string; readonly nonce: number | null; readonly expiresMs: number },
): Quote {
  const { from, to } = offer
  const inFrom = (units: bigint) => formatDecimal({ digits: units, scale: decimalPlaces(from) })
  const inTo = (units: bigint) => formatDecimal({ digits: units, scale: decimalPlaces(to) })
  const quote: Quote = {
    id: generated.id,
    rate: toNumber(price.rate),
    to: { currency: to.code, amount: inTo(price.to) },
    // A requested amount is returned as written, without leading zeros; a computed one has all decimals
    // (behaviour/fx.md#amounts).
    from: { currency: from.code, amount: input.from.amount?.replace(/^0+(?=\d)/, '') ?? inFrom(price.from) },
    createdAt: new Date(createdMs).toISOString(),
    expiresAt: new Date(generated.expiresMs).toISOString(),
    fee: inTo(price.fee),
  }
  if (price.collateral > 0n) quote.collateral = inFrom(price.collateral)
  if (generated.nonce === null || input.recipientAddress === undefined) return quote
  const typedData = buildTypedData({
    chainId: fx.chainId,
    permit2: fx.permit2,
    spender: fx.spender,
    quoteId: generated.id,
    from: { contract: from.contract, amount: toBaseUnits(price.from, from) },
    to: { contract: to.contract, amount: toBaseUnits(price.to, to) },
    fee: toBaseUnits(price.fee, to),
    collateral: toBaseUnits(price.collateral, from),
    recipient: input.recipientAddress,
    nonce: generated.nonce,
    maturitySeconds: Math.floor(createdMs / 1000) + maturitySeconds[input.tenor],
  })
  quote.typedData = fx.numbersAsText ? { ...typedData, message: messageWithText(typedData.message) } : typedData
  return quote
}
