// Group B of the specification: a quote, and the typed data that the taker signs.
import {
  Address,
  choice,
  DateTime,
  endpoint,
  Num,
  oneOf,
  PatternText,
  record,
  recordList,
  SignedWhole,
  type Static,
  Text,
  Type,
  Whole,
} from '../kit.ts'

/** Fees and collateral: a non-negative decimal with up to six fractional digits (spec 2.2). */
const Decimal6 = Type.String({ pattern: '^\\d+(?:\\.\\d{1,6})?$' })

export const Amount = Type.Object({
  currency: { ...Text, description: 'Currency code.' },
  amount: { ...Text, description: 'Decimal text, in units of the currency.' },
})

export const AmountInput = Type.Object({
  currency: Type.String({ minLength: 1, maxLength: 32, description: 'Currency code; the configuration lists them.' }),
  amount: Type.Optional(
    PatternText('^\\d+(\\.\\d{1,6})?$', 'be a decimal text with at most six decimals, such as "1000.5"', {
      maxLength: 64,
      description: 'Give exactly one of the two amounts.',
    }),
  ),
})

const TypedField = Type.Object({
  name: { ...Text, description: 'Name of the member.' },
  type: { ...Text, description: 'Its Solidity type, or the name of a type in `types`.' },
})
const TypedFields = (description: string) => Type.Array(TypedField, { description })

export const TypedData = Type.Object({
  domain: record('The EIP-712 domain.', {
    name: { ...Text, description: 'Name of the contract that verifies the signature.' },
    chainId: { ...Whole, description: 'The chain on which the signature is valid.' },
    verifyingContract: { ...Address, description: 'The Permit2 contract of that chain.' },
  }),
  types: record('The EIP-712 types.', {
    EIP712Domain: TypedFields('Members of `domain`.'),
    Consideration: TypedFields('Members of `message.witness.consideration`.'),
    TakerDetails: TypedFields('Members of `message.witness`.'),
    MakerDetails: TypedFields('What the other side signs; not part of `message`.'),
    TokenPermissions: TypedFields('Members of `message.permitted`.'),
    PermitWitnessTransferFrom: TypedFields('Members of `message`.'),
  }),
  primaryType: { ...Text, description: 'The type of `message`.' },
  message: record('The permit to sign.', {
    permitted: record('What may be transferred.', {
      token: { ...Address, description: 'The token that the taker pays.' },
      amount: { ...SignedWhole, description: 'The maximum amount, in the smallest unit of the token.' },
    }),
    spender: { ...Address, description: 'The settlement contract, which may transfer the token.' },
    nonce: { ...SignedWhole, description: 'Permits with the same nonce can be used once.' },
    deadline: { ...SignedWhole, description: 'The permit expires at this time, in Unix seconds.' },
    witness: record('The terms that the signature also covers.', {
      consideration: record('The exchange.', {
        quoteId: { ...Text, description: 'The id of the quote as 32 bytes.' },
        base: { ...Text, description: 'The token that the taker receives.' },
        quote: { ...Text, description: 'The token that the taker pays.' },
        baseAmount: { ...Text, description: 'In the smallest unit of `base`.' },
        quoteAmount: { ...Text, description: 'In the smallest unit of `quote`.' },
        maturity: { ...Whole, description: 'Settlement time, in Unix seconds.' },
      }),
      fee: { ...SignedWhole, description: 'In the smallest unit of the token that the taker receives.' },
      recipient: { ...Address, description: 'Receives the proceeds.' },
    }),
  }),
})
export type TypedData = Static<typeof TypedData>

