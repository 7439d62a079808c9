// Broken servers: quotes.
import {
  type ClientRequest,
  constant,
  type Defect,
  ignoreParameter,
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
const generalCode: Defect[2] = replaceValue(quotes, 'code', constant(2))

const unknownId = '00000000-0000-4000-8000-000000000000'
const isAcceptance = ({ method, url }: ClientRequest): boolean => method === 'POST' && url.pathname.endsWith('/trades')

export const fxDefects: readonly Defect[] = [
  ['quotes are listed oldest first', 'fx.list.quotes', replaceValue(quotes, 'quotes', reversed)],
  ['the cursor of the list is ignored', 'fx.list.quotes', ignoreParameter('before')],
  ['a listed quote has another rate', 'fx.list.quotes', replaceValue(quotes, 'quotes.*.rate', plus(1))],
  ['a quote read back has another rate', 'fx.list.quote', replaceValue('/quotes/', 'rate', plus(1))],
  ['an unknown quote is a success', 'fx.list.quote', status(404, 200)],
  ['a currency is not listed', 'fx.list.currencies', replaceValue('/currencies', 'currencies', constant([]))],
  ['the base of rates is ignored', 'fx.list.rates', ignoreParameter('base')],
  ['rates are not inverted', 'fx.list.rates', replaceValue('/rates', 'rates.*.rate', constant('2'))],
  ['a wrong signature is accepted', 'fx.trade.signature', statusWhere(200, isAcceptance)],
  ['a trade that does not exist is a success', 'fx.trade.signature', status(404, 200)],
  ['a wrong signature is a conflict', 'fx.trade.signature', statusWhere(409, isAcceptance)],
  ['a reference quote is accepted', 'fx.trade.refusals', statusWhere(200, isAcceptance)],
  ['an unknown trade is a success', 'fx.trade.refusals', status(404, 200)],
  ['trades are listed oldest first', 'fx.trade.list', replaceValue('/trades', 'trades', reversed)],
  ['the cursor of trades is ignored', 'fx.trade.list', ignoreParameter('before')],
  ['the status of trades is ignored', 'fx.trade.list', ignoreParameter('status')],
  ['a trade read back has another id', 'fx.trade.list', replaceValue('/trades/', 'id', constant(unknownId))],
  ['a field is renamed', 'fx.quote.reference', renameField(quotes, 'expiresAt', 'expires')],
  ['a fee has seven decimals', 'fx.quote.reference', replaceValue(quotes, 'fee', constant('0.1234567'))],
  [
    'a quote expires when it is created',
    'fx.quote.reference',
    replaceValue(quotes, 'expiresAt', (_, quote) => quote.createdAt),
  ],
  ['the currencies are swapped', 'fx.quote.reference', replaceValue(quotes, 'from', (_, quote) => quote.to)],
  [
    'the default type is reference',
    'fx.quote.default-type',
    replaceBody(
      /^(?!.*"type").*$/,
      `{"from":{"currency":"USDC","amount":"1"},"to":{"currency":"EURC"},"tenor":"instant","type":"reference"}`,
    ),
  ],
  [
    'a reference quote has typed data',
    'fx.quote.reference-unsigned',
    replaceBody('"reference"', `"tradable","recipientAddress":"${recipient}"`),
  ],
  ['the rate is inverted', 'fx.quote.rate', replaceValue(quotes, 'rate', (rate) => 1 / Number(rate))],
  ['the fee is not added', 'fx.quote.fee', replaceValue(quotes, 'to.amount', constant('500.000000'))],
  [
    'every quote has the same id',
    'fx.quote.new-each-time',
    replaceValue(quotes, 'id', constant('6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c')),
  ],
  ['an idempotency key is ignored', 'fx.quote.idempotent', ignoreRequestHeader('idempotency-key')],
  ['another body with the same idempotency key is accepted', 'fx.quote.idempotent', status(409, 200)],
  [
    'an amount of the typed data is a string',
    'fx.typed-data.form',
    replaceValue(quotes, `${message}.permitted.amount`, String),
  ],
  [
    'a type of the typed data is missing',
    'fx.typed-data.form',
    replaceValue(quotes, 'typedData.types.MakerDetails', constant(undefined)),
  ],
  [
    'the primary type is wrong',
    'fx.typed-data.form',
    replaceValue(quotes, 'typedData.primaryType', constant('TakerDetails')),
  ],
  [
    'the members of a type are reversed',
    'fx.typed-data.types',
    replaceValue(quotes, 'typedData.types.Consideration', reversed),
  ],
  [
    'the typed data has another quote id',
    'fx.typed-data.agrees',
    replaceValue(quotes, `${consideration}.quoteId`, constant(`0x${'1'.repeat(64)}`)),
  ],
  [
    'an amount of the typed data differs',
    'fx.typed-data.agrees',
    replaceValue(quotes, `${consideration}.baseAmount`, constant('123')),
  ],
  [
    'the recipient of the typed data differs',
    'fx.typed-data.agrees',
    replaceValue(quotes, `${message}.witness.recipient`, constant(`0x${'9'.repeat(40)}`)),
  ],
  [
    'the token of the typed data differs',
    'fx.typed-data.agrees',
    replaceValue(quotes, `${message}.permitted.token`, constant(recipient)),
  ],
  [
    'the permitted amount is too large',
    'fx.typed-data.permitted',
    replaceValue(quotes, `${message}.permitted.amount`, plus(1)),
  ],
  ['nonces repeat', 'fx.typed-data.nonce', replaceValue(quotes, `${message}.nonce`, constant(7))],
  ['every tenor has the same maturity', 'fx.typed-data.maturity', replaceBody(/"tenor":"\w+"/, '"tenor":"instant"')],
  ['a validation error returns 422', 'fx.refusal.enums', status(400, 422)],
  [
    'validation errors do not name the parameter',
    'fx.refusal.recipient',
    replaceValue(quotes, 'errors.*.location', constant('somewhere')),
  ],
  ['error codes are strings', 'fx.refusal.required', replaceValue(quotes, 'code', String)],
  [
    'both amounts are accepted',
    'fx.refusal.one-amount',
    statusWhere(200, ({ body }) => body.split('"amount"').length > 2),
  ],
  ['an unknown currency has the general error code', 'fx.refusal.currency', generalCode],
  ['an amount out of range has the general error code', 'fx.refusal.range', generalCode],
  [
    'a body with another content-type is accepted',
    'fx.refusal.body',
    ignoreRequestHeader('content-type', 'application/json'),
  ],
]
