// Endpoints of group B beyond the specification: read a quote and its receipt, push a rate
// (behaviour/fx.md#set-a-rate, behaviour/fx.md#receipts, behaviour/fx.md#read-quotes-back).
import { DateTime, endpoint, nullable, oneOf, PatternText, record, type Static, Text, Type, Whole } from '../kit.ts'
import { createQuote, Quote } from './fx.ts'

export const quoteId = Type.String({ format: 'uuid', description: 'The `id` of the quote.' })
const example = createQuote.example.reply
/** The typed data is in the example of `fx.createQuote`. */
const { typedData: _, ...referenceExample } = example
export const exampleId = { id: example.id }
export const ownQuoteNote = 'Create a quote with the same key and use its `id`.'

export const quote = endpoint('fx.quote', {
  summary: 'Read a quote.',
  notes:
    'Returns the same bytes as the call that created the quote, also after it has expired. Only for the key that created it.',
  input: Type.Object({ id: quoteId }),
  reply: Quote,
  faults: ['record.not_found'],
  example: { needs: ownQuoteNote, input: exampleId, reply: referenceExample },
})

const sourceId = { ...Text, description: 'Id of the source.' }
const algorithm = oneOf(['Ed25519'], { description: 'The signature algorithm.' })
const receiptKeyId = 'Fingerprint of the public key.'

export const ReceiptRate = Type.Object({
  source: sourceId,
  base: { ...Text, description: 'Reference currency.' },
  quote: { ...Text, description: 'Reference currency that the rate is in.' },
  rate: Type.String({ description: 'Decimal text, as received from the source. With `bid` and `ask`, their mean.' }),
  bid: Type.Optional(Type.String({ description: 'Price for a taker who pays `base`, as decimal text.' })),
  ask: Type.Optional(Type.String({ description: 'Price for a taker who pays `quote`, as decimal text.' })),
  at: { ...DateTime, description: 'Time of the rate, according to the source.' },
})

const RuleHours = Type.Object(
  {
    week: nullable(Type.String({ description: 'Hours of every week.' })),
    timeZone: Type.String({ description: 'Time zone of the hours and days.' }),
    holidays: oneOf(['none', 'target'], { description: 'Public holidays.' }),
    dates: Type.Array(Type.String(), { description: 'The date of the quote, if it is one of the listed days.' }),
  },
  { description: 'Hours and days in which the rule applies; null: always.' },
)

const ReceiptRule = Type.Object({
  id: Type.String({ description: 'Name of the rule.' }),
  pair: nullable(Type.String({ description: 'Pair of tokens, in both directions; null: every pair.' })),
  tenors: Type.Array(oneOf(['instant', 'hourly', 'daily']), { description: 'Empty: every tenor.' }),
  minSize: nullable(Type.String({ description: 'Smallest size, in the first token of `pair`.' })),
  when: nullable(RuleHours),
  spreadPpm: nullable(Type.Integer({ description: 'Replaces the spread; null: no change.' })),
  skewPpm: nullable(Type.Integer({ description: 'Raises the price of the first token of `pair`; null: no change.' })),
})
export type ReceiptRule = Static<typeof ReceiptRule>

export const ReceiptSide = Type.Object({
  currency: { ...Text, description: 'Currency code.' },
  tracks: Type.String({ description: 'The reference currency of the token.' }),
  decimals: Type.Integer({ description: 'Decimals of the token.' }),
  amount: { ...Text, description: 'Decimal text, in units of the currency.' },
})

