// Settings of the places rates come from. One entry form for all kinds; which members a kind needs and what it takes
// for granted is in the two tables below (behaviour/fx.md#rate-sources).
import { Address, oneOf, PatternText, type Static, Type, withDefault } from '#api/kit.ts'
import { type ClosedHours, formatOf, weekPattern } from '#core/closed-hours.ts'
import type { Problem } from '#core/fault.ts'
import { section } from './server.ts'

const path = (value: string, description: string) =>
  withDefault(
    PatternText('^$|^(\\$\\.)?[^.]+(\\.[^.]+)*$', 'be names separated by points', { maxLength: 200, description }),
    value,
  )

const SourceDocument = section(
  {
    list: path('rates', 'Path to the list of entries; empty: the document itself. A single object is a list of one.'),
    base: path('base', 'Path to the currency that is priced, inside an entry.'),
    quote: path('quote', 'Path to the currency it is priced in, inside an entry.'),
    rate: path('rate', 'Path to the price of one unit of base, inside an entry: a text or a number.'),
    time: path('time', 'Path to its time: ISO 8601, or Unix seconds or milliseconds.'),
  },
  'Where things are in the document. Names are separated by points; `$.` begins at the top instead of at the entry.',
)

const Closed = Type.Object(
  {
    week: Type.Optional(
      PatternText(weekPattern.source, 'be written like Fri 17:00 - Sun 17:00', {
        description: 'Closed hours of every week: `Fri 17:00 - Sun 17:00`.',
      }),
    ),
    timeZone: withDefault(Type.String({ description: 'Time zone of the hours and days: `America/New_York`.' }), 'UTC'),
    holidays: withDefault(
      oneOf(['none', 'target'], { description: 'Whole days by rule: `target`, those of the euro payment system.' }),
      'none',
    ),
    dates: withDefault(
      Type.Array(PatternText('^(\\d{4}-)?\\d\\d-\\d\\d$', 'be a day such as 2026-12-24 or 12-24'), {
        maxItems: 400,
        description: 'More whole days: `2026-12-24`, or `12-24` for every year.',
      }),
      [],
    ),
  },
  { additionalProperties: false },
)

const sourceKinds = ['http-json', 'file', 'ecb', 'aggregator', 'push'] as const
export type SourceKind = (typeof sourceKinds)[number]

export const Source = Type.Object(
  {
    id: PatternText('^[a-z0-9-]{1,32}$', 'be 1 to 32 small letters, digits and hyphens', {
      description: 'Its name in logs, receipts and commands.',
    }),
    kind: oneOf(sourceKinds, {
      description:
        'How it is read. `http-json` and `file`: a JSON document. `ecb`: the daily reference rates in XML. `aggregator`: a price feed on a chain. `push`: rates are set by command or call.',
    }),
    url: Type.Optional(
      PatternText('^https?://', 'begin with http:// or https://', {
        format: 'uri',
        description: 'Address of the document, or for an `aggregator` of a JSON-RPC node; never logged whole.',
      }),
    ),
    path: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, description: 'A file to read, for `file` and `ecb`.' }),
    ),
    contract: Type.Optional({ ...Address, description: 'The feed contract of an `aggregator`.' }),
    chainId: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Chain of the feed contract; left out: the chain of the typed data.' }),
    ),
    everyMs: Type.Optional(
      Type.Integer({
        minimum: 250,
        maximum: 86_400_000,
        description: 'How often it is asked; left out: 5 s, an `aggregator` 15 s, `ecb` 10 min.',
      }),
    ),
    timeoutMs: withDefault(
      Type.Integer({ minimum: 100, maximum: 600_000, description: 'How long one answer may take.' }),
      4000,
    ),
    staleMs: Type.Optional(
      Type.Integer({
        minimum: 1000,
        maximum: 2_592_000_000,
        description:
          'A rate older than this is not used, closed hours not counted; left out: 60 s, `push` 15 min, an `aggregator` 25 h, `ecb` 28 h.',
      }),
    ),
    pair: Type.Optional(
      PatternText('^[A-Z]{3}/[A-Z]{3}$', 'be two currencies, such as EUR/USD', {
        description: 'The pair of every rate, base first, for documents that do not name it and for an `aggregator`.',
      }),
    ),
    tradable: Type.Optional(
      Type.Boolean({
        description:
          'Whether it may price tradable quotes; reference quotes rest on every source. Left out: yes, `ecb` no.',
      }),
    ),
    closed: Type.Optional(Closed),
    document: SourceDocument,
  },
  { additionalProperties: false },
)
export type FxSource = Static<typeof Source>

