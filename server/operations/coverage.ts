// The coverage report: what has been read of each data stream, how completely, and how old it is. Used by /coverage,
// `tetrad coverage`, the metrics, the doctor and the console.

import { holes, type Range } from '#core/ranges.ts'
import { describeOtherForks, findChainFork } from '#explorer/chain-forks.ts'
import { chainStream, findStaleHead, getChainCoverage, isHeadConfirmed } from '#explorer/funding/chain-coverage.ts'
import {
  describeContradictedLogs,
  describeFailedPasses,
  describeUnreadable,
  describeUnverifiedHeaders,
  getIndexProblems,
  type IndexProblems,
} from '#explorer/funding/index/problems.ts'
import { readChainProblems, refreshTips } from '#explorer/funding/index/start-chains.ts'
import { logsStream } from '#explorer/funding/index/transfer-logs.ts'
import { findNode, isAwaitingFinality, nodeHealth } from '#explorer/nodes.ts'
import { measurePolls, readSourceHealth } from '#fx/rates/source-health.ts'
import { oncePerSecond } from '#http/health.ts'
import { jsonResponse } from '#http/render.ts'
import type { ReadableRoute } from '#http/routes.ts'
import { isProgressing, measureRate } from '#ingest/stream-progress.ts'
import { isLocked } from '#markets/feeds/feed-lock.ts'
import {
  findFeedProblem,
  isReadRecently,
  measureFeedPasses,
  newFeedState,
  readFeedStates,
} from '#markets/read/feed-state.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { networkSettings, networksOf } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import type { StreamView } from '#shared/console-calls.ts'
import type { StreamPasses } from '#shared/stream-passes.ts'
import type { ScheduledFork } from '#sources/beacon/next-fork.ts'
import type { NextChainFork } from '#sources/evm/next-fork.ts'
import { coverageOf } from '#storage/coverage.ts'
import { findGapReason, readGapReasons } from '#validators/ingest/gaps/explain-gaps.ts'
import { type MissingPast, readMissingPast } from '#validators/ingest/past/fill-past.ts'
import { networkStream, readNetworkHealth } from '#validators/ingest/status/health.ts'

export interface Stream extends StreamView {
  /** Of a network, while earlier epochs are read for validators that were added to the watch list. */
  readonly missingPast?: MissingPast
}

export interface Coverage {
  readonly at: string
  /** No stream has a gap in what was read. How much of the chain that is: `share` of the streams. */
  readonly gapless: boolean
  readonly fresh: boolean
  readonly streams: readonly Stream[]
}

const gapsShown = 100

/** Compares the nodes of the chains first. */
export async function currentCoverage(context: AppContext): Promise<Coverage> {
  await refreshTips(context)
  return coverageReport(context)
}

export async function coverageReport(context: AppContext): Promise<Coverage> {
  const { groups } = context.settings
  const streams = [
    ...(groups.explorer.enabled ? await chainStreams(context) : []),
    ...(groups.fx.enabled ? await rateStreams(context) : []),
    ...(groups.validators.enabled ? await networkStreams(context) : []),
    ...(groups.markets.enabled ? await feedStreams(context) : []),
  ]
  return {
    at: new Date(context.clock.now()).toISOString(),
    gapless: streams.every(({ gapless }) => gapless),
    fresh: streams.every(({ fresh }) => fresh !== false),
    streams,
  }
}

function measureCoverage(
  whole: Range,
  covered: readonly Range[],
): Pick<Stream, 'from' | 'until' | 'read' | 'gaps' | 'gapsCount'> {
  const missing = holes(covered, whole)
  const unread = missing.reduce((sum, { from, until }) => sum + until - from, 0)
  return {
    from: whole.from,
    until: whole.until,
    read: whole.until - whole.from - unread,
    gaps: missing.slice(0, gapsShown),
    gapsCount: missing.length,
  }
}

type Target = Pick<Stream, 'target' | 'share' | 'remaining' | 'perSecond' | 'remainingSeconds'>

const unknownTarget: Target = { target: null, share: null, remaining: null, perSecond: null, remainingSeconds: null }

