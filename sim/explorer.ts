// The explorer's part of the demo world: labelled entities, the addresses of some, and a forest of first fundings that is
// consistent in time: whoever funds was there before. Chain 1 has been read completely; chain 137 has a hole, so that
// both answers show.
import { contract } from '#api/contract.ts'
import { type Funding, putFundings } from '#groups/explorer/fundings.ts'
import { type Label, putLabels } from '#groups/explorer/labels.ts'
import { Book } from '#groups/explorer/labels-history.ts'
import { blocksOf, putHead } from '#groups/explorer/standing.ts'
import { putTags, type Tag } from '#groups/explorer/tags.ts'
import type { Desk } from '#serve/answer.ts'
import { cover } from '#store/coverage.ts'
import { type Chance, chance } from './chance.ts'

/** One chain of the world: how far it goes, when its blocks were made, what has been read of it. */
interface ChainPlan {
  readonly id: string
  readonly labels: number
  readonly addresses: number
  readonly finalUntil: number
  readonly blockSeconds: number
  /** A block whose time is given; the others follow from it. */
  readonly anchor: { readonly block: number; readonly unix: number }
  readonly covered: readonly (readonly [from: number, until: number])[]
}

const sample = contract['explorer.fundedBy'].example

const plans: readonly ChainPlan[] = [
  {
    id: '1',
    labels: 120,
    addresses: 1800,
    finalUntil: 26_400_000,
    blockSeconds: 12,
    anchor: { block: sample.reply.result.block, unix: Number(sample.reply.result.timeStamp) },
    covered: [[0, 26_400_000]],
  },
  {
    id: '137',
    labels: 20,
    addresses: 200,
    finalUntil: 80_000_000,
    blockSeconds: 2,
    anchor: { block: 80_000_000, unix: 1_794_000_000 },
    covered: [
      [0, 40_000_000],
      [60_000_000, 80_000_000],
    ],
  },
]

/** Writes the world and names an address with a funding on chain 1. */
export async function loadExplorer(desk: Desk, seed: string): Promise<{ address: string }> {
  const draws = chance(seed).fork('explorer')
  for (const plan of plans) {
    const ofChain = draws.fork(plan.id)
    await desk.state.write(async (tx) => {
      const book = new Book(tx, { by: 'demo world', via: 'first start', atMs: desk.clock.now() })
      const labels = labelsOf(plan, ofChain.fork('labels'))
      await putLabels(book, labels)
      await putTags(book, tagsOf(plan, labels, rootsOf(ofChain.fork('fundings'))))
      await putFundings(tx, fundingsOf(plan, ofChain.fork('fundings')))
      if (plan.id === '1') await putFundings(tx, [sampleFunding()])
      for (const [from, until] of plan.covered) await cover(tx, blocksOf(plan.id), from, until)
      await putHead(tx, plan.id, plan.finalUntil)
    })
  }
  return { address: sampleFunding().address }
}

const places = [
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

function labelsOf(plan: ChainPlan, draws: Chance): Label[] {
  const names = places.flatMap((place) =>
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

/** Roots are hot wallets of exchanges, funded before the account of this world begins; everyone else grows from them. */
function fundingsOf(plan: ChainPlan, draws: Chance): Funding[] {
  const roots = rootsOf(draws)
  const known = [...roots]
  const rows: Funding[] = []
  for (const block of blocksToUse(plan, draws)) {
    const funder = draws.happens(0.4) ? draws.pick(roots) : draws.pick(known)
    const address = `0x${draws.hex(40)}`
    const first = transfer(plan, draws, block, funder, address)
    // Some receive again later: the first must win, in whatever order they are written.
    if (draws.happens(0.05)) rows.push(transfer(plan, draws, block + draws.whole(1, 1000), draws.pick(roots), address))
    rows.push(first)
    known.push(address)
  }
  return rows
}

/** The first draws of a chain's fundings. */
const rootsOf = (draws: Chance): string[] => Array.from({ length: 12 }, () => `0x${draws.hex(40)}`)

/** The roots belong to exchanges, and so does the funder of the contract's example; other people say so too. */
function tagsOf(plan: ChainPlan, labels: readonly Label[], roots: readonly string[]): Tag[] {
  const exchanges = labels.filter(({ slug }) => slug.endsWith('-exchange'))
  const wallets = plan.id === '1' ? [sampleFunding().funder, ...roots] : roots
  return wallets.flatMap((address, at): Tag[] => {
    const owner = exchanges[at % exchanges.length]
    if (!owner) return []
    const { chain, slug: entity, name, updatedUnix } = owner
    const own = { chain, address, entity, updatedUnix }
    const word = { source: 'registry', name: `${name}: hot wallet ${at + 1}`, confidence: 95 }
    const evidenceUrl = `https://explorer.example/address/${address}`
    const hearsay = { source: 'community', name: `${name} (reported)`, confidence: 60, evidenceUrl: '' }
    return [{ ...own, ...word, evidenceUrl }, ...(at % 4 === 0 ? [{ ...own, ...hearsay }] : [])]
  })
}

/** Distinct blocks within what was read, in order of time. */
function blocksToUse(plan: ChainPlan, draws: Chance): number[] {
  const blocks = new Set<number>()
  while (blocks.size < plan.addresses) {
    const [from, until] = draws.pick(plan.covered)
    blocks.add(draws.whole(from + 50_000, until - 1000))
  }
  return [...blocks].sort((a, b) => a - b)
}

function transfer(plan: ChainPlan, draws: Chance, block: number, funder: string, address: string): Funding {
  const internal = draws.happens(0.1)
  return {
    chain: plan.id,
    address,
    block,
    txIndex: draws.whole(0, 180),
    position: internal ? draws.whole(1, 6) : 0,
    timeUnix: plan.anchor.unix + (block - plan.anchor.block) * plan.blockSeconds,
    funder,
    tx: `0x${draws.hex(64)}`,
    valueWei: BigInt(draws.whole(1, 50_000)) * 10n ** 14n + BigInt(draws.whole(0, 1_000_000)),
  }
}

/** The example of the contract, so that the documents' own question has an answer here. */
function sampleFunding(): Funding {
  const { block, timeStamp, fundingAddress, fundingTxn, value } = sample.reply.result
  return {
    chain: '1',
    address: String(sample.input.address),
    block,
    txIndex: 42,
    position: 0,
    timeUnix: Number(timeStamp),
    funder: fundingAddress,
    tx: fundingTxn,
    valueWei: BigInt(value),
  }
}
