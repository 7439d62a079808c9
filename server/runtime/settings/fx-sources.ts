// Settings of rate sources. All kinds share one schema; the tables below list which members each kind requires or ignores
// and its default timing (behaviour/fx.md#rate-sources).
import { Address, oneOf, PatternText, type Static, Type } from '#api/contract/kit.ts'
import type { ClosedHours } from '#core/closed-hours.ts'
import type { Problem } from '#core/fault.ts'
import { Closed, isTimeZone } from './fx-closed.ts'
import { documentProblems, Header, headerProblems, NamedPair, pairText, SourceDocument } from './fx-documents.ts'
import { integer, object } from './server.ts'

const sourceKinds = ['http-json', 'file', 'ecb', 'aggregator', 'push'] as const
export type SourceKind = (typeof sourceKinds)[number]

export const Source = object({
  id: PatternText('^[a-z0-9-]{1,32}$', 'be 1 to 32 lowercase letters, digits and hyphens', {
    description: 'Name in logs, receipts and commands.',
  }),
  kind: oneOf(sourceKinds, {
    description:
      'How rates are read. `http-json` and `file`: a JSON document. `ecb`: the daily ECB reference rates in XML. `aggregator`: a price feed contract. `push`: rates are set by command or call.',
  }),
  url: Type.Optional(
    PatternText('^https?://', 'begin with http:// or https://', {
      format: 'uri',
      description: 'URL of the document, or of a JSON-RPC node for an `aggregator`. Logs show its host only.',
    }),
  ),
  path: Type.Optional(
    Type.String({ minLength: 1, maxLength: 4096, description: 'File to read, for `file` and `ecb`.' }),
  ),
  contract: Type.Optional({ ...Address, description: 'Price feed contract of an `aggregator`.' }),
  chainId: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Chain of the feed contract. Default: `fx.chainId`.' }),
  ),
  blockMaxAgeMs: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2_592_000_000,
      description:
        'The node of an `aggregator` is not used while its newest block is older than this. 0: not checked. Default: 10 min.',
    }),
  ),
  everyMs: Type.Optional(
    Type.Integer({
      minimum: 250,
      maximum: 86_400_000,
      description: 'Polling interval. Default: 5 s, `aggregator` 15 s, `ecb` 10 min.',
    }),
  ),
  timeoutMs: integer(4000, 100, 600_000, 'Timeout of one request.'),
  staleMs: Type.Optional(
    Type.Integer({
      minimum: 1000,
      maximum: 2_592_000_000,
      description:
        'A rate older than this is not used. Closed hours do not count. With `store.state`, at least everyMs + 2 × timeoutMs + 2500. Default: 60 s, `push` 15 min, `aggregator` 25 h, `ecb` 28 h.',
    }),
  ),
  headers: Type.Optional(
    Type.Array(Header, {
      maxItems: 16,
      description:
        'Headers of the request: `name`, text before the value (`prefix`), and the environment variable (`env`) or the file (`file`) with the value.',
    }),
  ),
  body: Type.Optional(
    Type.String({ minLength: 1, maxLength: 16_384, description: 'JSON body. The request is then a POST request.' }),
  ),
  pair: Type.Optional(pairText('Pair of every rate, base first, for documents without pairs and for an `aggregator`.')),
  pairs: Type.Optional(
    Type.Array(NamedPair, {
      minItems: 1,
      maxItems: 256,
      description:
        'Pairs of entries, for documents with names of their own: `name` in the document, and `pair`. Other entries are not used.',
    }),
  ),
  tradable: Type.Optional(
    Type.Boolean({
      description:
        'Whether its rates may price tradable quotes. Reference quotes use every source. Default: true, `ecb` false.',
    }),
  ),
  closed: Type.Optional(Closed),
  document: SourceDocument,
})
export type FxSource = Static<typeof Source>

