// Ways to be wrong about quotes.
import {
  constant,
  type Defect,
  ignoreRequestHeader,
  plus,
  renameField,
  replaceBody,
  replaceValue,
  reversed,
  status,
  statusWhere,
} from './change.ts'

const quotes = '/quotes'
const message = 'typedData.message'
const consideration = `${message}.witness.consideration`
const recipient = '0x1111111111111111111111111111111111111111'
const always400: Defect[2] = replaceValue(quotes, 'code', constant(2))

export const fxDefects: readonly Defect[] = [
  ['a field is renamed', 'fx.quote.reference', renameField(quotes, 'expiresAt', 'expires')],
  ['a fee has seven decimals', 'fx.quote.reference', replaceValue(quotes, 'fee', constant('0.1234567'))],
  [
    'a quote expires when it is made',
    'fx.quote.reference',
    replaceValue(quotes, 'expiresAt', (_, quote) => quote.createdAt),
  ],
  ['the currencies are swapped', 'fx.quote.reference', replaceValue(quotes, 'from', (_, quote) => quote.to)],
  [
    'type left out means reference',
    'fx.quote.default-type',
    replaceBody(
      /^(?!.*"type").*$/,
      `{"from":{"currency":"USDC","amount":"1"},"to":{"currency":"EURC"},"tenor":"instant","type":"reference"}`,
    ),
  ],
  [
    'a reference quote carries typed data',
    'fx.quote.reference-unsigned',
    replaceBody('"reference"', `"tradable","recipientAddress":"${recipient}"`),
  ],
  ['the rate is the other way round', 'fx.quote.rate', replaceValue(quotes, 'rate', (rate) => 1 / Number(rate))],
  ['the fee is not added', 'fx.quote.fee', replaceValue(quotes, 'to.amount', constant('500.000000'))],
  [
    'every quote has the same id',
    'fx.quote.new-each-time',
    replaceValue(quotes, 'id', constant('6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c')),
  ],
  ['an idempotency key is not heeded', 'fx.quote.idempotent', ignoreRequestHeader('idempotency-key')],
  ['another body with the same key is taken', 'fx.quote.idempotent', status(409, 200)],
  ['an amount to sign is a text', 'fx.typed-data.form', replaceValue(quotes, `${message}.permitted.amount`, String)],
  [
    'a type to sign is missing',
    'fx.typed-data.form',
    replaceValue(quotes, 'typedData.types.MakerDetails', constant(undefined)),
  ],
  [
    'the primary type is another',
    'fx.typed-data.form',
    replaceValue(quotes, 'typedData.primaryType', constant('TakerDetails')),
  ],
  [
    'the members of a type are turned round',
    'fx.typed-data.types',
    replaceValue(quotes, 'typedData.types.Consideration', reversed),
  ],
  [
    'the typed data is of another quote',
    'fx.typed-data.agrees',
    replaceValue(quotes, `${consideration}.quoteId`, constant(`0x${'1'.repeat(64)}`)),
  ],
  [
    'an amount to sign is another',
    'fx.typed-data.agrees',
    replaceValue(quotes, `${consideration}.baseAmount`, constant('123')),
  ],
  [
    'the recipient to sign is another',
    'fx.typed-data.agrees',
    replaceValue(quotes, `${message}.witness.recipient`, constant(`0x${'9'.repeat(40)}`)),
  ],
  [
    'the token to sign is another',
    'fx.typed-data.agrees',
    replaceValue(quotes, `${message}.permitted.token`, constant(recipient)),
  ],
  [
    'more may be pulled than is given',
    'fx.typed-data.permitted',
    replaceValue(quotes, `${message}.permitted.amount`, plus(1)),
  ],
  ['nonces repeat', 'fx.typed-data.nonce', replaceValue(quotes, `${message}.nonce`, constant(7))],
  ['every tenor matures alike', 'fx.typed-data.maturity', replaceBody(/"tenor":"\w+"/, '"tenor":"instant"')],
  ['a parameter problem is a 422', 'fx.refusal.enums', status(400, 422)],
  [
    'problems do not name their place',
    'fx.refusal.recipient',
    replaceValue(quotes, 'errors.*.location', constant('somewhere')),
  ],
  ['codes are texts', 'fx.refusal.required', replaceValue(quotes, 'code', String)],
  [
    'both amounts may be given',
    'fx.refusal.one-amount',
    statusWhere(200, ({ body }) => body.split('"amount"').length > 2),
  ],
  ['an unknown currency has the usual code', 'fx.refusal.currency', always400],
  ['an amount out of range has the usual code', 'fx.refusal.range', always400],
  ['a body of another type is taken', 'fx.refusal.body', ignoreRequestHeader('content-type', 'application/json')],
]
