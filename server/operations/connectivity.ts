// Doctor checks of everything outside this machine: sends one request to each node and source, as the server would, and
// compares their clocks with ours.

import { counted } from '#core/counted.ts'
import { findChainFork, readNodeForks } from '#explorer/chain-forks.ts'
import { openNode } from '#explorer/nodes.ts'
import { openRateReader } from '#fx/rates/sources.ts'
import type { Context } from '#http/context.ts'
import { pageUrl, parseFeedPage } from '#markets/feeds/feed-page.ts'
import { type Clock, timeoutSignal } from '#runtime/clock.ts'
import { networkSettings, networksOf } from '#runtime/settings/validators.ts'
import { OtherChainError, openBeacon } from '#sources/beacon/client.ts'
import { listForks } from '#sources/beacon/next-fork.ts'
import { headerCall } from '#sources/evm/blocks.ts'
import { describeLimitations } from '#sources/evm/capabilities.ts'
import { toHeader } from '#sources/evm/large-results.ts'
import { readNextChainFork } from '#sources/evm/next-fork.ts'
import { openRpc, type Rpc } from '#sources/evm/rpc.ts'
import { cleanUrl, fetchJson } from '#sources/http-client.ts'
import { openRedis } from '#sources/redis.ts'
import { clockLeadMs } from '#sources/remote-time.ts'
import { expectedChain } from '#validators/ingest/read/chain-identity.ts'
import { otherChainTodo } from '#validators/ingest/status/health.ts'
import { executionChainOf } from '#validators/network-rpc.ts'
import { type DoctorFinding, failFinding, okFinding, runCheck, warnFinding } from './diagnosis.ts'
import {
  beaconForkFindings,
  chainForkFindings,
  executionForkFindings,
  oldClientFindings,
  readExecutionVersion,
} from './fork-findings.ts'
import { clickhouseFindings } from './mirror/mirror-findings.ts'

const checkTimeoutMs = 20_000
const clockTimeoutMs = 5000
/** A quote is valid for 30 seconds and a link for 300. A clock that is off by more makes them wrong for callers. */
const clockOffsetWarnMs = 2500
const clockOffsetBadMs = 30_000

export async function connectivityFindings(
  context: Pick<Context, 'settings' | 'clock'>,
): Promise<readonly DoctorFinding[]> {
  const findings = await Promise.all([
    ...chainChecks(context),
    ...rateChecks(context),
    ...beaconChecks(context),
    ...executionChecks(context),
    ...feedChecks(context),
    ...limitsChecks(context),
    clickhouseFindings(context),
  ])
  return [...findings.flat(), ...(await clockFindings(context))]
}

type PendingFindings = Promise<readonly DoctorFinding[]>

function chainChecks(context: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  return context.settings.explorer.chains.flatMap((chain) => {
    const { id, rpc, mode } = chain
    const name = `node of chain ${id}`
    if (rpc.length === 0) return []
    const node = openNode(chain, context)
    return runCheck(name, 'check the URL, the node and its log; see: tetrad chains', async () => {
      const capabilities = await node.capabilities({ untilMs: context.clock.monotonicMs() + checkTimeoutMs })
      const problems = node.rpc.health().flatMap(({ trouble }) => (trouble === undefined ? [] : [trouble]))
      const [first, ...others] = describeLimitations(capabilities, node.chain)
      const todo = 'use a node that supports it, or change the mode'
      const isWaiting =
        capabilities.awaitsFinality && !capabilities.has['finalized block'] && chain.finalityBlocks === 0
      // The missing traces come first.
      const firstFinding = capabilities.traces || mode === 'probe' ? warnFinding : failFinding
      return [
        okFinding(
          name,
          `reachable, block ${capabilities.head}, mode ${mode}${isWaiting ? '; waiting for the first final block' : ''}`,
        ),
        ...(first === undefined ? [] : [firstFinding(name, first, todo)]),
        ...others.map((text) => warnFinding(name, text, todo)),
        ...problems.map((text) => warnFinding(name, text, 'repair this node or remove it from the list')),
        ...(await forkFindingsOf(name, node.rpc, context.clock)),
      ]
    })
  })
}