/** `needs`: one member of each list is required. `ignores`: members that have no meaning for the kind. */
const members: Readonly<Record<SourceKind, { needs: readonly (readonly Member[])[]; ignores: readonly Member[] }>> = {
  'http-json': { needs: [['url']], ignores: ['path', 'contract', 'chainId', 'blockMaxAgeMs'] },
  file: { needs: [['path']], ignores: ['url', 'contract', 'chainId', 'blockMaxAgeMs', 'headers', 'body'] },
  ecb: { needs: [['url', 'path']], ignores: ['contract', 'chainId', 'blockMaxAgeMs', 'pair', 'pairs', 'body'] },
  aggregator: { needs: [['url'], ['contract'], ['pair']], ignores: ['path', 'pairs', 'headers', 'body'] },
  push: {
    needs: [],
    ignores: [
      ...(['url', 'path', 'contract', 'chainId', 'blockMaxAgeMs', 'everyMs'] as const),
      ...(['pairs', 'headers', 'body'] as const),
    ],
  },
}
type Member =
  | ('url' | 'path' | 'contract' | 'chainId' | 'blockMaxAgeMs' | 'everyMs')
  | ('pair' | 'pairs' | 'headers' | 'body')

interface DefaultTiming {
  readonly everyMs: number
  readonly staleMs: number
  readonly closed: ClosedHours | undefined
}

export interface SourceTiming extends DefaultTiming {
  /** A rate that the source has not returned for this long is not used. Infinite for `push`, which is not polled. */
  readonly confirmMs: number
}

const hourMs = 3_600_000
/** ECB rates are fixed at 14:10 and published at about 16:00 local time. The default of 28 h leaves two spare hours. */
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

/** One failed poll must not make a source unusable: the next one starts up to three intervals after the last success. */
const confirmIntervals = 4

/** How long another server may take to replace one that has died: at least, because it looks for signs of life. */
const takeoverMs = { min: 2500, max: 25_000 }

/** The timing of a source: its own settings, or the defaults of its kind. */
export function timingOf(source: FxSource): SourceTiming {
  const {
    kind,
    everyMs = defaultTimings[kind].everyMs,
    staleMs = defaultTimings[kind].staleMs,
    closed = defaultTimings[kind].closed,
  } = source
  const confirmMs = Math.max(confirmIntervals * everyMs + pollMs(source), untilTakenOver(everyMs, source))
  return { everyMs, staleMs, closed, confirmMs: kind === 'push' ? Number.POSITIVE_INFINITY : confirmMs }
}

/** A poll may take twice the timeout of the request (poll-rates.ts). */
const pollMs = ({ timeoutMs }: FxSource): number => 2 * timeoutMs

/** From the last poll of a server that then dies to the first one of another, if the takeover is as short as it can be. */
const untilTakenOver = (everyMs: number, source: FxSource): number => everyMs + pollMs(source) + takeoverMs.min

/**
 * How long it may take until another server polls the sources, so that rates that were fresh before are still fresh: as long
 * as the first of them stays fresh without the polls that are missing.
 */
export function ratesTakeoverMs(sources: readonly FxSource[]): number {
  const left = sources
    .filter(({ kind }) => kind !== 'push')
    .map((source) => {
      const { everyMs, staleMs, confirmMs } = timingOf(source)
      return Math.min(staleMs, confirmMs) - everyMs - pollMs(source)
    })
  return Math.max(takeoverMs.min, Math.min(takeoverMs.max, ...left))
}

/** Sources whose rates would expire before another server can take over. Only servers that share a database take over. */
export const takeoverProblems = (sources: readonly FxSource[]): readonly Problem[] =>
  sources.flatMap((source, index) => {
    const { everyMs, staleMs } = timingOf(source)
    const staleMinMs = untilTakenOver(everyMs, source)
    if (source.kind === 'push' || staleMs >= staleMinMs) return []
    const message =
      `must be at least ${staleMinMs} with store.state, so that rates stay fresh until another server takes over: ` +
      `everyMs, twice timeoutMs, and ${takeoverMs.min} ms`
    return [{ at: ['fx', 'sources', String(index), 'staleMs'], message, value: staleMs }]
  })

/** A daily fixing is too old to trade at, unless the operator allows it (behaviour/fx.md#tradable-sources). */
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
    ...documentProblems(source, at),
    ...headerProblems(source.headers ?? [], [...at, 'headers']),
    ...(source.kind === 'ecb' && source.url !== undefined && source.path !== undefined
      ? [{ at: [...at, 'path'], message: 'must not be set together with url', value: source.path }]
      : []),
    ...(base !== undefined && base === quote
      ? [{ at: [...at, 'pair'], message: 'must be two different currencies', value: source.pair }]
      : []),
    ...(source.closed && !isTimeZone(source.closed.timeZone)
      ? [{ at: [...at, 'closed', 'timeZone'], message: 'is not a known time zone', value: source.closed.timeZone }]
      : []),
  ]
}
