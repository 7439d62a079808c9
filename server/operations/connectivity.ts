// Whether the world can be reached: every node and source is asked once, as the server would ask it, and its clock is
// held against ours.
import { networks } from '#api/wire/validators.ts'
import { openNode } from '#explorer/nodes.ts'
import { openRateReader } from '#fx/rates/sources.ts'
import type { Context } from '#http/context.ts'
import { pageUrl, parseFeedPage } from '#markets/feeds/feed-page.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { costs } from '#sources/evm/capabilities.ts'
import { cleanUrl, fetchJson } from '#sources/http-client.ts'
import { createScript, Redis } from '#sources/redis.ts'
import { clockLeadMs } from '#sources/remote-time.ts'
import { badFinding, type DoctorFinding, okFinding, runCheck, warnFinding } from './diagnosis.ts'

const askMs = 20_000
const clockMs = 5000
/** A quote stands for 30 seconds and a link for 300: beyond this they are wrong for the caller. */
const clockOffsetWarnMs = 2500
const clockOffsetBadMs = 30_000

export async function connectivityFindings(
  context: Pick<Context, 'settings' | 'clock'>,
): Promise<readonly DoctorFinding[]> {
  const found = await Promise.all([
    ...chainChecks(context),
    ...rateChecks(context),
    ...beaconChecks(context),
    ...feedChecks(context),
    ...limitsChecks(context),
  ])
  return [...found.flat(), ...(await clockFindings(addressesOf(context)))]
}

type PendingFindings = Promise<readonly DoctorFinding[]>

function chainChecks(context: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  return context.settings.explorer.chains.flatMap((chain) => {
    const { id, rpc, mode } = chain
    const name = `node of chain ${id}`
    if (rpc.length === 0) return []
    const node = openNode(chain, context)
    return runCheck(name, 'check the address, the node and its log; see: tetrad chains', async () => {
      const can = await node.capabilities({ untilMs: context.clock.monotonicMs() + askMs })
      const ill = node.rpc.health().flatMap(({ trouble }) => (trouble === undefined ? [] : [trouble]))
      const lost = costs(can, node.chain)
      return [
        okFinding(name, `answers, block ${can.head}, mode ${mode}`),
        ...lost.map((words) => warnFinding(name, words, 'use a node that can, or change mode')),
        ...ill.map((words) => warnFinding(name, words, 'mend this node or take it out of the list')),
      ]
    })
  })
}

function rateChecks(context: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  const { fx } = context.settings
  return fx.sources.flatMap((source) => {
    const name = `rates ${source.id}`
    const reader = openRateReader(source, fx, context.clock)
    if (!reader) return []
    return runCheck(name, 'check the address of the source and its document settings', async () => {
      const { rates, refused } = await reader(AbortSignal.timeout(askMs))
      const odd = refused.map(({ about, reason }) => `${about}: ${reason}`).join('; ')
      if (rates.length === 0)
        return [badFinding(name, `gives no usable rate (${odd || 'none at all'})`, 'check fx.sources[].document')]
      return odd === ''
        ? [okFinding(name, `gives ${rates.length} rates`)]
        : [warnFinding(name, `refused: ${odd}`, 'check the source, or leave these pairs out')]
    })
  })
}

function beaconChecks({ settings, clock }: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  return networks.flatMap((network) => {
    const { urls, timeoutMs } = settings.validators.networks[network].beacon
    const name = `beacon ${network}`
    if (urls.length === 0) return []
    return runCheck(name, 'check the address, the node and its log', async () => {
      const beacon = openBeacon({ network, urls, timeoutMs: Math.min(timeoutMs, askMs), clock })
      const { identity } = await beacon.chain(AbortSignal.timeout(askMs))
      const ill = beacon.health().flatMap(({ trouble }) => (trouble === undefined ? [] : [trouble]))
      return [
        okFinding(name, `answers, genesis ${identity.genesisUnix}`),
        ...ill.map((words) => warnFinding(name, words, 'mend this node or take it out of the list')),
      ]
    })
  })
}

function feedChecks({ settings }: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  return settings.markets.feeds.map((feed) => {
    const name = `feed ${feed.id}`
    return runCheck(name, 'check the address of the feed and its paging settings', async () => {
      const limits = { timeoutMs: Math.min(feed.timeoutMs, askMs), bytesMax: feed.pageBytesMax }
      const { records } = parseFeedPage(await fetchJson(pageUrl(feed, 'full', '', undefined), limits), feed, '')
      if (records.length > 0)
        return [okFinding(name, `gives ${records.length === 1 ? '1 record' : `${records.length} records`} a page`)]
      return [warnFinding(name, 'gives no records', 'check list and query of the feed')]
    })
  })
}

function limitsChecks({ settings: { limits: url }, clock }: Pick<Context, 'settings' | 'clock'>): PendingFindings[] {
  if (url === '') return []
  const name = 'limits in Redis'
  const todo = 'check the address in limits, the password and the server; funding lookups are refused without it'
  return [
    runCheck(name, todo, async () => {
      let trouble = ''
      const tell = (_: boolean, reason: string) => {
        trouble = reason
      }
      const redis = await Redis.open({ url, clock, onConnect: async (run) => run(echo, [], []), reportConnected: tell })
      const answer = await redis.run(echo, [], [])
      await redis.close()
      return [answer ? okFinding(name, 'answers') : badFinding(name, trouble || 'does not answer in time', todo)]
    }),
  ]
}

const echo = createScript('return {1}')

const addressesOf = ({ settings }: Pick<Context, 'settings' | 'clock'>): readonly string[] => [
  ...settings.explorer.chains.flatMap(({ rpc }) => rpc.map(({ url }) => url)),
  ...settings.fx.sources.flatMap(({ url }) => (url === undefined ? [] : [url])),
  ...networks.flatMap((network) => settings.validators.networks[network].beacon.urls),
  ...settings.markets.feeds.map(({ url }) => url),
]

/** One clock may be wrong; when most are off by the same, it is ours. */
async function clockFindings(addresses: readonly string[]): Promise<readonly DoctorFinding[]> {
  const origins = [...new Set(addresses.map((address) => URL.parse(address)?.origin ?? ''))].filter((one) =>
    /^http/.test(one),
  )
  const leads: { readonly name: string; readonly leadMs: number }[] = []
  for (const origin of origins) {
    // Whether it can be reached is somebody else's finding.
    const leadMs = await clockLeadMs(origin, clockMs).catch(() => undefined)
    if (leadMs !== undefined) leads.push({ name: cleanUrl(origin), leadMs })
  }
  if (leads.length === 0)
    return origins.length === 0
      ? []
      : [warnFinding('clock', 'no source tells its time', 'check this machine’s clock by hand')]
  const sorted = leads.map(({ leadMs }) => leadMs).toSorted((a, b) => a - b)
  const middleMs = sorted[Math.floor(sorted.length / 2)] ?? 0
  const message = `${Math.abs(middleMs / 1000).toFixed(1)} s ${middleMs > 0 ? 'behind' : 'ahead of'} ${leads.length === 1 ? leads[0]?.name : `${leads.length} sources`}`
  if (Math.abs(middleMs) >= clockOffsetBadMs)
    return [badFinding('clock', message, 'set this machine’s clock and keep it set (NTP)')]
  if (Math.abs(middleMs) >= clockOffsetWarnMs)
    return [warnFinding('clock', message, 'keep this machine’s clock set (NTP)')]
  return [okFinding('clock', message)]
}