export const Quote = Type.Object({
  id: Type.String({ format: 'uuid', description: 'Id of the quote.' }),
  rate: { ...Num, description: 'Units of `to` for one unit of `from`.' },
  to: { ...Amount, description: 'What the taker receives.' },
  from: { ...Amount, description: 'What the taker pays.' },
  createdAt: { ...DateTime, description: 'Creation time.' },
  expiresAt: { ...DateTime, description: 'The quote can be used until this time.' },
  fee: { ...Decimal6, description: 'In units of `to`.' },
  collateral: Type.Optional({
    ...Decimal6,
    description:
      'In units of `from`; absent without collateral. The permit is for this amount only: the settlement contract collects the rest in another way.',
  }),
  typedData: Type.Optional({ ...TypedData, description: 'EIP-712 data to sign; only in a tradable quote.' }),
})
export type Quote = Static<typeof Quote>

export const FxFailure = Type.Object({
  code: { ...Whole, description: 'Number of the error; see the error codes of the group.' },
  message: { ...Text, description: 'What went wrong.' },
  errors: Type.Optional(
    recordList('Problems with parameters; absent for other errors.', {
      error: { ...Text, description: 'Kind of the problem.' },
      message: { ...Text, description: 'What is wrong.' },
      location: { ...Text, description: 'Path of the parameter, such as `body.tenor`.' },
      invalidValue: Type.Optional(Type.Unknown({ description: 'The value that was sent.' })),
    }),
  ),
})
export type FxFailure = Static<typeof FxFailure>

const field = (name: string, type: string) => ({ name, type })

/** The contract hashes these names exactly as they are here: order and spelling are fixed. */
export const typedDataTypes: TypedData['types'] = {
  EIP712Domain: [field('name', 'string'), field('chainId', 'uint256'), field('verifyingContract', 'address')],
  Consideration: [
    field('quoteId', 'bytes32'),
    field('base', 'address'),
    field('quote', 'address'),
    field('baseAmount', 'uint256'),
    field('quoteAmount', 'uint256'),
    field('maturity', 'uint256'),
  ],
  TakerDetails: [field('consideration', 'Consideration'), field('recipient', 'address'), field('fee', 'uint256')],
  MakerDetails: [field('consideration', 'Consideration'), field('fee', 'uint256')],
  TokenPermissions: [field('token', 'address'), field('amount', 'uint256')],
  PermitWitnessTransferFrom: [
    field('permitted', 'TokenPermissions'),
    field('spender', 'address'),
    field('nonce', 'uint256'),
    field('deadline', 'uint256'),
    field('witness', 'TakerDetails'),
  ],
}

export const createQuote = endpoint('fx.createQuote', {
  summary: 'Create an indicative or executable exchange quote.',
  notes:
    'A tradable quote contains the typed data to sign and needs `recipientAddress`; a reference quote has no typed data. A null member counts as absent. The quote is stored durably before the response is sent. A signature over the typed data stays valid until `message.deadline`, long after `expiresAt`. If the response has integers above 2^53, `x-tetrad-large-integers` lists them: use a JSON parser that keeps them exact, or a server with `fx.numbersAsText`.',
  input: Type.Object({
    from: { ...AmountInput, description: 'What the taker pays.' },
    to: { ...AmountInput, description: 'What the taker receives.' },
    tenor: oneOf(['instant', 'hourly', 'daily'], { description: 'Settlement schedule.' }),
    type: choice(['reference', 'tradable'], 'tradable', 'Indicative, or executable with typed data to sign.'),
    recipientAddress: Type.Optional({
      ...Address,
      description:
        "Receives the taker's proceeds; required for tradable quotes. A mixed-case address must have a valid EIP-55 checksum.",
    }),
    idempotencyKey: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          'Within 24 hours, the same key and body return the first response again. Send it as a header, not in the body.',
      }),
    ),
  }),
  reply: Quote,
  faults: [
    'body.too_large',
    'body.type',
    'body.invalid_json',
    'fx.amount_range',
    'fx.pair_unknown',
    'fx.no_spender',
    'fx.rate_stale',
    'fx.rate_disputed',
    'fx.stopped',
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
        types: typedDataTypes,
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