/** How much has been read up to the target, at which rate, and how long the rest takes (behaviour/operations.md#progress). */
function measureTarget(
  context: AppContext,
  name: string,
  { from, read }: ReturnType<typeof measureCoverage>,
  target: number | undefined,
): Target {
  if (from === null || read === null || target === undefined || target <= from) return unknownTarget
  const total = target - from
  const remaining = Math.max(0, total - read)
  const share = Math.floor((10_000 * (total - remaining)) / total) / 10_000
  return { target, share, remaining, ...measureRate(context, name, { read, remaining }) }
}

type StreamWithoutStatus = Omit<Stream, 'status'>

/** For streams that are meant to be kept up to date. */
function withStatus(stream: StreamWithoutStatus, isProgressing: boolean): Stream {
  const { gapless, fresh } = stream
  if (gapless && fresh !== false) return { ...stream, status: 'healthy' }
  if (isProgressing) return { ...stream, status: 'catching up' }
  return { ...stream, status: fresh === false ? 'stale' : 'gaps' }
}

/** A stream that is read again and again, but less often than configured (behaviour/operations.md#stream-status). */
function withPasses(stream: Stream, passes: StreamPasses): Stream {
  if (stream.status !== 'healthy' && stream.status !== 'catching up') return stream
  return passes.behind > 0 ? { ...stream, passes, fresh: false, status: 'behind' } : { ...stream, passes }
}

const joinProblems = (texts: readonly (string | null | undefined)[]): Pick<Stream, 'problem'> => {
  const problem = texts.filter(Boolean).join('; ')
  return problem === '' ? {} : { problem }
}

const unordered = { from: null, until: null, read: null, gaps: [], gapsCount: 0, ...unknownTarget } as const

async function chainStreams(context: AppContext): Promise<Stream[]> {
  const streams: Stream[] = []
  for (const { id, mode, rpc } of context.settings.explorer.chains) {
    const chainCoverage = await getChainCoverage(context, id)
    const { blocks, covered, confirmedMs } = chainCoverage
    // The default chains, and chains that only have labels.
    if (rpc.length === 0 && covered.length === 0) continue
    const position = measureCoverage(blocks, covered)
    const problems = getIndexProblems(context, id)
    const failed = describeFailedPasses(problems)
    const node = findNode(context, id)
    const hasNode = rpc.length > 0
    const isRead = position.gapsCount === 0 && blocks.until > blocks.from
    const isKnown = confirmedMs > 0 || isRead || context.streams.stepMs.has(chainStream(id))
    // Newer blocks are not known without a recent confirmation, unless it is known that some are missing.
    const chainProblems = node ? await readChainProblems(context, node) : []
    const isStored = findStaleHead(context, chainCoverage) !== undefined
    const readMs = isStored ? chainCoverage.head.timeUnix * 1000 : confirmedMs
    const isStale = node?.lastTip()?.doubt !== undefined || isStored
    const isHeadKnown = !hasNode || position.gapsCount > 0 || isHeadConfirmed(context, chainCoverage)
    const target = isHeadKnown && (mode !== 'probe' || !hasNode) ? blocks.until : undefined
    const nowMs = context.clock.now()
    const forks = context.explorer.forks.get(id) ?? []
    const otherForks = describeOtherForks(forks, nowMs)
    const stream: StreamWithoutStatus = {
      group: 'explorer',
      name: chainStream(id),
      ...position,
      ...measureTarget(context, chainStream(id), position, target),
      gaps: position.gaps.map((gap) => {
        const left = problems.unreadable.values().find(({ block }) => gap.from <= block && block < gap.until)
        return left ? { ...gap, reason: describeUnreadable(left) } : gap
      }),
      ageSeconds: hasNode && confirmedMs > 0 ? Math.round((context.clock.now() - readMs) / 1000) : null,
      // A chain that is searched on request needs no index.
      gapless: isRead || (mode === 'probe' && position.gapsCount === 0),
      // Not known before the index has reached the head for the first time.
      fresh: isStale ? false : hasNode && mode !== 'probe' && isKnown ? isHeadConfirmed(context, chainCoverage) : null,
      ...chainNodes(problems),
      ...describeNextFork(findChainFork(forks, nowMs), otherForks !== undefined),
      ...chainLogs(await coverageOf(context.ingest, logsStream(id)), problems),
      ...joinProblems([
        failed,
        otherForks,
        describeContradictedLogs(problems),
        describeUnverifiedHeaders(problems),
        ...(node ? nodeHealth(context, node) : []).map(({ name, trouble }) => trouble && `${name}: ${trouble}`),
        ...chainProblems,
      ]),
    }
    // A block that is left out is not being read, even if others are.
    const isCatchingUp =
      isProgressing(context, stream.name, position.read ?? 0) && !failed && problems.unreadable.size === 0
    const isYoung = node !== undefined && covered.length === 0 && (problems.isWaiting || isAwaitingFinality(node))
    if (!hasNode) streams.push({ ...stream, status: 'not syncing' })
    else if (isYoung && mode !== 'probe') streams.push({ ...stream, fresh: null, status: 'waiting' })
    else if (isStale) streams.push({ ...stream, status: 'stale' })
    else if (mode === 'probe') streams.push({ ...stream, status: 'on demand' })
    else if (failed) streams.push({ ...stream, status: position.gapsCount > 0 ? 'gaps' : 'stale' })
    else streams.push(withStatus(stream, isCatchingUp))
  }
  return streams
}

