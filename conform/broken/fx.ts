// Ways to be wrong about quotes.
import { always, type Break, bodyTaken, plus, put, renamed, reversed, status, statusWhere, unheard } from './change.ts'

const quotes = '/quotes'
const message = 'typedData.message'
const consideration = `${message}.witness.consideration`
const recipient = '0x1111111111111111111111111111111111111111'
const always400: Break[2] = put(quotes, 'code', always(2))

export const fxBreaks: readonly Break[] = [
  ['a field is renamed', 'fx.quote.reference', renamed(quotes, 'expiresAt', 'expires')],
  ['a fee has seven decimals', 'fx.quote.reference', put(quotes, 'fee', always('0.1234567'))],
  ['a quote expires when it is made', 'fx.quote.reference', put(quotes, 'expiresAt', (_, quote) => quote.createdAt)],
  ['the currencies are swapped', 'fx.quote.reference', put(quotes, 'from', (_, quote) => quote.to)],
  [
    'type left out means reference',
    'fx.quote.default-type',
    bodyTaken(
      /^(?!.*"type").*$/,
      `{"from":{"currency":"USDC","amount":"1"},"to":{"currency":"EURC"},"tenor":"instant","type":"reference"}`,
    ),
  ],
  [
    'a reference quote carries typed data',
    'fx.quote.reference-unsigned',
    bodyTaken('"reference"', `"tradable","recipientAddress":"${recipient}"`),
  ],
  ['the rate is the other way round', 'fx.quote.rate', put(quotes, 'rate', (rate) => 1 / Number(rate))],
  ['the fee is not added', 'fx.quote.fee', put(quotes, 'to.amount', always('500.000000'))],
  [
    'every quote has the same id',
    'fx.quote.new-each-time',
    put(quotes, 'id', always('6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c')),
  ],
  ['an idempotency key is not heeded', 'fx.quote.idempotent', unheard('idempotency-key')],
  ['another body with the same key is taken', 'fx.quote.idempotent', status(409, 200)],
  ['an amount to sign is a text', 'fx.typed-data.form', put(quotes, `${message}.permitted.amount`, String)],
  ['a type to sign is missing', 'fx.typed-data.form', put(quotes, 'typedData.types.MakerDetails', always(undefined))],
  ['the primary type is another', 'fx.typed-data.form', put(quotes, 'typedData.primaryType', always('TakerDetails'))],
  [
    'the members of a type are turned round',
    'fx.typed-data.types',
    put(quotes, 'typedData.types.Consideration', reversed),
  ],
  [
    'the typed data is of another quote',
    'fx.typed-data.agrees',
    put(quotes, `${consideration}.quoteId`, always(`0x${'1'.repeat(64)}`)),
  ],
  ['an amount to sign is another', 'fx.typed-data.agrees', put(quotes, `${consideration}.baseAmount`, always('123'))],
  [
    'the recipient to sign is another',
    'fx.typed-data.agrees',
    put(quotes, `${message}.witness.recipient`, always(`0x${'9'.repeat(40)}`)),
  ],
  [
    'the token to sign is another',
    'fx.typed-data.agrees',
    put(quotes, `${message}.permitted.token`, always(recipient)),
  ],
  ['more may be pulled than is given', 'fx.typed-data.permitted', put(quotes, `${message}.permitted.amount`, plus(1))],
  ['nonces repeat', 'fx.typed-data.nonce', put(quotes, `${message}.nonce`, always(7))],
  ['every tenor matures alike', 'fx.typed-data.maturity', bodyTaken(/"tenor":"\w+"/, '"tenor":"instant"')],
  ['a parameter problem is a 422', 'fx.refusal.enums', status(400, 422)],
  ['problems do not name their place', 'fx.refusal.recipient', put(quotes, 'errors.*.location', always('somewhere'))],
  ['codes are texts', 'fx.refusal.required', put(quotes, 'code', String)],
  [
    'both amounts may be given',
    'fx.refusal.one-amount',
    statusWhere(200, ({ body }) => body.split('"amount"').length > 2),
  ],
  ['an unknown currency has the usual code', 'fx.refusal.currency', always400],
  ['an amount out of range has the usual code', 'fx.refusal.range', always400],
  ['a body of another type is taken', 'fx.refusal.body', unheard('content-type', 'application/json')],
]
