// Where the data comes from, and how each place is doing: nodes, sources of rates, feeds of markets. An address may hold a
// key in its path, so of addresses only the host is shown, also inside what a source said.
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
    ...(groups.explorer.on ? nodeViews(context) : []),
    ...(groups.fx.on ? await rateViews(context, board) : []),
    ...(groups.validators.on ? beaconViews(context) : []),
    ...(groups.markets.on ? await feedViews(context, board) : []),
  ]
}

const unmeasured = { lastTriedAt: null, lastGoodAt: null, failures: 0, latencyMs: null } as const

function nodeViews(context: AppContext): SourceView[] {
  return context.settings.explorer.chains.flatMap(({ id }) => {
    const node = findNode(context, id)
    if (!node) return []
    const isAsked = node.rpc.counts().rounds > 0
    return node.rpc.health().map(({ name, trouble }) => ({
      ...({ group: 'explorer', kind: 'node', name: `chain ${id}, ${hostsOnly(name)}` } as const),
      ok: isAsked ? trouble === undefined : null,
      message: hostsOnly(trouble ?? ''),
      ...unmeasured,
    }))
  })
}

/** The nodes of a network are asked as one. */
function beaconViews(context: AppContext): SourceView[] {
  return followedNetworks(context).map((network) => {
    const standing = findRun(context, network)?.status
    const hosts = context.settings.validators.networks[network].beacon.urls.map(hostOf)
    return {
      ...({ group: 'validators', kind: 'node', name: `network ${network}, ${hosts.join(', ')}` } as const),
      ok: standing && standing.rounds > 0 ? standing.trouble === null : null,
      message: hostsOnly(standing?.trouble ?? ''),
      ...unmeasured,
    }
  })
}

async function rateViews(context: AppContext, board: ProgressBoard): Promise<SourceView[]> {
  return (await readSourceHealth(context)).map(({ source, status, rates }) => {
    const used = rates.filter(({ standing }) => standing === 'used')
    const ages = rates.map(({ base, quote, standing, ageMs }) => `${base}/${quote} ${standing}, ${formatAgeOf(ageMs)}`)
    const reason = status?.reason ? [hostsOnly(status.reason)] : []
    return {
      ...({ group: 'fx', kind: 'rates', name: source.id } as const),
      ok: status === undefined && rates.length === 0 ? null : (status?.failures ?? 0) === 0 && used.length > 0,
      message: [...ages, ...reason].join('; '),
      lastTriedAt: isoTimeOrNull(status?.triedMs),
      lastGoodAt: isoTimeOrNull(status?.goodMs),
      failures: status?.failures ?? 0,
      latencyMs: board.ratesTookMs(source.id),
    }
  })
}

async function feedViews({ state, settings, clock }: AppContext, board: ProgressBoard): Promise<SourceView[]> {
  const standings = new Map((await readFeedStates(state)).map((one) => [one.source, one]))
  return settings.markets.feeds.map(({ id, staleMs }) => {
    const standing = standings.get(id)
    const trouble = board.problem(`feed ${id}`)
    const doneMs = standing?.doneAtMs ?? undefined
    const isFresh = doneMs !== undefined && clock.now() - doneMs <= staleMs
    const lacking = standing && findFeedProblem(standing)
    const pass = standing && standing.page > 0 ? `${standing.pass} pass, page ${standing.page}` : ''
    return {
      ...({ group: 'markets', kind: 'feed', name: id } as const),
      ok: trouble || lacking ? false : doneMs === undefined ? null : isFresh,
      message: trouble ? hostsOnly(trouble.reason) : (lacking?.message ?? pass),
      lastTriedAt: isoTimeOrNull(Math.max(trouble?.atMs ?? 0, doneMs ?? 0) || undefined),
      lastGoodAt: isoTimeOrNull(doneMs),
      failures: trouble?.failures ?? 0,
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
