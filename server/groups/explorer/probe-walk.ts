// The first funding of an address from the state and the blocks of an archive node (decision 0017): from one change of the
// account to the next, reading the block of each, until one holds an incoming transfer.
//
// 1. Never a guess. Either every block before the answer is shown to hold no transfer, or the walk ends with a fault.
// 2. While an account has no code, a block in which it does not change brings it nothing (probe-search.ts).
// 3. While it has code (a contract, a delegated account), value may come and go unseen: then every block is read,
//    or those that the node's own index of traces names.
// 4. Bounded: calls, time, and blocks read one by one.
import { Fault } from '#core/fault.ts'
import {
  type Account,
  accountCalls,
  codeCall,
  filterCall,
  filteredMax,
  headerCall,
  type PlacedTrace,
  readBlocks,
  type SeenBlock,
  toAccount,
  toHeader,
} from '#io/evm/blocks.ts'
import type { RpcCall } from '#io/evm/rpc.ts'
import type { Funding } from './fundings.ts'
import type { ChainNode, Tip } from './node.ts'
import { firstChange } from './probe-search.ts'
import { fundingsOf, movesValue, transfersOf } from './transfers.ts'

export interface WalkLimits {
  readonly fanOut: number
  readonly callsMax: number
  readonly blocksMax: number
  /** On the monotonic clock. */
  readonly untilMs: number
}

export interface Walked {
  /** undefined: nothing came in up to `asOf`. */
  readonly funding: Funding | undefined
  readonly final: boolean
  /** The newest block that was looked at. */
  readonly asOf: number
}

interface Stand {
  readonly at: number
  readonly account: Account
  readonly hasCode: boolean
}

const nobody: Account = { nonce: 0n, balanceWei: 0n }
const blocksPerRead = 8

export async function walk(node: ChainNode, address: string, limits: WalkLimits): Promise<Walked> {
  const tip = await node.tip(limits)
  const walker = new Walker(node, address, limits, tip)
  const funding = await walker.run()
  const final = tip.final !== undefined && (funding?.block ?? tip.head.number) <= tip.final.number
  if (!final) await walker.sameChain()
  return { funding, final, asOf: tip.head.number }
}

class Walker {
  readonly #node: ChainNode
  readonly #address: string
  readonly #limits: WalkLimits
  readonly #tip: Tip
  readonly #head: number
  #callsLeft: number

  constructor(node: ChainNode, address: string, limits: WalkLimits, tip: Tip) {
    this.#node = node
    this.#address = address
    this.#limits = limits
    this.#tip = tip
    this.#head = tip.head.number
    this.#callsLeft = limits.callsMax
  }

