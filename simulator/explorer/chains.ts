// The two chains of the demo's explorer, and their simulated nodes. A block of chain 1 lasts as long as a slot of the
// demo's mainnet, so that the chain begins before the first deposit. In a file of its own, because the thread of the
// nodes does not need the code that reads them.
import { type Payment, SimulatedChain } from '../evm/chain.ts'
import { SimulatedNode } from '../evm/node.ts'
import { etherOfDepositors, mainnetSlotSeconds } from '../validators/behaviour.ts'

export interface ChainPlan {
  readonly id: '1' | '137'
  readonly name: string
  readonly labels: number
  readonly blocks: number
  readonly blockSeconds: number
  readonly accounts: number
  readonly finalLag: number
  readonly payments?: readonly Payment[]
  /** Ranges to index; default: all. A range without an end goes to the newest final block. */
  readonly read?: readonly (readonly [from: number, until?: number])[]
}

/** Exchanges fund the depositors of the validators, one every four blocks. All of them are before the first deposit. */
const fundings = Array.from(etherOfDepositors(), ([account, ether]) => ({
  account,
  ether: ether + 1,
  block: 2 + 4 * account,
}))

export const completeChain: ChainPlan = {
  id: '1',
  name: 'Ethereum',
  labels: 120,
  blocks: 800,
  blockSeconds: mainnetSlotSeconds,
  accounts: 200,
  finalLag: 8,
  payments: fundings,
}
export const chainWithGap: ChainPlan = {
  id: '137',
  name: 'Polygon',
  labels: 20,
  blocks: 240,
  blockSeconds: 2,
  accounts: 60,
  finalLag: 64,
  read: [[0, 80], [140]],
}

type DemoChains = readonly [SimulatedChain, SimulatedChain]

/** Each chain depends only on its seed. */
export const demoChains = (seed: string): DemoChains => [demoChain(completeChain, seed), demoChain(chainWithGap, seed)]

/** The regular accounts of chain 1. Other demo data uses them too. */
export const demoAccounts = (seed: string): string[] =>
  emptyChain(completeChain, seed).addresses().slice(0, completeChain.accounts)

/** The accounts of exchanges, from which all coins come. */
export const exchangeAccounts = (plan: ChainPlan, seed: string): readonly string[] => emptyChain(plan, seed).rich

/** The end of the final blocks. */
export const finalUntil = ({ blocks, finalLag }: ChainPlan): number => blocks - finalLag + 1

/** By the id of the chain. */
export type ChainUrls = Readonly<Record<ChainPlan['id'], string>>

/** The newest block of each chain has this time. */
export async function openChainNodes([complete, withGap]: DemoChains, nowUnix: number) {
  await using opened = new AsyncDisposableStack()
  const open = (chain: SimulatedChain): Promise<string> => {
    const node = opened.use(new SimulatedNode(chain))
    node.laterSeconds = nowUnix - chain.head.timeUnix
    return node.listen()
  }
  const urls: ChainUrls = { '1': await open(complete), '137': await open(withGap) }
  const openResources = opened.move()
  return { urls, [Symbol.asyncDispose]: () => openResources.disposeAsync() }
}

function demoChain(plan: ChainPlan, seed: string): SimulatedChain {
  const chain = emptyChain(plan, seed)
  chain.mine(plan.blocks)
  return chain
}

const emptyChain = ({ id, blockSeconds, accounts, finalLag, payments = [] }: ChainPlan, seed: string): SimulatedChain =>
  new SimulatedChain({
    seed: `${seed}/explorer/${id}`,
    id,
    blockSeconds,
    accounts,
    finalLag,
    payments,
    busy: 6,
    rich: 12,
  })
