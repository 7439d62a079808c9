// Group B beyond the specification: a quote read back, the receipt of its price, the check of a signature, and rates that
// are pushed (behaviour/fx.md#admin-keys, behaviour/fx.md#receipts, behaviour/fx.md#read-quotes-back).
import {
  Address,
  DateTime,
  endpoint,
  Hash,
  nullable,
  oneOf,
  PatternText,
  type Static,
  Text,
  Type,
  Whole,
} from '../kit.ts'
import { extensionRoutes } from '../routes.ts'
import { createQuote, Quote } from './fx.ts'

const quoteId = Type.String({ format: 'uuid', description: 'The `id` of the quote.' })
const example = createQuote.example.reply
const exampleId = { id: example.id }
const ownQuoteNote = 'A quote of your own: create one with the same key and put its `id` in the place of this one.'

export const quote = endpoint({
  ...extensionRoutes['fx.quote'],
  id: 'fx.quote',
  summary: 'Read a quote back.',
  notes:
    'The very bytes that created it were answered with, also after it has expired. Only for the key that asked for it.',
  input: Type.Object({ id: quoteId }),
  reply: Quote,
  faults: ['record.unknown'],
  example: { needs: ownQuoteNote, input: exampleId, reply: example },
})

const ReceiptRate = Type.Object({
  source: Text,
  base: Text,
  quote: Text,
  rate: Type.String({ description: 'Decimal text, as the source gave it.' }),
  at: { ...DateTime, description: 'When it held, by the source.' },
})

const ReceiptSide = Type.Object({
  currency: Text,
  tracks: Type.String({ description: 'Reference currency it follows.' }),
  decimals: Type.Integer({ description: 'Decimals of the token.' }),
  amount: Text,
})

export const Receipt = Type.Object({
  version: oneOf(['1']),
  quote: Type.Object({
    id: quoteId,
    type: oneOf(['reference', 'tradable']),
    tenor: oneOf(['instant', 'hourly', 'daily']),
    createdAt: DateTime,
    expiresAt: DateTime,
    from: ReceiptSide,
    to: ReceiptSide,
    rate: Type.String({ description: 'The rate as decimal text, exactly.' }),
    fee: Text,
    collateral: Type.String({ description: '`0` where there is none.' }),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Of the reply, byte for byte.' }),
  }),
  asked: oneOf(['from', 'to'], { description: 'Which amount was given.' }),
  rates: Type.Array(ReceiptRate, { description: 'What the mid was made of.' }),
  leftOut: Type.Array(ReceiptRate, { description: 'Fresh rates that were too far from the others.' }),
  via: nullable(Type.String({ description: 'The currency the pair was crossed through.' })),
  mid: Type.Object({
    over: Type.String({ description: 'Units of `to` per unit of `from`: this integer …' }),
    under: Type.String({ description: '… over this one.' }),
  }),
  terms: Type.Object({
    spreadPpm: Type.Integer({ description: 'Taken off the mid, in parts per million.' }),
    feePpm: Whole,
    collateralPpm: Whole,
    outlierPpm: Whole,
  }),
  rounding: Type.Object({
    rateFigures: Type.Integer({ description: 'Significant digits of the rate, cut off.' }),
    fromPlaces: Whole,
    toPlaces: Whole,
    to: oneOf(['down']),
    from: oneOf(['up']),
    fee: oneOf(['up']),
    collateral: oneOf(['up']),
  }),
})
export type Receipt = Static<typeof Receipt>

const Base64Url = (bytes: number, description: string) =>
  Type.String({ pattern: `^[A-Za-z0-9_-]{${Math.ceil((bytes * 4) / 3)}}$`, description })

const ReceiptSignature = Type.Object({
  algorithm: oneOf(['Ed25519']),
  keyId: Type.String({ pattern: '^[0-9a-f]{16}$' }),
  publicKey: Base64Url(32, 'Raw 32 bytes, base64url.'),
  value: Base64Url(64, 'Over the receipt as canonical JSON (RFC 8785), base64url.'),
})

