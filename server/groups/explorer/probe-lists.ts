// What a node's own index of traces (trace_filter) tells about an account, and whether it is to be believed (decision 0160).
//
// 1. Two lists are asked for, of the steps that end at the account and of those that begin there, in requests of their own.
// 2. Whatever left the account is in the second list. So "balance + what has left so far" only rises, and while it has not
//    risen nothing came in: one look at the state before the first transfer of the first list shows that none was earlier.
// 3. Where lists and state do not agree to the last wei, and no withdrawal or reward explains it, the lists are refuted.
import { movesValue } from '#io/evm/moves.ts'
import type { Account, SeenBlock } from '#io/evm/shapes.ts'
import type { Funding } from './fundings.ts'
import type { Asks } from './probe-asks.ts'
import { firstChange } from './probe-search.ts'
import { transfersOf } from './transfers.ts'

export type Told =
  | { readonly is: 'funding'; readonly funding: Funding }
  /** Nothing came in up to the end of this block. */
  | { readonly is: 'nothing'; readonly at: number; readonly account: Account }
  /** The node does not answer; what it listed before may still be right. */
  | { readonly is: 'refused' }
  /** Steps are missing from the lists. */
  | { readonly is: 'refuted' }

/** The account at the end of block `at`, up to which nothing has come in. */
export interface Place {
  readonly at: number
  readonly account: Account
}

/** What left the account in one block. */
interface Left {
  readonly block: number
  readonly wei: bigint
}

/** Blocks read whole for one page of the lists: what they show is kept before more are read. */
const readsMax = 64

/** One page of each list in (from, until], and what it shows. What is no refusal brings the search forward. */
export async function toldByLists(asks: Asks, from: Place, until: number): Promise<Told> {
  const { filterBlocks } = await asks.node.capabilities(asks.limits)
  const end = Math.min(until, from.at + filterBlocks)
  const ins = await asks.list('toAddress', from.at, end)
  const outs = ins && (await asks.list('fromAddress', from.at, end))
  if (!ins || !outs) return { is: 'refused' }
  const listed = Math.min(ins.upTo, outs.upTo)
  // More steps in one block than a page holds.
  if (listed <= from.at) return readOne(asks, from.at + 1)
  const moving = [...ins.traces, ...outs.traces].filter((one) => one.blockNumber <= listed && movesValue(one))
  const named = [...new Set(moving.map(({ blockNumber }) => blockNumber))].sort((a, b) => a - b)
  const upTo = (named[readsMax] ?? listed + 1) - 1
  const into = new Set(ins.traces.map(({ blockNumber }) => blockNumber))
  const left: Left[] = []
  // A listed step may lie inside one that failed, so each block that is named is read whole.
  for (const block of named.slice(0, readsMax)) {
    const [seen] = await asks.read([block])
    const funding = seen && asks.firstIn(seen)
    if (funding && !into.has(block)) return { is: 'refuted' }
    if (funding) return agreed(asks, from, left, block - 1, funding)
    if (seen) left.push({ block, wei: outgoing(seen, asks.address) })
  }
  return agreed(asks, from, left, upTo)
}

/** Invariant 2 over (from, at]; a withdrawal or a reward in between is where the search goes on. */
async function agreed(asks: Asks, from: Place, left: readonly Left[], at: number, funding?: Funding): Promise<Told> {
  const leftBy = (block: number) => left.reduce((sum, one) => sum + (one.block <= block ? one.wei : 0n), 0n)
  const [account = from.account] = at > from.at ? await asks.look([at]) : []
  if (account.balanceWei + leftBy(at) === from.account.balanceWei) {
    return funding ? { is: 'funding', funding } : { is: 'nothing', at, account }
  }
  const incomes = async (blocks: readonly number[]) => {
    const accounts = await asks.look(blocks)
    return blocks.map((block, index) => ({
      nonce: 0n,
      balanceWei: (accounts[index] as Account).balanceWei + leftBy(block),
    }))
  }
  const base = { nonce: 0n, balanceWei: from.account.balanceWei }
  const rise = await firstChange(incomes, base, from.at, at, asks.limits.fanOut, true)
  if (!rise || rise === 'undone') return { is: 'refuted' }
  const told = await readOne(asks, rise.at)
  return told.is === 'nothing' && told.otherwise ? told : { is: 'refuted' }
}

/** `otherwise`: the block paid the account without a transfer. */
async function readOne(asks: Asks, at: number): Promise<Told & { readonly otherwise?: boolean }> {
  const [[seen], [account]] = [await asks.read([at]), await asks.look([at])]
  if (!seen || !account) return { is: 'refused' }
  const funding = asks.firstIn(seen)
  if (funding) return { is: 'funding', funding }
  const { miner, withdrawals } = seen.block
  const otherwise = miner === asks.address || withdrawals.some(({ address }) => address === asks.address)
  return { is: 'nothing', at, account, otherwise }
}

const outgoing = (seen: SeenBlock, address: string): bigint =>
  transfersOf(seen).reduce((sum, one) => sum + (one.from === address && one.to !== address ? one.valueWei : 0n), 0n)
