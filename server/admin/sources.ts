// The status of all nodes, rate sources and market feeds, for the console. URLs may contain keys, so only their host is
// shown, also inside error messages.
import type { SourceView } from '#api/console.ts'
import { formatAgeOf } from '#core/age.ts'
import { findNode } from '#explorer/nodes.ts'
import { readSourceHealth } from '#fx/rates/source-health.ts'
import { findFeedProblem, readFeedStates } from '#markets/feeds/feed-state.ts'
import type { AppContext } from '#server/context.ts'
import { findRun } from '#validators/ingest/ingest-status.ts'
import { followedNetworks } from '#validators/ingest/start.ts'
import type { ProgressBoard } from './progress.ts'

export async function sourceViews(context: AppContext, board: ProgressBoard): Promise<SourceView[]> {
  const { groups } = context.settings
  return [
    ...(groups.explorer.enabled ? nodeViews(context) : []),
    ...(groups.fx.enabled ? await rateViews(context, board) : []),
    ...(groups.validators.enabled ? beaconViews(context) : []),
    ...(groups.markets.enabled ? await feedViews(context, board) : []),
  ]
}

const unmeasured = { lastGoodAt: null, failures: 0, latencyMs: null } as const

function nodeViews(context: AppContext): SourceView[] {
  return context.settings.explorer.chains.flatMap(({ id }) => {
    const node = findNode(context, id)
    if (!node) return []
    const isUsed = node.rpc.counts().rounds > 0
    return node.rpc.health().map(({ name, trouble }) => ({
      ...({ group: 'explorer', kind: 'node', name: `chain ${id}, ${hostsOnly(name)}` } as const),
      ok: isUsed ? trouble === undefined : null,
      message: hostsOnly(trouble ?? ''),
      ...unmeasured,
    }))
  })
}

/** The nodes of a network share one status. */
function beaconViews(context: AppContext): SourceView[] {
  return followedNetworks(context).map((network) => {
    const status = findRun(context, network)?.status
    const hosts = context.settings.validators.networks[network].beacon.urls.map(hostOf)
    return {
      ...({ group: 'validators', kind: 'node', name: `network ${network}, ${hosts.join(', ')}` } as const),
      ok: status && status.polls > 0 ? status.lastError === null : null,
      message: hostsOnly(status?.lastError ?? ''),
      ...unmeasured,
    }
  })
}

async function rateViews(context: AppContext, board: ProgressBoard): Promise<SourceView[]> {
  return (await readSourceHealth(context)).map(({ source, status, rates }) => {
    const used = rates.filter(({ status }) => status === 'used')
    const ages = rates.map(({ base, quote, status, ageMs }) => `${base}/${quote} ${status}, ${formatAgeOf(ageMs)}`)
    const reason = status?.reason ? [hostsOnly(status.reason)] : []
    return {
      ...({ group: 'fx', kind: 'rates', name: source.id } as const),
      ok: status === undefined && rates.length === 0 ? null : (status?.failures ?? 0) === 0 && used.length > 0,
      message: [...ages, ...reason].join('; '),
      lastGoodAt: isoTimeOrNull(status?.goodMs),
      failures: status?.failures ?? 0,
      latencyMs: board.ratesTookMs(source.id),
    }
  })
}

async function feedViews({ state, settings, clock }: AppContext, board: ProgressBoard): Promise<SourceView[]> {
  const feedStates = new Map((await readFeedStates(state)).map((feed) => [feed.source, feed]))
  return settings.markets.feeds.map(({ id, staleMs }) => {
    const feedState = feedStates.get(id)
    const failure = board.problem(`feed ${id}`)
    const doneMs = feedState?.doneAtMs ?? undefined
    const isFresh = doneMs !== undefined && clock.now() - doneMs <= staleMs
    const incomplete = feedState && findFeedProblem(feedState)
    const pass = feedState && feedState.page > 0 ? `${feedState.pass} pass, page ${feedState.page}` : ''
    return {
      ...({ group: 'markets', kind: 'feed', name: id } as const),
      ok: failure || incomplete ? false : doneMs === undefined ? null : isFresh,
      message: failure ? hostsOnly(failure.reason) : (incomplete?.message ?? pass),
      lastGoodAt: isoTimeOrNull(doneMs),
      failures: failure?.failures ?? 0,
      latencyMs: null,
    }
  })
}

const isoTimeOrNull = (atMs: number | null | undefined): string | null =>
  atMs === null || atMs === undefined ? null : new Date(atMs).toISOString()

const hostOf = (address: string): string => URL.parse(address)?.host ?? 'a node'

/** `https://node.example/v3/secret answered …` → `node.example answered …`. */
export const hostsOnly = (text: string): string =>
  text.replaceAll(/\b(?:https?|wss?):\/\/[^\s"'<>,;)]+/gi, (address) => hostOf(address))