async function forkFindingsOf(name: string, rpc: Rpc, clock: Clock): Promise<DoctorFinding[]> {
  const untilMs = () => clock.monotonicMs() + checkTimeoutMs
  const nodes = await readNodeForks(rpc, untilMs())
  const fork = findChainFork(nodes, clock.now())
  const old = await Promise.all(
    rpc.health().map(async (node, index) => {
      const version = await readExecutionVersion(rpc.of([index]), untilMs()).catch(() => '')
      return oldClientFindings(name, node.name, version, fork ? [fork.name] : [])
    }),
  )
  return [...chainForkFindings(name, nodes, clock.now()), ...old.flat()]
}

function rateChecks(context: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  const { fx } = context.settings
  return fx.sources.flatMap((source) => {
    const name = `rates ${source.id}`
    const reader = openRateReader(source, fx, context.clock)
    if (!reader) return []
    return runCheck(name, 'check the URL of the source and its document settings', async () => {
      const { rates, rejected } = await reader(timeoutSignal(context.clock, checkTimeoutMs))
      const reasons = rejected.map(({ about, reason }) => `${about}: ${reason}`).join('; ')
      if (rates.length === 0)
        return [
          failFinding(name, `returned no usable rate (${reasons || 'no rates at all'})`, 'check fx.sources[].document'),
        ]
      return reasons === ''
        ? [okFinding(name, `returned ${counted(rates.length, 'rate')}`)]
        : [warnFinding(name, `rejected: ${reasons}`, 'check the source, or remove these pairs')]
    })
  })
}

function beaconChecks({ settings, clock }: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  return networksOf(settings).flatMap((network) => {
    const options = networkSettings(settings, network)
    const { urls, timeoutMs } = options.beacon
    const name = `beacon ${network}`
    if (urls.length === 0) return []
    return runCheck(name, 'check the URL, the node and its log', async () => {
      const identity = expectedChain(network, options)
      const beacon = openBeacon({ network, urls, timeoutMs: Math.min(timeoutMs, checkTimeoutMs), clock, identity })
      try {
        const chain = await beacon.chain(timeoutSignal(clock, checkTimeoutMs))
        const problems = beacon.health().flatMap(({ lastError }) => (lastError === undefined ? [] : [lastError]))
        return [
          okFinding(name, `reachable, genesis ${chain.identity.genesisUnix}`),
          ...(await beaconForkFindings(name, beacon, clock, timeoutSignal(clock, checkTimeoutMs))),
          ...problems.map((text) => warnFinding(name, text, 'repair this node or remove it from the list')),
        ]
      } catch (error) {
        if (!(error instanceof OtherChainError)) throw error
        return [failFinding(name, `refused: ${error.message}`, otherChainTodo(network))]
      }
    })
  })
}

/** Each node alone, because the next one takes over if the first is refused. */
function executionChecks({ settings, clock }: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  return networksOf(settings).flatMap((network) => {
    const options = networkSettings(settings, network)
    const { urls, timeoutMs } = options.beacon
    const beacon = openBeacon({ network, urls, timeoutMs: Math.min(timeoutMs, checkTimeoutMs), clock })
    // A beacon node that does not respond has a finding of its own.
    const readChain = async () =>
      urls.length === 0 ? undefined : beacon.chain(timeoutSignal(clock, checkTimeoutMs)).catch(() => undefined)
    return options.execution.rpc.map((node) => {
      const name = `execution ${network}`
      return runCheck(name, 'check the URL, the node and its log', async () => {
        const chain = await readChain()
        const chainId = executionChainOf(network, options.execution, chain?.identity)
        if (chainId === undefined)
          return [warnFinding(name, 'its chain is not known', `set validators.networks.${network}.execution.chainId`)]
        const client = openRpc({ chain: chainId, rpc: [node], clock })
        const untilMs = clock.monotonicMs() + checkTimeoutMs
        const [outcome] = await client.call([headerCall('latest')], { untilMs, attemptsMax: 2 })
        const [health] = client.health()
        if (health?.otherChain !== undefined) {
          const message = `refused: ${health.name} is on chain ${health.otherChain}, not ${chainId}`
          return [failFinding(name, message, otherExecutionTodo(network, health.otherChain))]
        }
        if (outcome?.is !== 'result')
          return [failFinding(name, outcome?.message ?? 'no response', 'check the URL, the node and its log')]
        const next = await readNextChainFork(client, clock.monotonicMs() + checkTimeoutMs)
        const nextMs = next === null ? null : next?.atMs
        const version = await readExecutionVersion(client, clock.monotonicMs() + checkTimeoutMs)
        return [
          okFinding(name, `reachable, chain ${chainId}, block ${toHeader(outcome.result).number}`),
          ...executionForkFindings(name, network, chain, nextMs, clock.now()),
          ...oldClientFindings(
            name,
            health?.name ?? '',
            version,
            chain ? listForks(chain).map((fork) => fork.name) : [],
          ),
        ]
      })
    })
  })
}