export const SignedReceipt = Type.Object({ receipt: Receipt, signature: ReceiptSignature })
export type SignedReceipt = Static<typeof SignedReceipt>

const exampleKey = { keyId: '5f2c9d0e1a7b4c38', publicKey: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }
const exampleRate = { base: 'EUR', quote: 'USD', at: '2026-11-15T09:59:58.000Z' }

export const receipt = endpoint({
  ...extensionRoutes['fx.receipt'],
  id: 'fx.receipt',
  summary: 'How a quote was priced, signed by the server.',
  notes:
    'Sources, times, mid, terms and rounding as they were when the quote was made, signed at that time. The signature can be checked offline, and the price worked out again: `tetrad fx verify-receipt`. Only for the key that asked for the quote.',
  input: Type.Object({ id: quoteId }),
  reply: SignedReceipt,
  faults: ['record.unknown'],
  example: {
    needs: ownQuoteNote,
    input: exampleId,
    reply: {
      receipt: {
        version: '1',
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
        asked: 'from',
        rates: [
          { source: 'bank', rate: '1.0841', ...exampleRate },
          { source: 'desk', rate: '1.0843', ...exampleRate },
        ],
        leftOut: [{ source: 'odd', rate: '1.3100', ...exampleRate }],
        via: null,
        mid: { over: '5000', under: '5421' },
        terms: { spreadPpm: 500, feePpm: 200, collateralPpm: 0, outlierPpm: 20_000 },
        rounding: {
          rateFigures: 15,
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

const ReceiptKey = Type.Object({
  keyId: Text,
  publicKey: Base64Url(32, 'Raw 32 bytes, base64url.'),
  createdAt: DateTime,
  retiredAt: { ...DateTime, description: 'From then on it has signed nothing.' },
})

export const receiptKey = endpoint({
  ...extensionRoutes['fx.receiptKey'],
  id: 'fx.receiptKey',
  summary: 'The public key that receipts are signed with, and those that were used before.',
  notes:
    'Kept with the data; the operator may have a new one made, and receipts signed before stay good under the key of their time. Note the keys down from a place you trust: a receipt carries its own as well, but that proves nothing by itself.',
  input: Type.Object({}),
  reply: Type.Object({
    algorithm: oneOf(['Ed25519']),
    keyId: Text,
    publicKey: Base64Url(32, 'Raw 32 bytes, base64url.'),
    createdAt: DateTime,
    past: Type.Array(ReceiptKey, { description: 'Newest first; empty while the first one is in use.' }),
  }),
  faults: [],
  example: {
    input: {},
    reply: {
      ...{ algorithm: 'Ed25519', ...exampleKey, createdAt: '2026-11-01T08:00:00.000Z' },
      past: [
        {
          ...{ keyId: '0d4e6f1b2c3a5978', publicKey: 'Xl3Y0fQ7vVx2mJc1nTzB8kPqRsLw4hGdEaUoNi6ZyM0' },
          ...{ createdAt: '2025-11-01T08:00:00.000Z', retiredAt: '2026-11-01T08:00:00.000Z' },
        },
      ],
    },
  },
})

export const SignatureFinding = Type.Object({
  field: Type.String({
    description: 'What it is about: `message.permitted.amount`, `domain.chainId`, `types`, `signature.v`…',
  }),
  message: Text,
  expected: Type.Optional(Type.String({ description: 'What the quote has there.' })),
  found: Type.Optional(Type.String({ description: 'What was signed there.' })),
})
export type SignatureFinding = Static<typeof SignatureFinding>

export const ChainFinding = Type.Object({
  name: oneOf(['node', 'contract', 'signature', 'balance', 'allowance', 'nonce']),
  ok: Type.Boolean(),
  message: Text,
})
export type ChainFinding = Static<typeof ChainFinding>

export const Diagnosis = Type.Object({
  verdict: oneOf(['good', 'bad', 'unknown'], {
    description: '`unknown`: it is over this quote if the signer is the one shown, and nobody said who it should be.',
  }),
  signer: nullable({ ...Address, description: 'Who signed, if what was signed is this quote.' }),
  digest: { ...Hash, description: 'What had to be signed.' },
  findings: Type.Array(SignatureFinding, { description: 'What is wrong, most telling first; empty when all is well.' }),
  deadline: { ...DateTime, description: 'After this the permit cannot be used.' },
  deadlinePassed: Type.Boolean(),
  expired: Type.Boolean({ description: 'The quote itself stands no longer.' }),
  chain: Type.Array(ChainFinding, {
    description: 'What a node says about settling it; empty where none is configured.',
  }),
})
export type Diagnosis = Static<typeof Diagnosis>

export const checkSignature = endpoint({
  ...extensionRoutes['fx.checkSignature'],
  id: 'fx.checkSignature',
  summary: 'Say whether a signature over a quote is good, and if not, why.',
  notes:
    'Name the signer, and a single wrong field is found from the signature alone; send the typed data that was signed, and every difference is listed. With a node configured (`fx.rpcUrl`) also whether balance, allowance and nonce let it settle. Changes nothing.',
  input: Type.Object({
    id: quoteId,
    signature: PatternText('^0x([0-9a-fA-F]{2})*$', 'be 0x and hexadecimal bytes of two digits each', {
      maxLength: 8192,
      description: 'As the wallet gave it.',
    }),
    signer: Type.Optional({ ...Address, description: 'Who should have signed.' }),
    typedData: Type.Optional(
      Type.Unsafe<object>({ type: 'object', description: 'What the wallet was given, if that is at hand.' }),
    ),
  }),
  reply: Diagnosis,
  faults: ['record.unknown', 'body.too_large', 'body.type', 'body.unreadable'],
  example: {
    needs: `${ownQuoteNote} It has to be a tradable one; this signature is none, and is told so.`,
    input: {
      ...exampleId,
      signature: `0x${'5c'.repeat(64)}1b`,
      signer: '0x5555555555555555555555555555555555555555',
    },
    reply: {
      verdict: 'bad',
      signer: '0x6666666666666666666666666666666666666666',
      digest: `0x${'d1'.repeat(32)}`,
      findings: [
        {
          field: 'domain.chainId',
          message: 'was signed for another chain',
          expected: '1',
          found: '137',
        },
      ],
      deadline: '2026-11-15T10:30:00.000Z',
      deadlinePassed: false,
      expired: false,
      chain: [{ name: 'allowance', ok: false, message: 'Permit2 may take 0 of the token, 1000000000 is needed' }],
    },
  },
})

export const setRate = endpoint({
  ...extensionRoutes['fx.setRate'],
  id: 'fx.setRate',
  summary: 'Push a rate.',
  notes:
    'Needs a key made with `--admin`, and a source of kind `push` in the configuration. The rate goes stale like any other.',
  input: Type.Object({
    pair: PatternText('^[A-Z]{3}/[A-Z]{3}$', 'be two currencies, such as EUR/USD', {
      description: 'The currency that is priced first.',
    }),
    rate: Type.String({ maxLength: 64, description: 'Price of one unit, as decimal text.' }),
    source: Type.Optional(Type.String({ maxLength: 32, description: 'Its id; left out: the only one there is.' })),
    time: Type.Optional({ ...DateTime, description: 'When it held, with its zone; left out: now.' }),
  }),
  reply: Type.Object({ source: Text, pair: Text, rate: Text, time: DateTime }),
  faults: ['body.too_large', 'body.type', 'body.unreadable'],
  example: {
    needs:
      'A key made with `tetrad keys create --admin`, and a source of kind `push` under `fx.sources`. The demo has none: what it quotes is simulated.',
    input: { pair: 'EUR/USD', rate: '1.0842' },
    reply: { source: 'desk', pair: 'EUR/USD', rate: '1.0842', time: '2026-11-15T10:00:00.000Z' },
  },
})
