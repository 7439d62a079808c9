// Settings of JSON documents with rates: how they are requested, and where their rates are.
import { PatternText, type Static, Type, withDefault } from '#api/contract/kit.ts'
import type { Problem } from '#core/fault.ts'
import { duplicateProblems } from './duplicate-problems.ts'
import { choice, object, section, text } from './server.ts'

/** Names separated by dots, or a list of names. */
export type DocumentPath = string | readonly string[]

/** As a path: the name of an entry, if the entries are members of an object. */
export const keyPath = '$key'

const path = (value: string, description: string) =>
  withDefault(
    Type.Unsafe<DocumentPath>({
      type: ['string', 'array'],
      pattern: '^$|^(\\$\\.)?[^.]+(\\.[^.]+)*$',
      'x-must': 'be names separated by dots, or a list of names',
      maxLength: 200,
      items: { type: 'string', minLength: 1, maxLength: 200 },
      maxItems: 16,
      description,
    }),
    value,
  )

export const SourceDocument = section(
  {
    list: path(
      'rates',
      'Path to the entries: a list, or an object if another path is `$key`. Empty: the document itself. Any other object counts as a list of one.',
    ),
    name: path('', 'Path to the name of an entry, for `pairs`.'),
    base: path('base', 'Path to the currency that is priced, inside an entry.'),
    quote: path('quote', 'Path to the currency it is priced in, inside an entry.'),
    rate: path(
      'rate',
      'Path to the price of one unit of base, inside an entry: a string or a number. Not read with `bid`.',
    ),
    bid: path('', 'Path to the price at which one unit of base is bought, if the document has bid and ask.'),
    ask: path('', 'Path to the price at which one unit of base is sold.'),
    sides: choice(
      ['mid', 'each'],
      'mid',
      'What bid and ask price. `mid`: both directions are priced from their mean. `each`: a taker who pays base gets the bid, and one who pays quote gets the ask.',
    ),
    exponent: path('', 'Path to an exponent: the price is multiplied by ten to its power. Empty: none.'),
    decimals: path('', 'Path to a number of decimals: the price is divided by ten to its power. Empty: none.'),
    time: path('time', 'Path to the time of the rate: ISO 8601, Unix seconds or Unix milliseconds.'),
    times: choice(
      ['time', 'utc', 'date', 'received'],
      'time',
      '`time`: rates have a time with a zone. `utc`: a time without a zone is in UTC. `date`: they have a date, and count from its start in UTC. `received`: they have none and count from their receipt, so a source that has stopped is not noticed.',
    ),
  },
  'Paths in the document: names separated by dots, or a list of names if a name contains a dot. A path that starts with `$.`, or a list that starts with `$`, begins at the top of the document. `$key` is the name of an entry that is a member of an object.',
)

export const pairText = (description: string) =>
  PatternText('^[A-Z]{3}/[A-Z]{3}$', 'be two currencies, such as EUR/USD', { description })

export const NamedPair = object({
  name: Type.String({ minLength: 1, maxLength: 200, description: 'Name of the entry in the document: `EUR_USD`.' }),
  pair: pairText('Pair of its rate, base first: `EUR/USD`.'),
})

export const Header = object({
  name: PatternText('^[A-Za-z0-9-]{1,64}$', 'be the name of a header', { description: 'Name: `authorization`.' }),
  prefix: text('', 'Text before the value: `Bearer ` with a space.', { maxLength: 64 }),
  env: Type.Optional(
    PatternText('^[A-Za-z_][A-Za-z0-9_]*$', 'be the name of an environment variable', {
      description: 'Environment variable that contains the value.',
    }),
  ),
  file: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: 'File that contains the value. Read with every request.',
    }),
  ),
})
export type SourceHeader = Static<typeof Header>

interface DocumentSettings {
  readonly document: Static<typeof SourceDocument>
  readonly pair?: string
  readonly pairs?: readonly Static<typeof NamedPair>[]
  readonly body?: string
}

export function documentProblems(
  { document, pair, pairs = [], body }: DocumentSettings,
  at: readonly string[],
): readonly Problem[] {
  const own = (name: keyof DocumentSettings['document'], message: string) => ({
    at: [...at, 'document', name],
    message,
  })
  const isSet = (path: DocumentPath) => path.length > 0
  return [
    ...(pair !== undefined && pairs.length > 0
      ? [{ at: [...at, 'pairs'], message: 'must not be set together with pair' }]
      : []),
    ...(pairs.length > 0 !== isSet(document.name)
      ? [own('name', 'must be set together with pairs: it leads to the name of an entry')]
      : []),
    ...duplicateProblems(
      pairs.map(({ name }) => name),
      [...at, 'pairs'],
      'name',
    ),
    ...pairs.flatMap((one, index) =>
      one.pair.slice(0, 3) === one.pair.slice(4)
        ? [
            {
              at: [...at, 'pairs', String(index), 'pair'],
              message: 'must be two different currencies',
              value: one.pair,
            },
          ]
        : [],
    ),
    ...(isSet(document.bid) !== isSet(document.ask) ? [own('ask', 'must be set together with bid')] : []),
    ...(document.sides === 'each' && !isSet(document.bid) ? [own('sides', 'needs bid and ask')] : []),
    ...(isSet(document.exponent) && isSet(document.decimals)
      ? [own('decimals', 'must not be set together with exponent')]
      : []),
    ...(body !== undefined && !isJson(body) ? [{ at: [...at, 'body'], message: 'must be JSON' }] : []),
  ]
}

/** They belong to the connection. */
const connectionHeaders = ['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding', 'upgrade']

export function headerProblems(headers: readonly SourceHeader[], at: readonly string[]): readonly Problem[] {
  return [
    ...duplicateProblems(
      headers.map(({ name }) => name.toLowerCase()),
      at,
      'name',
    ),
    ...headers.flatMap(({ name, env, file }, index) => [
      ...(connectionHeaders.includes(name.toLowerCase())
        ? [{ at: [...at, String(index), 'name'], message: 'must not be a header of the connection', value: name }]
        : []),
      ...((env === undefined) === (file === undefined)
        ? [{ at: [...at, String(index)], message: 'must have exactly one of env and file' }]
        : []),
    ]),
  ]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
