// What has been read, how completely, and how old it is: one entry for every stream of data that comes in. The same for
// /coverage, the command, the metrics and the doctor.
import type { Group } from '#api/routes.ts'
import { networks } from '#api/wire/validators.ts'
import { holes, type Range } from '#core/ranges.ts'
import { getChainCoverage, isHeadConfirmed } from '#explorer/funding/coverage.ts'
import { readSourceHealth } from '#fx/rates/source-health.ts'
import { oncePerSecond } from '#http/health.ts'
import type { ReadableRoute } from '#http/routes.ts'
import { isMoving } from '#ingest/stream-progress.ts'
import { findFeedProblem, newFeedState, readFeedStates } from '#markets/feeds/feed-state.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import type { AppContext } from '#server/context.ts'
import { networkStream, readNetworkHealth } from '#validators/ingest/health.ts'
import { chainStream, isFollowed } from './chain-progress.ts'

/**
 * In a word. `holes`: something is missing that nobody is reading. `catching up`: behind, but moving. `on demand`: a chain
 * that is searched when asked. `not followed`: data that was brought in, and no node or source behind it; or a source that
 * waits for its first rate to be set.
 */
export type StreamStatus = 'well' | 'catching up' | 'stale' | 'holes' | 'on demand' | 'not followed'

export interface Stream {
  readonly group: Group
  /** `chain 1`, `network mainnet`, `rates desk`, `feed main`. */
  readonly name: string
  /** Stretch that there is, half-open, and how much of it has been read; for streams without an order null. */
  readonly from: number | null
  readonly until: number | null
  readonly read: number | null
  /** Stretches between that have not been read: the first of them. */
  readonly holes: readonly Range[]
  readonly holesCount: number
  /** How long ago the newest data was made, or the source was last read to its end; null: not known. */
  readonly ageSeconds: number | null
  /** Nothing is missing. */
  readonly complete: boolean
  /** Not older than the stream may be; null: nobody follows it. */
  readonly fresh: boolean | null
  readonly standing: StreamStatus
}

export interface Coverage {
  readonly at: string
  readonly complete: boolean
  readonly fresh: boolean
  readonly streams: readonly Stream[]
}

const holesShown = 100

export async function coverageReport(context: AppContext): Promise<Coverage> {
  const { groups } = context.settings
  const streams = [
    ...(groups.explorer.on ? await chainStreams(context) : []),
    ...(groups.fx.on ? await rateStreams(context) : []),
    ...(groups.validators.on ? await networkStreams(context) : []),
    ...(groups.markets.on ? await feedStreams(context) : []),
  ]
  return {
    at: new Date(context.clock.now()).toISOString(),
    complete: streams.every(({ complete }) => complete),
    fresh: streams.every(({ fresh }) => fresh !== false),
    streams,
  }
}

function stretch(
  span: Range,
  covered: readonly Range[],
): Pick<Stream, 'from' | 'until' | 'read' | 'holes' | 'holesCount'> {
  const missing = holes(covered, span)
  const unread = missing.reduce((sum, { from, until }) => sum + until - from, 0)
  return {
    from: span.from,
    until: span.until,
    read: span.until - span.from - unread,
    holes: missing.slice(0, holesShown),
    holesCount: missing.length,
  }
}

type Bare = Omit<Stream, 'standing'>

/** Of a stream that is meant to be followed. */
function withStatus(stream: Bare, isMoving: boolean): Stream {
  const { complete, fresh } = stream
  if (complete && fresh !== false) return { ...stream, standing: 'well' }
  if (isMoving) return { ...stream, standing: 'catching up' }
  return { ...stream, standing: fresh === false ? 'stale' : 'holes' }
}

const unordered = { from: null, until: null, read: null, holes: [], holesCount: 0 } as const

