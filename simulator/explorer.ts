// Demo data of the explorer: two simulated chains, indexed over JSON-RPC like real ones, and labelled entities with
// tagged addresses. Chain 1 is indexed completely. Chain 137 has a gap, so that the demo shows both cases. The chains
// do not grow, and no node keeps running.

import { fillDefaults } from '#core/schema-check.ts'
import { createExplorerCaches, type ExplorerContext } from '#explorer/context.ts'
import { syncReverseIndexes } from '#explorer/extensions/reverse-lookups/reverse-lookups.ts'
import { confirmedForever, confirmHead } from '#explorer/funding/chain-coverage.ts'
import { catchUpIndex, fillFinalBlocks } from '#explorer/funding/index/index-chain.ts'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { type Label, putLabels } from '#explorer/labels/labels.ts'
import { putTags, type Tag } from '#explorer/labels/tags.ts'
import { openNode } from '#explorer/nodes.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import {
  type ChainPlan,
  type ChainUrls,
  chainWithGap,
  completeChain,
  demoAccounts,
  exchangeAccounts,
  finalUntil,
} from './explorer/chains.ts'
import { createSeededRandom, type SeededRandom } from './seeded-random.ts'
import { depositorsOf } from './validators/behaviour.ts'

/** A first funding on the chain with a gap, in the blocks before it. Holds for the seed of the demo. */
export const polygonSample = { chainid: '137', address: '0x93cf2f4c5e12c07339f96b019fdffb4424449bfb' }

/** Writes the labels and indexes both chains from nodes over HTTP. */
export async function loadExplorer(context: ExplorerContext, seed: string, urls: ChainUrls): Promise<void> {
  await writeLabels(context, seed)
  for (const plan of plans) await readChain(context, plan, urls[plan.id])
  await syncReverseIndexes(context.ingest, true)
}

const plans = [completeChain, chainWithGap]

const chainSettings = ({ id, name }: ChainPlan, url: string) => ({ id, name, mode: 'both', rpc: [{ url }] })

async function readChain(context: ExplorerContext, plan: ChainPlan, url: string): Promise<void> {
  const settings = fillDefaults(SettingsSchema, { explorer: { chains: [chainSettings(plan, url)] } })
  const [chain] = settings.explorer.chains
  if (!chain) throw new Error('the settings of the demo have no chain')
  const reader = { ...context, settings, explorer: createExplorerCaches() }
  const source = openNode(chain, reader)
  if (!plan.read) await catchUpIndex(reader, source, () => {})
  for (const [from, until = finalUntil(plan)] of plan.read ?? [])
    await fillFinalBlocks(reader, source, { from, until }, () => {})
  await confirmHead(context.ingest, plan.id, finalUntil(plan), confirmedForever)
}

async function writeLabels({ ingest, clock }: ExplorerContext, seed: string): Promise<void> {
  for (const plan of plans) {
    const labels = labelsOf(plan, createSeededRandom(seed).fork('explorer').fork(plan.id).fork('labels'))
    const tags = exchangeTags(labels, exchangeAccounts(plan, seed))
    await ingest.write(async (tx) => {
      const history = new HistoryWriter(tx, { by: 'demo world', via: 'first start', atMs: clock.now() })
      await putLabels(history, labels)
      await putTags(history, [...tags, ...(plan.payments ? poolTags(labels, seed) : [])])
    })
  }
}

const placeNames = [
  'Harbour',
  'Meridian',
  'Lantern',
  'Cobalt',
  'Juniper',
  'Saltmarsh',
  'Northgate',
  'Tidewater',
  'Orchard',
  'Basalt',
  'Falcon',
  'Quarry',
  'Windmill',
  'Amber',
  'Fjord',
]
const trades: readonly (readonly [trade: string, description: string])[] = [
  ['Exchange', 'Centralised exchange, deposit and hot wallets.'],
  ['Bridge', 'Moves tokens between chains; lock and release contracts.'],
  ['Lending', 'Lending pools and their liquidation contracts.'],
  ['Staking Pool', 'Pools deposits for validators and pays out rewards.'],
  ['Mining Pool', 'Payout addresses of a mining pool.'],
  ['Capital', 'Trading firm; market making and custody wallets.'],
  ['Gateway', 'Payment processor, merchant settlement.'],
  ['Collectibles', 'Marketplace for non-fungible tokens.'],
]
const remarks = [
  'Hot wallets rotate every quarter.',
  'Ceased trading in 2025, withdrawals "remain open".',
  'Formerly two entities, merged by the operator.',
]

function labelsOf(plan: ChainPlan, draws: SeededRandom): Label[] {
  const names = placeNames.flatMap((placeName) =>
    trades.map(([trade, description]) => ({ name: `${placeName} ${trade}`, description })),
  )
  return names.slice(0, plan.labels).map(({ name, description }) => ({
    chain: plan.id,
    slug: name.toLowerCase().replaceAll(' ', '-'),
    name,
    description,
    notes: draws.happens(0.1) ? draws.pick(remarks) : '',
    updatedUnix: draws.whole(1_760_000_000, 1_794_000_000),
  }))
}

/** The rich accounts are hot wallets of exchanges. A second source tags some of them too. */
function exchangeTags(labels: readonly Label[], wallets: readonly string[]): Tag[] {
  const exchanges = labels.filter(({ slug }) => slug.endsWith('-exchange'))
  return wallets.flatMap((address, at): Tag[] => {
    const owner = exchanges[at % exchanges.length]
    if (!owner) return []
    const { chain, slug: entity, name, updatedUnix } = owner
    const common = { chain, address, entity, updatedUnix }
    const tag = { source: 'registry', name: `${name}: hot wallet ${at + 1}`, confidence: 95 }
    const evidenceUrl = `https://explorer.example/address/${address}`
    const communityTag = { source: 'community', name: `${name} (reported)`, confidence: 60, evidenceUrl: '' }
    return [{ ...common, ...tag, evidenceUrl }, ...(at % 4 === 0 ? [{ ...common, ...communityTag }] : [])]
  })
}

/** The depositors of the two pools, by one of their validators. */
const poolDepositors = [
  { entity: 'lantern-staking-pool', validators: [0, 20] },
  { entity: 'harbour-staking-pool', validators: [36, 37] },
]

function poolTags(labels: readonly Label[], seed: string): Tag[] {
  const depositor = depositorsOf(demoAccounts(seed))
  return poolDepositors.flatMap(({ entity, validators }) => {
    const label = labels.find(({ slug }) => slug === entity)
    if (!label) return []
    return validators.map((validator, at): Tag => {
      const { chain, name, updatedUnix } = label
      const tag = { source: 'registry', name: `${name}: depositor ${at + 1}`, confidence: 95, evidenceUrl: '' }
      return { ...tag, chain, address: depositor(validator), entity, updatedUnix }
    })
  })
}