/** What a kind needs, one of each list, and what it has no use for. */
const members: Readonly<Record<SourceKind, { needs: readonly (readonly Member[])[]; ignores: readonly Member[] }>> = {
  'http-json': { needs: [['url']], ignores: ['path', 'contract', 'chainId'] },
  file: { needs: [['path']], ignores: ['url', 'contract', 'chainId'] },
  ecb: { needs: [['url', 'path']], ignores: ['contract', 'chainId', 'pair'] },
  aggregator: { needs: [['url'], ['contract'], ['pair']], ignores: ['path'] },
  push: { needs: [], ignores: ['url', 'path', 'contract', 'chainId', 'everyMs'] },
}
type Member = 'url' | 'path' | 'contract' | 'chainId' | 'pair' | 'everyMs'

interface DefaultTiming {
  readonly everyMs: number
  readonly staleMs: number
  readonly closed: ClosedHours | undefined
}

export interface SourceTiming extends DefaultTiming {
  /** A rate that the source has not given again for this long is not used; infinite for `push`, which is never asked. */
  readonly confirmMs: number
}

const hourMs = 3_600_000
/** The bank's rates are of 14:10 its time and appear about 16:00: a day and two hours, and two more to be late in. */
const ecbClosed: ClosedHours = {
  week: 'Sat 00:00 - Mon 00:00',
  timeZone: 'Europe/Berlin',
  holidays: 'target',
  dates: [],
}
const defaultTimings: Readonly<Record<SourceKind, DefaultTiming>> = {
  'http-json': { everyMs: 5000, staleMs: 60_000, closed: undefined },
  file: { everyMs: 5000, staleMs: 60_000, closed: undefined },
  ecb: { everyMs: 600_000, staleMs: 28 * hourMs, closed: ecbClosed },
  aggregator: { everyMs: 15_000, staleMs: 25 * hourMs, closed: undefined },
  push: { everyMs: hourMs, staleMs: 900_000, closed: undefined },
}

/** One failed attempt must not make a source unusable: the next one starts up to three intervals after the last success. */
const confirmIntervals = 4

/** When it is asked and how old it may be: its own figures, or what is usual for its kind. */
export function timingOf(source: FxSource): SourceTiming {
  const {
    kind,
    everyMs = defaultTimings[kind].everyMs,
    staleMs = defaultTimings[kind].staleMs,
    closed = defaultTimings[kind].closed,
  } = source
  // An attempt may take twice the time limit of the request (rates.ts).
  const confirmMs = kind === 'push' ? Number.POSITIVE_INFINITY : confirmIntervals * everyMs + 2 * source.timeoutMs
  return { everyMs, staleMs, closed, confirmMs }
}

/** A rate that was fixed hours ago is no price to trade at, unless the operator says so (behaviour/fx.md#tradable-sources). */
export const mayPriceTrades = ({ kind, tradable }: FxSource): boolean => tradable ?? kind !== 'ecb'

export function sourceProblems(source: FxSource, at: readonly string[]): readonly Problem[] {
  const { needs, ignores } = members[source.kind]
  const [base, quote] = source.pair?.split('/') ?? []
  return [
    ...needs
      .filter((choice) => choice.every((name) => source[name] === undefined))
      .map((choice) => ({
        at: [...at, choice[0] ?? ''],
        message: `is required for ${source.kind}${choice[1] ? `, or ${choice[1]}` : ''}`,
      })),
    ...ignores
      .filter((name) => source[name] !== undefined)
      .map((name) => ({ at: [...at, name], message: `has no meaning for ${source.kind}`, value: source[name] })),
    ...(source.kind === 'ecb' && source.url !== undefined && source.path !== undefined
      ? [{ at: [...at, 'path'], message: 'must be left out where url is given', value: source.path }]
      : []),
    ...(base !== undefined && base === quote
      ? [{ at: [...at, 'pair'], message: 'must be two currencies', value: source.pair }]
      : []),
    ...(source.closed && !isTimeZone(source.closed.timeZone)
      ? [{ at: [...at, 'closed', 'timeZone'], message: 'is not a known time zone', value: source.closed.timeZone }]
      : []),
  ]
}

function isTimeZone(name: string): boolean {
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}
