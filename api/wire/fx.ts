// Group B as the specification spells it: a quote, and the typed data a taker signs.
import {
  Address,
  BigWhole,
  DateTime,
  endpoint,
  Num,
  oneOf,
  PatternText,
  type Static,
  Text,
  Type,
  Whole,
  withDefault,
} from '../kit.ts'
import { routes } from '../routes.ts'

/** Fees and collateral: a non-negative decimal with up to six fractional digits (spec 2.2). */
const Decimal6 = Type.String({ pattern: '^\\d+(?:\\.\\d{1,6})?$' })

export const Amount = Type.Object({
  currency: { ...Text, description: 'Currency code.' },
  amount: { ...Text, description: 'Decimal text in whole units of the currency.' },
})
export type Amount = Static<typeof Amount>

export const AmountAsked = Type.Object({
  currency: Type.String({ minLength: 1, maxLength: 32, description: 'Currency code; the configuration lists them.' }),
  amount: Type.Optional(
    PatternText('^\\d+(\\.\\d{1,6})?$', 'be a decimal text with at most six decimals, such as "1000.5"', {
      maxLength: 64,
      description: 'Exactly one of the two amounts is given.',
    }),
  ),
})

const TypedField = Type.Object({ name: Text, type: Text })

export const TypedData = Type.Object({
  domain: Type.Object({
    name: { ...Text, description: 'Of the contract that checks the signature.' },
    chainId: { ...Whole, description: 'The only chain the signature counts on.' },
    verifyingContract: { ...Address, description: 'The Permit2 contract of that chain.' },
  }),
  types: Type.Object({
    EIP712Domain: Type.Array(TypedField),
    Consideration: Type.Array(TypedField),
    TakerDetails: Type.Array(TypedField),
    MakerDetails: Type.Array(TypedField),
    TokenPermissions: Type.Array(TypedField),
    PermitWitnessTransferFrom: Type.Array(TypedField),
  }),
  primaryType: Text,
  message: Type.Object({
    permitted: Type.Object({
      token: { ...Address, description: 'The token the taker gives.' },
      amount: { ...BigWhole, description: 'At most so much of it, in its smallest unit.' },
    }),
    spender: { ...Address, description: 'The contract that settles, and may take it.' },
    nonce: { ...BigWhole, description: 'Makes the permit good for one use.' },
    deadline: { ...Whole, description: 'Unix seconds after which the permit is worthless.' },
    witness: Type.Object({
      consideration: Type.Object({
        quoteId: { ...Text, description: 'The id of the quote as 32 bytes.' },
        base: { ...Text, description: 'The token the taker gets.' },
        quote: { ...Text, description: 'The token the taker gives.' },
        baseAmount: { ...Text, description: 'In the smallest unit of `base`.' },
        quoteAmount: { ...Text, description: 'In the smallest unit of `quote`.' },
        maturity: { ...Whole, description: 'Unix seconds by which it settles.' },
      }),
      fee: { ...BigWhole, description: 'In the smallest unit of the token the taker gets.' },
      recipient: { ...Address, description: 'Receives the proceeds.' },
    }),
  }),
})
export type TypedData = Static<typeof TypedData>

export const Quote = Type.Object({
  id: Type.String({ format: 'uuid', description: 'Names the quote from now on.' }),
  rate: { ...Num, description: 'Units of `to` for one unit of `from`.' },
  to: { ...Amount, description: 'What the taker gets.' },
  from: { ...Amount, description: 'What the taker gives.' },
  createdAt: { ...DateTime, description: 'When it was made.' },
  expiresAt: { ...DateTime, description: 'Until when it stands.' },
  fee: { ...Decimal6, description: 'In units of `to`.' },
  collateral: Type.Optional({ ...Decimal6, description: 'In units of `from`; left out where none is asked for.' }),
  typedData: Type.Optional({ ...TypedData, description: 'EIP-712 data to sign; only with a tradable quote.' }),
})
export type Quote = Static<typeof Quote>

export const FxFailure = Type.Object({
  code: Whole,
  message: Text,
  errors: Type.Optional(
    Type.Array(
      Type.Object({ error: Text, message: Text, location: Text, invalidValue: Type.Optional(Type.Unknown()) }),
    ),
  ),
})
export type FxFailure = Static<typeof FxFailure>