async function chainStreams(context: AppContext): Promise<Stream[]> {
  const streams: Stream[] = []
  for (const { id, mode, rpc } of context.settings.explorer.chains) {
    const chainCoverage = await getChainCoverage(context, id)
    const { span, covered, confirmedMs } = chainCoverage
    const position = stretch(span, covered)
    const hasNode = rpc.length > 0
    const isRead = position.holesCount === 0 && span.until > span.from
    const isKnown = confirmedMs > 0 || isRead || isFollowed(context, id)
    const stream: Bare = {
      ...{ group: 'explorer', name: chainStream(id), ...position },
      ageSeconds: hasNode && confirmedMs > 0 ? Math.round((context.clock.now() - confirmedMs) / 1000) : null,
      // A chain that is searched when asked needs no block ahead of time.
      complete: isRead || (mode === 'probe' && position.holesCount === 0),
      // Not known of an index that nobody has followed to the head yet.
      fresh: hasNode && mode !== 'probe' && isKnown ? isHeadConfirmed(context, chainCoverage) : null,
    }
    if (!hasNode) streams.push({ ...stream, standing: 'not followed' })
    else if (mode === 'probe') streams.push({ ...stream, standing: 'on demand' })
    else streams.push(withStatus(stream, isMoving(context, stream.name, position.read ?? 0)))
  }
  return streams
}

async function networkStreams(context: AppContext): Promise<Stream[]> {
  const streams: Stream[] = []
  for (const network of networks) {
    const { covered, ageSeconds = null, isFresh, isMoving: isProgressing } = await readNetworkHealth(context, network)
    const isFollowed = context.settings.validators.networks[network].beacon.urls.length > 0
    const [first, last] = [covered[0], covered.at(-1)]
    if (!first && !isFollowed) continue
    const position = stretch({ from: first?.from ?? 0, until: last?.until ?? 0 }, covered)
    const stream: Bare = {
      ...{ group: 'validators', name: networkStream(network), ...position, ageSeconds },
      complete: position.holesCount === 0 && last !== undefined,
      fresh: isFollowed ? isFresh : null,
    }
    // The follower goes on from the newest epoch: a hole behind it is not filled by moving.
    streams.push(isFollowed ? withStatus(stream, isProgressing) : { ...stream, standing: 'not followed' })
  }
  return streams
}

/** What a source of rates is called where streams are told apart. */
export const rateStream = ({ id }: Pick<FxSource, 'id'>): string => `rates ${id}`

async function rateStreams(context: AppContext): Promise<Stream[]> {
  return (await readSourceHealth(context)).map(({ source, rates }) => {
    const stream: Bare = {
      ...{ group: 'fx', name: rateStream(source), ...unordered },
      ageSeconds:
        rates.length > 0 ? Math.max(0, Math.round(Math.min(...rates.map(({ ageMs }) => ageMs)) / 1000)) : null,
      complete: rates.length > 0,
      fresh: rates.some(({ standing }) => standing === 'used' || standing === 'outlier'),
    }
    // Nobody has begun to set rates: the server has nothing to read there.
    if (source.kind === 'push' && rates.length === 0) return { ...stream, fresh: null, standing: 'not followed' }
    return withStatus(stream, false)
  })
}

async function feedStreams({ state, settings, clock }: AppContext): Promise<Stream[]> {
  const standings = new Map((await readFeedStates(state)).map((one) => [one.source, one]))
  return settings.markets.feeds.map(({ id, staleMs }) => {
    const standing = standings.get(id) ?? { ...newFeedState(id), rejected: 0 }
    const { doneAtMs, fullAtMs, holder, heldUntilMs } = standing
    const ageMs = doneAtMs === null ? null : Math.max(0, clock.now() - doneAtMs)
    const stream: Bare = {
      ...{ group: 'markets', name: `feed ${id}`, ...unordered },
      ageSeconds: ageMs === null ? null : Math.round(ageMs / 1000),
      complete: fullAtMs !== null && !findFeedProblem(standing),
      fresh: ageMs !== null && ageMs <= staleMs,
    }
    // Whoever reads it holds it, and holds on with every page.
    return withStatus(stream, holder !== '' && heldUntilMs > clock.now())
  })
}

/** As coverageReport, up to a second old: for what anybody may ask for. */
export const recentCoverage = (context: AppContext): (() => Promise<Coverage>) =>
  oncePerSecond(context.clock, () => coverageReport(context))

/** GET /coverage, for people and machines that watch; nothing in it is secret. */
export const coverageRoute = (coverage: () => Promise<Coverage>): ReadableRoute => ({
  path: '/coverage',
  read: async () => ({
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(await coverage()),
  }),
})