function chainNodes({ isDisagreement, notCompared }: IndexProblems): Pick<Stream, 'nodes'> {
  if (isDisagreement) return { nodes: 'disagree' }
  return notCompared ? { nodes: notCompared.length === 0 ? 'agree' : 'not compared' } : {}
}

const chainLogs = (
  ranges: readonly Range[],
  { contradictedLogs, unverifiedHeaders }: IndexProblems,
): Pick<Stream, 'logs'> =>
  ranges.length === 0 && !contradictedLogs && !unverifiedHeaders
    ? {}
    : {
        logs: {
          blocks: ranges.reduce((sum, { from, until }) => sum + until - from, 0),
          ranges: ranges.slice(0, gapsShown),
          contradicted: contradictedLogs?.blocks ?? 0,
          unverifiedHeaders: unverifiedHeaders?.blocks ?? 0,
        },
      }

async function networkStreams(context: AppContext): Promise<Stream[]> {
  const streams: Stream[] = []
  for (const network of networksOf(context.settings)) {
    const health = await readNetworkHealth(context, network)
    const { covered, ageSeconds = null } = health
    const isFollowed = networkSettings(context.settings, network).beacon.urls.length > 0
    if (covered.length === 0 && !isFollowed) continue
    const position = measureCoverage(health.wanted, covered)
    const missingPast = await readMissingPast(context, network)
    const status = context.validators.ingestStatuses.get(network)
    const reasons = position.gapsCount === 0 ? [] : await readGapReasons(context.ingest, network)
    const stream: StreamWithoutStatus = {
      group: 'validators',
      name: networkStream(network),
      ...position,
      ...measureTarget(context, networkStream(network), position, health.target),
      gaps: position.gaps.map((gap) => {
        const reason = findGapReason(reasons, gap)
        return reason === undefined ? gap : { ...gap, reason }
      }),
      ageSeconds,
      // Unless `fromEpoch` is set, epochs before the first stored one are no gap, but may still be read.
      gapless: position.gapsCount === 0 && covered.length > 0 && health.fillingEpochs === 0,
      fresh: isFollowed ? health.isFresh : null,
      ...(health.step !== undefined && { step: health.step }),
      ...(health.doNodesDisagree && { nodes: 'disagree' as const }),
      ...describeNextFork(status?.nextFork, status?.otherForks !== undefined),
      ...joinProblems([status?.lastError, status?.otherForks]),
      ...(missingPast.epochs > 0 && { missingPast }),
    }
    // Following continues from the newest epoch, so its progress does not fill an earlier gap.
    const isCatchingUp = health.isProgressing || health.fillingEpochs > 0
    if (!isFollowed) streams.push({ ...stream, status: 'not syncing' })
    else if (health.isYoung) streams.push({ ...stream, fresh: null, status: 'waiting' })
    else streams.push(withStatus(stream, isCatchingUp))
  }
  return streams
}