const consideration = [
  { name: 'quoteId', type: 'bytes32' },
  { name: 'base', type: 'address' },
  { name: 'quote', type: 'address' },
  { name: 'baseAmount', type: 'uint256' },
  { name: 'quoteAmount', type: 'uint256' },
  { name: 'maturity', type: 'uint256' },
]

export const createQuote = endpoint({
  ...routes['fx.createQuote'],
  id: 'fx.createQuote',
  summary: 'Create an indicative or executable exchange quote.',
  notes:
    'A tradable quote carries the typed data to sign and needs `recipientAddress`; a reference quote carries none. A member that is null counts as left out. Stored durably before it is answered. A signature over the typed data stays valid until `message.deadline`, long after `expiresAt`. Read the reply with a JSON reader that keeps integers above 2^53 exact.',
  input: Type.Object({
    from: { ...AmountAsked, description: 'What the taker gives.' },
    to: { ...AmountAsked, description: 'What the taker gets.' },
    tenor: oneOf(['instant', 'hourly', 'daily'], { description: 'Settlement schedule.' }),
    type: withDefault(
      oneOf(['reference', 'tradable'], { description: 'Indicative, or executable with typed data to sign.' }),
      'tradable',
    ),
    recipientAddress: Type.Optional({
      ...Address,
      description:
        "Receives the taker's proceeds; required when `type` is `tradable`. Letters of mixed case must be its EIP-55 checksum.",
    }),
    idempotencyKey: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'The same key and body replay the first reply for 24 hours. Inside the body it is refused.',
      }),
    ),
  }),
  reply: Quote,
  faults: [
    'body.too_large',
    'body.type',
    'body.unreadable',
    'fx.amount_range',
    'fx.pair_unknown',
    'fx.no_spender',
    'fx.rate_stale',
    'fx.rate_disputed',
    'fx.idempotency',
  ],
  example: {
    input: {
      from: { currency: 'USDC', amount: '1000.00' },
      to: { currency: 'EURC' },
      tenor: 'instant',
      type: 'tradable',
      recipientAddress: '0x1111111111111111111111111111111111111111',
    },
    reply: {
      id: '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c',
      rate: 0.921934,
      to: { currency: 'EURC', amount: '921.934000' },
      from: { currency: 'USDC', amount: '1000.00' },
      createdAt: '2026-11-15T10:00:00.000Z',
      expiresAt: '2026-11-15T10:00:30.000Z',
      fee: '0.184387',
      typedData: {
        domain: { name: 'Permit2', chainId: 1, verifyingContract: '0x000000000022D473030F116dDEE9F6B43aC78BA3' },
        types: {
          EIP712Domain: [
            { name: 'name', type: 'string' },
            { name: 'chainId', type: 'uint256' },
            { name: 'verifyingContract', type: 'address' },
          ],
          Consideration: consideration,
          TakerDetails: [
            { name: 'consideration', type: 'Consideration' },
            { name: 'recipient', type: 'address' },
            { name: 'fee', type: 'uint256' },
          ],
          MakerDetails: [
            { name: 'consideration', type: 'Consideration' },
            { name: 'fee', type: 'uint256' },
          ],
          TokenPermissions: [
            { name: 'token', type: 'address' },
            { name: 'amount', type: 'uint256' },
          ],
          PermitWitnessTransferFrom: [
            { name: 'permitted', type: 'TokenPermissions' },
            { name: 'spender', type: 'address' },
            { name: 'nonce', type: 'uint256' },
            { name: 'deadline', type: 'uint256' },
            { name: 'witness', type: 'TakerDetails' },
          ],
        },
        primaryType: 'PermitWitnessTransferFrom',
        message: {
          permitted: { token: '0x2222222222222222222222222222222222222222', amount: 1_000_000_000 },
          spender: '0x3333333333333333333333333333333333333333',
          nonce: 4503599627370497,
          deadline: 1794738600,
          witness: {
            consideration: {
              quoteId: '0x000000000000000000000000000000006f1c0a527f6e4c1a9b0e0d8f2f3a4b5c',
              base: '0x4444444444444444444444444444444444444444',
              quote: '0x2222222222222222222222222222222222222222',
              baseAmount: '921934000',
              quoteAmount: '1000000000',
              maturity: 1794738600,
            },
            fee: 184387,
            recipient: '0x1111111111111111111111111111111111111111',
          },
        },
      },
    },
  },
})
