// The explorer's part of the demo world: a simulated chain that the server reads over JSON-RPC, as it would read any, and
// labelled entities with the addresses of some. Chain 1 is read completely; of chain 137 a stretch in the middle was
// never read, so that both answers show. Once they are read the chains stand still, and no node is left running.

import { complete } from '#core/schema-check.ts'
import { createExplorerCaches, type ExplorerContext } from '#explorer/context.ts'
import { confirmHead } from '#explorer/funding/coverage.ts'
import { isBefore } from '#explorer/funding/fundings.ts'
import { catchUpIndex, fillFinalBlocks } from '#explorer/funding/index/index-chain.ts'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { type Label, putLabels } from '#explorer/labels/labels.ts'
import { putTags, type Tag } from '#explorer/labels/tags.ts'
import { openNode } from '#explorer/nodes.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { SimChain } from './evm/chain.ts'
import { SimNode } from './evm/node.ts'
import { createSeededRandom, type SeededRandom } from './seeded-random.ts'

interface ChainPlan {
  readonly id: '1' | '137'
  readonly name: string
  readonly labels: number
  readonly blocks: number
  readonly blockSeconds: number
  readonly accounts: number
  /** What is read of it; all when left out. The last stretch ends with the newest final block. */
  readonly read?: readonly (readonly [from: number, until?: number])[]
}

const completeChain: ChainPlan = {
  id: '1',
  name: 'Ethereum',
  labels: 120,
  blocks: 800,
  blockSeconds: 12,
  accounts: 200,
}
const holed: ChainPlan = {
  ...{ id: '137', name: 'Polygon', labels: 20, blocks: 240, blockSeconds: 2, accounts: 60 },
  read: [[0, 80], [140]],
}

/**
 * Names the entities and has both chains read from nodes over HTTP, as a running server would read them; the newest
 * blocks are of this moment. Names an address on chain 1, three fundings away from a labelled one.
 */
export async function loadExplorer(context: ExplorerContext, seed: string): Promise<{ address: string }> {
  const chains = demoChains(seed)
  for (const [at, plan] of [completeChain, holed].entries()) {
    const chain = chains[at] as SimChain
    await using node = demoNode(chain)
    await nameEntities(context, plan, chain, seed)
    await readChain(context, plan, node, await node.listen())
  }
  return { address: sampleOf(chains[0]) }
}

/** The chains of the world, each from its seed alone. */
export const demoChains = (seed: string): readonly [SimChain, SimChain] => [
  demoChain(completeChain, seed),
  demoChain(holed, seed),
]

/** Addresses of chain 1 that are used again and again, known before anything happens there. */
export const demoAccounts = (seed: string): string[] =>
  emptyChain(completeChain, seed).addresses().slice(0, completeChain.accounts)

const emptyChain = ({ id, blockSeconds, accounts: people }: ChainPlan, seed: string): SimChain =>
  new SimChain({ seed: `${seed}/explorer/${id}`, id, blockSeconds, accounts: people, finalLag: 64, busy: 6, rich: 12 })

function demoChain(plan: ChainPlan, seed: string): SimChain {
  const chain = emptyChain(plan, seed)
  chain.mine(plan.blocks)
  return chain
}

const demoNode = (chain: SimChain): SimNode =>
  new SimNode(chain, { traces: ['trace_block'], receipts: true, filterBlocks: 10_000 })

const chainSettings = ({ id, name }: ChainPlan, url: string) => ({ id, name, mode: 'both', rpc: [{ url }] })

/** Through the same reader as any chain. */
async function readChain(context: ExplorerContext, plan: ChainPlan, node: SimNode, url: string): Promise<void> {
  const { value: settings, problems } = complete(SettingsSchema, { explorer: { chains: [chainSettings(plan, url)] } })
  const [chain] = settings.explorer.chains
  if (problems.length > 0 || !chain) throw new Error(`settings of the demo chain: ${JSON.stringify(problems)}`)
  node.laterSeconds = Math.floor(context.clock.now() / 1000) - node.chain.head.timeUnix
  const reader = { ...context, settings, explorer: createExplorerCaches() }
  const source = openNode(chain, reader)
  if (!plan.read) await catchUpIndex(reader, source, () => {})
  for (const [from, until = node.chain.final + 1] of plan.read ?? [])
    await fillFinalBlocks(reader, source, { from, until }, () => {})
  // The demo chains never grow, so their heads stay confirmed without a node.
  await confirmHead(context.state, plan.id, node.chain.final + 1, Number.MAX_SAFE_INTEGER)
}

async function nameEntities(context: ExplorerContext, plan: ChainPlan, chain: SimChain, seed: string): Promise<void> {
  const labels = labelsOf(plan, createSeededRandom(seed).fork('explorer').fork(plan.id).fork('labels'))
  await context.state.write(async (tx) => {
    const registry = new HistoryWriter(tx, { by: 'demo world', via: 'first start', atMs: context.clock.now() })
    await putLabels(registry, labels)
    await putTags(registry, tagsOf(labels, chain.rich))
  })
}

const sampleHops = 3

/** The newest final one whose trail is this long. */
function sampleOf(chain: SimChain): string {
  const first = chain.firstFundings()
  const isFar = (address: string): boolean => {
    let at = first.get(address)
    for (let hops = 1; at && hops < sampleHops; hops++) {
      const before = first.get(at.from)
      // Who paid before anything came in had its coin from elsewhere, and there the trail would end.
      at = chain.rich.includes(at.from) || (before && isBefore(at, before)) ? undefined : before
    }
    return at !== undefined && chain.rich.includes(at.from)
  }
  const found = [...first.values()].findLast(({ block, to }) => block <= chain.final && isFar(to))
  if (!found) throw new Error(`nobody in the demo world is ${sampleHops} fundings away from a root`)
  return found.to
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
  const names = placeNames.flatMap((place) =>
    trades.map(([trade, description]) => ({ name: `${place} ${trade}`, description })),
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

/** Those who had enough from the start are hot wallets of exchanges; other people say so too. */
function tagsOf(labels: readonly Label[], wallets: readonly string[]): Tag[] {
  const exchanges = labels.filter(({ slug }) => slug.endsWith('-exchange'))
  return wallets.flatMap((address, at): Tag[] => {
    const owner = exchanges[at % exchanges.length]
    if (!owner) return []
    const { chain, slug: entity, name, updatedUnix } = owner
    const own = { chain, address, entity, updatedUnix }
    const tag = { source: 'registry', name: `${name}: hot wallet ${at + 1}`, confidence: 95 }
    const evidenceUrl = `https://explorer.example/address/${address}`
    const hearsay = { source: 'community', name: `${name} (reported)`, confidence: 60, evidenceUrl: '' }
    return [{ ...own, ...tag, evidenceUrl }, ...(at % 4 === 0 ? [{ ...own, ...hearsay }] : [])]
  })
}