  async run(): Promise<Funding | undefined> {
    let stand = await this.#start()
    // Each turn costs calls, which are counted.
    for (;;) {
      if (stand.hasCode) return this.#readOn(stand)
      const change = await firstChange(
        (blocks) => this.#look(blocks),
        stand.account,
        stand.at,
        this.#head,
        this.#limits.fanOut,
      )
      if (change === 'undone') return this.#readOn(stand)
      // A contract from before nonces began at one came to be without a change: then state proved nothing all along.
      if (await this.#hasCode(change ? change.at - 1 : this.#head)) return this.#readOn(stand)
      if (!change) return undefined
      const [seen] = await this.#read([change.at])
      const found = seen && (await this.#fundingIn(seen, stand.account, change.account))
      if (found) return found
      stand = { ...change, hasCode: await this.#hasCode(change.at) }
    }
  }

  /** The chain that was searched is the one that is there now; otherwise the answer may mix two. */
  async sameChain(): Promise<void> {
    const { head } = this.#tip
    const [now] = await this.#ask([headerCall(head.number)])
    if (toHeader(now).hash === head.hash) return
    throw new Fault('explorer.node_unavailable', {
      detail: 'the chain was reorganised during the search',
      retryAfterMs: 1000,
    })
  }

  /** The account as it was before the first block that counts. */
  async #start(): Promise<Stand> {
    const at = this.#node.chain.firstBlock - 1
    if (at < 0) return { at, account: nobody, hasCode: false }
    if (at >= this.#head) throw this.#short(`the chain ends at block ${this.#head}, before its first block ${at + 1}`)
    const [account] = await this.#look([at])
    return { at, account: account as Account, hasCode: await this.#hasCode(at) }
  }

  /** Invariant 3: by the node's own index of traces where it has one, otherwise block by block. */
  async #readOn(stand: Stand): Promise<Funding | undefined> {
    const { has, traces } = await this.#node.capabilities(this.#limits)
    if (!traces) throw noTraces(stand.at + 1)
    return has.trace_filter ? this.#filter(stand) : this.#readEach(stand)
  }

  async #readEach({ at }: Stand): Promise<Funding | undefined> {
    const end = Math.min(this.#head, at + this.#limits.blocksMax)
    for (let from = at + 1; from <= end; from += blocksPerRead) {
      const numbers = Array.from({ length: Math.min(blocksPerRead, end - from + 1) }, (_, index) => from + index)
      for (const seen of await this.#read(numbers)) {
        const found = this.#firstIn(seen)
        if (found) return found
      }
    }
    if (end < this.#head) throw this.#unseen(at, end)
    return undefined
  }

  /** A listed step may lie inside one that failed, so each block it names is read whole. */
  async #filter(stand: Stand): Promise<Funding | undefined> {
    const span = { from: stand.at + 1, until: this.#head + 1 }
    let read = stand.at
    for (let after = 0; span.from < span.until; after += filteredMax) {
      this.#spend(1)
      const [outcome] = await this.#node.rpc.ask([filterCall(this.#address, span, after)], this.#limits)
      // Some nodes refuse long spans.
      if (outcome?.is !== 'result') return this.#readEach(stand)
      const traces = outcome.result as PlacedTrace[]
      for (const { blockNumber } of traces.filter(movesValue)) {
        if (blockNumber < read) throw this.#short('the node lists traces out of order')
        if (blockNumber === read) continue
        read = blockNumber
        const [seen] = await this.#read([blockNumber])
        const found = seen && this.#firstIn(seen)
        if (found) return found
      }
      if (traces.length < filteredMax) return undefined
    }
    return undefined
  }

  #firstIn(seen: SeenBlock): Funding | undefined {
    return fundingsOf(this.#node.chain.id, transfersOf(seen)).find((one) => one.address === this.#address)
  }

  /**
   * Without traces the block's plain transfers are the whole story only if they explain the balance to the last wei:
   * the account sent nothing, was not paid for the block, and nothing is left over that an internal transfer brought.
   */
  async #fundingIn(seen: SeenBlock, before: Account, after: Account): Promise<Funding | undefined> {
    const { block, insight } = seen
    if (insight.form !== 'receipts' || block.transactions.length === 0) return this.#firstIn(seen)
    const plain = transfersOf(seen).filter(({ to }) => to === this.#address)
    const came = plain.reduce((sum, one) => sum + one.valueWei, 0n)
    const withdrawn = block.withdrawals.reduce(
      (sum, one) => sum + (one.address === this.#address ? one.valueWei : 0n),
      0n,
    )
    const explained =
      after.nonce === before.nonce &&
      block.miner !== this.#address &&
      after.balanceWei - before.balanceWei === came + withdrawn
    if (!explained) throw noTraces(block.number)
    return this.#firstIn(seen)
  }

  async #look(blocks: readonly number[]): Promise<Account[]> {
    const answers = await this.#ask(blocks.flatMap((block) => accountCalls(this.#address, block)))
    return blocks.map((_, at) => toAccount(answers[at * 2], answers[at * 2 + 1]))
  }

  async #hasCode(at: number): Promise<boolean> {
    if (at < 0) return false
    const [code] = await this.#ask([codeCall(this.#address, at)])
    return code !== '0x'
  }

  async #read(numbers: readonly number[]): Promise<SeenBlock[]> {
    const { traces } = await this.#node.capabilities(this.#limits)
    const before = this.#node.rpc.counts().calls
    const seen = await readBlocks(this.#node.rpc, traces, numbers, this.#limits)
    // Other searches may be under way on the same lines: counting theirs too only ends this one sooner.
    this.#spend(this.#node.rpc.counts().calls - before)
    return seen
  }

  async #ask(calls: readonly RpcCall[]): Promise<unknown[]> {
    this.#spend(calls.length)
    return this.#node.rpc.results(calls, this.#limits)
  }

  #spend(calls: number): void {
    this.#callsLeft -= calls
    if (this.#callsLeft < 0) throw this.#short(`more than ${this.#limits.callsMax} calls to the node are needed`)
  }

  #unseen(at: number, end: number): Fault {
    const searched = end > at ? `; blocks ${at + 1} to ${end} hold no transfer to it` : ''
    return this.#short(
      `the address has or had code after block ${at}, so that its state does not show what came in${searched}`,
    )
  }

  #short(why: string): Fault {
    return new Fault('explorer.probe_bounds', {
      says: `The first funding of this address cannot be found by a search: ${why}. An index of the chain can tell.`,
    })
  }
}

const noTraces = (block: number): Fault =>
  new Fault('explorer.no_traces', {
    detail: `block ${block} changed the account in a way its plain transfers do not explain`,
  })