export const Receipt = Type.Object({
  version: oneOf(['1', '2'], {
    description: 'Version of the receipt format. `1`: before there were rules, `bid` and `ask`.',
  }),
  quote: record('The quote.', {
    id: quoteId,
    type: oneOf(['reference', 'tradable'], { description: 'As in the request.' }),
    tenor: oneOf(['instant', 'hourly', 'daily'], { description: 'As in the request.' }),
    createdAt: { ...DateTime, description: 'Creation time of the quote.' },
    expiresAt: { ...DateTime, description: 'The quote can be used until this time.' },
    from: { ...ReceiptSide, description: 'What the taker pays.' },
    to: { ...ReceiptSide, description: 'What the taker receives.' },
    rate: Type.String({ description: 'The exact rate, as decimal text.' }),
    fee: { ...Text, description: 'In units of `to`.' },
    collateral: Type.String({ description: '`0` without collateral.' }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 of the response body that created it.' }),
  }),
  givenSide: oneOf(['from', 'to'], { description: 'The side whose amount was given in the request.' }),
  rates: Type.Array(ReceiptRate, { description: 'The rates that the mid was computed from.' }),
  excluded: Type.Array(ReceiptRate, { description: 'Fresh rates that were excluded as outliers.' }),
  via: nullable(Type.String({ description: 'The currency through which the pair was crossed.' })),
  mid: record('Units of `to` per unit of `from`, as a fraction of two integers.', {
    numerator: { ...Text, description: 'Decimal text.' },
    denominator: { ...Text, description: 'Decimal text.' },
  }),
  rules: Type.Optional(
    Type.Array(ReceiptRule, { description: 'The pricing rules that applied, in their order. Always in version 2.' }),
  ),
  terms: record('The terms that were applied to the mid.', {
    basicSpreadPpm: Type.Optional(
      Type.Integer({ description: 'Spread of the tenor, before rules. Always in version 2.' }),
    ),
    spreadPpm: Type.Integer({ description: 'Subtracted from the mid, in parts per million, after rules.' }),
    feePpm: { ...Whole, description: 'Fee, in parts per million of `to`.' },
    collateralPpm: { ...Whole, description: 'Collateral, in parts per million of `from`.' },
    outlierPpm: {
      ...Whole,
      description: 'How far a rate may be from the median of the others, in parts per million.',
    },
  }),
  rounding: record('How the amounts were rounded.', {
    rateDigits: Type.Integer({ description: 'Significant digits of the rate; further digits are cut off.' }),
    fromPlaces: { ...Whole, description: 'Decimals of amounts of `from`.' },
    toPlaces: { ...Whole, description: 'Decimals of amounts of `to`.' },
    to: oneOf(['down'], { description: 'Direction in which a computed `to` is rounded.' }),
    from: oneOf(['up'], { description: 'Direction in which a computed `from` is rounded.' }),
    fee: oneOf(['up'], { description: 'Direction in which the fee is rounded.' }),
    collateral: oneOf(['up'], { description: 'Direction in which the collateral is rounded.' }),
  }),
})
export type Receipt = Static<typeof Receipt>

const Base64Url = (bytes: number, description: string) =>
  Type.String({ pattern: `^[A-Za-z0-9_-]{${Math.ceil((bytes * 4) / 3)}}$`, description })

const ReceiptSignature = Type.Object({
  algorithm,
  keyId: Type.String({ pattern: '^[0-9a-f]{16}$', description: receiptKeyId }),
  publicKey: Base64Url(32, 'Raw 32 bytes, base64url.'),
  value: Base64Url(64, 'Signature over the receipt as canonical JSON (RFC 8785), base64url.'),
})

export const SignedReceipt = Type.Object({
  receipt: { ...Receipt, description: 'How the quote was priced.' },
  signature: { ...ReceiptSignature, description: 'The signature of the server over `receipt`.' },
})
export type SignedReceipt = Static<typeof SignedReceipt>

const exampleKey = { keyId: '5f2c9d0e1a7b4c38', publicKey: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
const exampleRate = { base: 'EUR', quote: 'USD', at: '2026-11-15T09:59:58.000Z' }

export const receipt = endpoint('fx.receipt', {
  summary: 'A signed record of how a quote was priced.',
  notes:
    'Sources, times, mid, terms and rounding, signed when the quote was created. `tetrad fx verify-receipt` checks the signature and recomputes the price offline. Only for the key that created the quote.',
  input: Type.Object({ id: quoteId }),
  reply: SignedReceipt,
  faults: ['record.not_found'],
  example: {
    needs: ownQuoteNote,
    input: exampleId,
    reply: {
      receipt: {
        version: '2',
        quote: {
          id: example.id,
          type: 'tradable',
          tenor: 'instant',
          createdAt: example.createdAt,
          expiresAt: example.expiresAt,
          from: { currency: 'USDC', tracks: 'USD', decimals: 6, amount: '1000.00' },
          to: { currency: 'EURC', tracks: 'EUR', decimals: 6, amount: '921.934000' },
          rate: '0.921934',
          fee: '0.184387',
          collateral: '0',
          sha256: '4f1c2a7d8e9b0c3d5a6f7e8d9c0b1a2f3e4d5c6b7a8f9e0d1c2b3a4f5e6d7c8b',
        },
        givenSide: 'from',
        rates: [
          { source: 'bank', rate: '1.0841', ...exampleRate },
          { source: 'desk', rate: '1.0843', ...exampleRate },
        ],
        excluded: [{ source: 'odd', rate: '1.3100', ...exampleRate }],
        via: null,
        mid: { numerator: '5000', denominator: '5421' },
        rules: [],
        terms: { basicSpreadPpm: 500, spreadPpm: 500, feePpm: 200, collateralPpm: 0, outlierPpm: 20_000 },
        rounding: {
          rateDigits: 15,
          fromPlaces: 6,
          toPlaces: 6,
          to: 'down',
          from: 'up',
          fee: 'up',
          collateral: 'up',
        },
      },
      signature: {
        algorithm: 'Ed25519',
        ...exampleKey,
        value: '5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc-bRr0lv18FlbviRlUUFDjnoQCw',
      },
    },
  },
})

const receiptKeyMembers = {
  keyId: { ...Text, description: receiptKeyId },
  publicKey: Base64Url(32, 'Raw 32 bytes, base64url.'),
  createdAt: { ...DateTime, description: 'It has signed receipts since then.' },
}
const ReceiptKey = Type.Object({
  ...receiptKeyMembers,
  retiredAt: { ...DateTime, description: 'It has not signed receipts since then.' },
})

export const receiptKey = endpoint('fx.receiptKey', {
  summary: 'The public key that signs receipts, and its predecessors.',
  notes:
    'The operator can rotate the key; earlier receipts remain valid under the key that signed them. Get the keys over a connection that you trust: the public key inside a receipt does not prove who signed it.',
  input: Type.Object({}),
  reply: Type.Object({
    algorithm,
    ...receiptKeyMembers,
    past: Type.Array(ReceiptKey, { description: 'Retired keys, newest first.' }),
  }),
  faults: [],
  example: {
    input: {},
    reply: {
      algorithm: 'Ed25519',
      ...exampleKey,
      createdAt: '2026-11-01T08:00:00.000Z',
      past: [
        {
          keyId: '0d4e6f1b2c3a5978',
          publicKey: 'Xl3Y0fQ7vVx2mJc1nTzB8kPqRsLw4hGdEaUoNi6ZyM0',
          createdAt: '2025-11-01T08:00:00.000Z',
          retiredAt: '2026-11-01T08:00:00.000Z',
        },
      ],
    },
  },
})

export const setRate = endpoint('fx.setRate', {
  summary: 'Push a rate.',
  notes:
    'Needs an admin key and a source of kind `push` in the configuration. A pushed rate becomes stale like any other.',
  input: Type.Object({
    pair: PatternText('^[A-Z]{3}/[A-Z]{3}$', 'be two currencies, such as EUR/USD', {
      description: 'Base and quote currency, such as EUR/USD.',
    }),
    rate: Type.String({ maxLength: 64, description: 'Price of one unit of the base, as decimal text.' }),
    source: Type.Optional(
      Type.String({ maxLength: 32, description: 'Id of the source; default: the only push source.' }),
    ),
    time: Type.Optional({ ...DateTime, description: 'Time of the rate, with time zone; default: now.' }),
  }),
  reply: Type.Object({
    source: sourceId,
    pair: { ...Text, description: 'As in the request.' },
    rate: { ...Text, description: 'The stored rate, as decimal text.' },
    time: { ...DateTime, description: 'Time of the rate.' },
  }),
  faults: ['body.too_large', 'body.type', 'body.invalid_json'],
  example: {
    needs:
      'A key made with `tetrad keys create --admin`, and a source of kind `push` under `fx.sources`. The demo has no such source.',
    input: { pair: 'EUR/USD', rate: '1.0842' },
    reply: { source: 'desk', pair: 'EUR/USD', rate: '1.0842', time: '2026-11-15T10:00:00.000Z' },
  },
})