const otherExecutionTodo = (network: string, reported: string): string =>
  `use a node of ${network}; if its execution chain is ${reported}, set validators.networks.${network}.execution.chainId`

function feedChecks({ settings }: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  return settings.markets.feeds.map((feed) => {
    const name = `feed ${feed.id}`
    return runCheck(name, 'check the URL of the feed and its paging settings', async () => {
      const limits = { timeoutMs: Math.min(feed.timeoutMs, checkTimeoutMs), bytesMax: feed.pageBytesMax }
      const { records } = parseFeedPage(await fetchJson(pageUrl(feed, 'full', '', undefined), limits), feed, '')
      if (records.length > 0) return [okFinding(name, `returned ${counted(records.length, 'record')} per page`)]
      return [warnFinding(name, 'returned no records', 'check list and query of the feed')]
    })
  })
}

function limitsChecks({ settings: { limits: url }, clock }: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  if (url === '') return []
  const name = 'limits in Redis'
  const todo = 'check the URL in limits, the password and the Redis server; without it, some endpoints refuse calls'
  return [
    runCheck(name, todo, async () => {
      let problem = ''
      const reportConnected = (_: boolean, reason: string) => {
        problem = reason
      }
      const redis = await openRedis({ url, clock, onConnect: async (run) => run(echo, [], []), reportConnected })
      const reply = await redis.run(echo, [], [])
      await redis.close()
      return [reply ? okFinding(name, 'reachable') : failFinding(name, problem || 'did not respond in time', todo)]
    }),
  ]
}

const echo = 'return {1}'

const sourceUrls = ({ settings }: Pick<Context, 'settings' | 'clock'>): readonly string[] => [
  ...settings.explorer.chains.flatMap(({ rpc }) => rpc.map(({ url }) => url)),
  ...settings.fx.sources.flatMap(({ url }) => (url === undefined ? [] : [url])),
  ...networksOf(settings).flatMap((network) => {
    const { beacon, execution } = networkSettings(settings, network)
    return [...beacon.urls, ...execution.rpc.map(({ url }) => url)]
  }),
  ...settings.markets.feeds.map(({ url }) => url),
]

/** Uses the median: a single source may have a wrong clock, but if most differ, the clock of this machine is wrong. */
async function clockFindings(context: Pick<Context, 'settings' | 'clock'>): Promise<readonly DoctorFinding[]> {
  const origins = [...new Set(sourceUrls(context).map((url) => URL.parse(url)?.origin ?? ''))].filter((origin) =>
    /^http/.test(origin),
  )
  const leads: { readonly name: string; readonly leadMs: number }[] = []
  for (const origin of origins) {
    // Reachability is reported by the checks above.
    const leadMs = await clockLeadMs(context.clock, origin, clockTimeoutMs).catch(() => undefined)
    if (leadMs !== undefined) leads.push({ name: cleanUrl(origin), leadMs })
  }
  if (leads.length === 0)
    return origins.length === 0
      ? []
      : [warnFinding('clock', 'no source reports its time', 'check the clock of this machine by hand')]
  const sorted = leads.map(({ leadMs }) => leadMs).toSorted((a, b) => a - b)
  const medianMs = sorted[Math.floor(sorted.length / 2)] ?? 0
  const message = `${Math.abs(medianMs / 1000).toFixed(1)} s ${medianMs > 0 ? 'behind' : 'ahead of'} ${leads.length === 1 ? leads[0]?.name : `${leads.length} sources`}`
  if (Math.abs(medianMs) >= clockOffsetBadMs)
    return [failFinding('clock', message, 'set the clock of this machine and keep it synchronised (NTP)')]
  if (Math.abs(medianMs) >= clockOffsetWarnMs)
    return [warnFinding('clock', message, 'keep the clock of this machine synchronised (NTP)')]
  return [okFinding('clock', message)]
}