const describeNextFork = (
  fork: NextChainFork | ScheduledFork | undefined,
  differs: boolean,
): Pick<Stream, 'nextFork'> =>
  fork
    ? {
        nextFork: {
          ...{ name: fork.name, epoch: 'epoch' in fork ? fork.epoch : null },
          ...{ at: new Date(fork.atMs).toISOString(), supported: fork.isKnown, differs },
        },
      }
    : {}

const reasonsShown = 3

export const rateStream = ({ id }: Pick<FxSource, 'id'>): string => `rates ${id}`

async function rateStreams(context: AppContext): Promise<Stream[]> {
  return (await readSourceHealth(context)).map((health) => {
    const { source, status, rates, contradictions } = health
    const unused = rates.filter(({ status }) => status !== 'used')
    const reasons = new Set([...contradictions.slice(0, reasonsShown).map(({ reason }) => reason), status?.reason])
    const stream: StreamWithoutStatus = {
      group: 'fx',
      name: rateStream(source),
      ...unordered,
      ageSeconds:
        rates.length > 0 ? Math.max(0, Math.round(Math.min(...rates.map(({ ageMs }) => ageMs)) / 1000)) : null,
      gapless: rates.length > 0,
      fresh: rates.some(({ status }) => status === 'used' || status === 'outlier'),
      ...joinProblems([...unused.map(({ base, quote, status }) => `${base}/${quote}: ${status}`), ...reasons]),
    }
    // Rates of a push source are set by hand: before the first one there is nothing to read.
    if (source.kind === 'push' && rates.length === 0) return { ...stream, fresh: null, status: 'not syncing' }
    return withPasses(withStatus(stream, false), measurePolls(health))
  })
}

async function feedStreams({ ingest, settings, clock }: AppContext): Promise<Stream[]> {
  const feedStates = new Map((await readFeedStates(ingest)).map((feed) => [feed.source, feed]))
  const nowMs = clock.now()
  return settings.markets.feeds.map((feed) => {
    const { id, staleMs, everyMs } = feed
    const feedState = feedStates.get(id) ?? { ...newFeedState(id), rejected: 0 }
    const { asOfMs, fullAtMs } = feedState
    const problem = findFeedProblem(feedState)
    const stream: StreamWithoutStatus = {
      group: 'markets',
      name: `feed ${id}`,
      ...unordered,
      ageSeconds: asOfMs === null ? null : Math.round((nowMs - asOfMs) / 1000),
      gapless: fullAtMs !== null && !problem,
      fresh: isReadRecently(feedState, staleMs, nowMs),
      ...joinProblems([problem?.message]),
    }
    // The reader of a feed holds a lock and extends it with every page.
    const known = withStatus(stream, isLocked(feed, feedState, nowMs))
    // The first pass has no earlier one to be late after, and a feed with a problem has another remedy.
    return stream.gapless ? withPasses(known, measureFeedPasses(feedState, everyMs, nowMs)) : known
  })
}

/** The report, at most a second old: /coverage is public and must stay cheap. */
export const recentCoverage = (context: AppContext): (() => Promise<Coverage>) =>
  oncePerSecond(context.clock, () => currentCoverage(context))

/** GET /coverage. It needs no key, because nothing in it is secret: problems and reasons of gaps, which name nodes, are left out. */
export const coverageRoute = (coverage: () => Promise<Coverage>): ReadableRoute => ({
  path: '/coverage',
  sameOrigin: true,
  read: async () => jsonResponse(withoutReasons(await coverage())),
})

const withoutReasons = ({ streams, ...report }: Coverage): Coverage => ({
  ...report,
  streams: streams.map(({ problem: _, ...stream }) => ({
    ...stream,
    gaps: stream.gaps.map(({ from, until }) => ({ from, until })),
  })),
})
