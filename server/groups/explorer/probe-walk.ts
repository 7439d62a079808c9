// The first funding of an address from the state and the blocks of an archive node (decision 0017): from one change of the
// account to the next, reading the block of each, until one holds an incoming transfer.
//
// 1. Never a guess. Either every block before the answer is shown to hold no transfer, or the walk ends with a fault.
// 2. While an account has no code, or code that cannot pass value on (code.ts), a block in which it does not change brings
//    it nothing (probe-search.ts).
// 3. While it has other code (a contract, a delegated account), value may come and go unseen: then every block is read,
//    or those that the node's own index of traces names.
// 4. Bounded: calls, time, and blocks read one by one. What has been shown so far is handed on to the next walk (`keep`).
import { Fault } from '#core/fault.ts'
import {
  accountCalls,
  codeCall,
  filterCall,
  filteredMax,
  headerCall,
  readBlocks,
  toAccount,
  toHeader,
} from '#io/evm/blocks.ts'
import { movesValue } from '#io/evm/moves.ts'
import type { RpcCall } from '#io/evm/rpc.ts'
import type { Account, PlacedTrace, SeenBlock } from '#io/evm/shapes.ts'
import { delegateOf, isInert } from './code.ts'
import type { Funding } from './fundings.ts'
import type { ChainNode, Tip } from './node.ts'
import { behind, cannot, noTraces, tooManyCalls, unfinished } from './probe-faults.ts'
import type { Mark } from './probe-marks.ts'
import { firstChange } from './probe-search.ts'
import { fundingsOf, transfersOf } from './transfers.ts'

export interface WalkLimits {
  readonly fanOut: number
  readonly callsMax: number
  readonly blocksMax: number
  /** On the monotonic clock. */
  readonly untilMs: number
  /** Where an earlier search ended. */
  readonly since?: Mark | undefined
  /** Told how far this one has come, whether or not it finishes. */
  readonly keep?: (mark: Mark) => void
}

export interface Walked {
  /** undefined: nothing came in up to `asOf`. */
  readonly funding: Funding | undefined
  readonly final: boolean
  /** The newest block that was looked at. */
  readonly asOf: number
}

/** Up to the end of block `at` nothing has come in. */
interface Stand {
  readonly at: number
  readonly account: Account
  /** none, or inert: the state tells. spends: it does not. lost: it has contradicted itself, and is not believed again. */
  readonly code: 'none' | 'inert' | 'spends' | 'lost'
  /** The code is another account's (EIP-7702). */
  readonly delegated: boolean
}

/** undefined: nothing came in. */
type Step = Stand | Funding | undefined
const isFunding = (step: Stand | Funding): step is Funding => 'funder' in step

const nobody: Account = { nonce: 0n, balanceWei: 0n }
const blocksPerRead = 8

export async function walk(node: ChainNode, address: string, limits: WalkLimits): Promise<Walked> {
  const tip = await node.tip(limits)
  const walker = new Walker(node, address, limits, tip)
  const funding = await walker.run()
  const { asOf } = walker
  const final = tip.final !== undefined && (funding?.block ?? asOf) <= tip.final.number
  if (!final) await walker.sameChain()
  return { funding, final, asOf }
}

class Walker {
  readonly #node: ChainNode
  readonly #address: string
  readonly #limits: WalkLimits
  readonly #tip: Tip
  readonly #head: number
  #callsLeft: number
  #blocksLeft: number
  #filterRefused = false
  /** Nothing has come in up to here. */
  #at = -1
  /** The newest block that was looked at. */
  asOf: number

  constructor(node: ChainNode, address: string, limits: WalkLimits, tip: Tip) {
    this.#node = node
    this.#address = address
    this.#limits = limits
    this.#tip = tip
    this.#head = tip.head.number
    this.#callsLeft = limits.callsMax
    this.#blocksLeft = limits.blocksMax
    this.asOf = this.#head
  }

  async run(): Promise<Funding | undefined> {
    let stand = await this.#start()
    this.#at = stand.at
    // Each turn costs calls, which are counted, and brings the stand forward.
    for (;;) {
      const next =
        stand.code === 'spends' || stand.code === 'lost' ? await this.#readOn(stand) : await this.#search(stand)
      if (!next || isFunding(next)) return next
      stand = next
      this.#reached(stand)
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

  /** Where an earlier search ended, or the account as it was before the first block that counts. */
  async #start(): Promise<Stand> {
    const { since } = this.#limits
    const { firstBlock } = this.#node.chain
    if (firstBlock > this.#head)
      throw cannot(`the chain ends at block ${this.#head}, before its first block ${firstBlock}`)
    const at = Math.max(since?.block ?? -1, firstBlock - 1)
    if (at < 0) return { at, account: nobody, code: 'none', delegated: false }
    if (at > this.#head) throw behind(at)
    const stand = await this.#standAt(at)
    return since?.stateTells === false ? { ...stand, code: 'lost' } : stand
  }

  /** Invariant 2. The next stand is the next change, whose block held nothing. */
  async #search(stand: Stand): Promise<Step> {
    const { account, at } = stand
    const look = (blocks: readonly number[]) => this.#look(blocks)
    const near = at >= this.#node.chain.firstBlock
    const change = await firstChange(look, account, at, this.#head, this.#limits.fanOut, near)
    if (change === 'undone') return { ...stand, code: 'lost' }
    const unchanged = change ? change.at - 1 : this.#head
    // Contracts from before nonces began at one came to be without a change.
    if (stand.code === 'none' && (await this.#code(unchanged)) !== '0x') return this.#arrival(stand, unchanged)
    if (!change) return undefined
    const [seen] = await this.#read([change.at])
    return (seen && (await this.#fundingIn(seen, account, change.account))) ?? this.#standAt(change.at, change.account)
  }

  /** Code came in (stand, until] and changed nothing else: the block it came in is read, as one that changed it. */
  async #arrival(stand: Stand, until: number): Promise<Step> {
    const look = async (blocks: readonly number[]) => {
      const codes = await this.#ask(blocks.map((block) => codeCall(this.#address, block)))
      return codes.map((code) => ({ ...nobody, nonce: code === '0x' ? 0n : 1n }))
    }
    const change = await firstChange(look, nobody, stand.at, until, this.#limits.fanOut)
    if (!change || change === 'undone') return { ...stand, code: 'lost' }
    const { traces } = await this.#node.capabilities(this.#limits)
    if (!traces) throw noTraces(change.at)
    const [seen] = await this.#read([change.at])
    return (seen && this.#firstIn(seen)) ?? this.#standAt(change.at, stand.account)
  }

  /** Invariant 3: by the node's own index of traces where it has one, otherwise a few blocks at a time. */
  async #readOn(stand: Stand): Promise<Step> {
    const { has, traces } = await this.#node.capabilities(this.#limits)
    if (!traces) throw noTraces(stand.at + 1)
    if (has.trace_filter && !this.#filterRefused) {
      const found = await this.#filter(stand)
      if (found !== 'refused') return found
      this.#filterRefused = true
    }
    if (stand.at >= this.#head) return undefined
    const count = Math.min(blocksPerRead, this.#head - stand.at, this.#blocksLeft)
    if (count <= 0) {
      if (!this.#tip.final || stand.at < this.#tip.final.number) throw unfinished(stand.at)
      // All that is final has been read: nothing, as of there.
      this.asOf = stand.at
      return undefined
    }
    this.#blocksLeft -= count
    for (const seen of await this.#read(Array.from({ length: count }, (_, index) => stand.at + 1 + index))) {
      const found = this.#firstIn(seen)
      if (found) return found
    }
    const at = stand.at + count
    // A delegation can be taken back, and then the state tells again. A contract that is gone may come back unseen.
    return stand.delegated ? this.#standAt(at) : { ...stand, at }
  }

  /** A listed step may lie inside one that failed, so each block it names is read whole. */
  async #filter(stand: Stand): Promise<Funding | 'refused' | undefined> {
    const span = { from: stand.at + 1, until: this.#head + 1 }
    let read = stand.at
    for (let after = 0; span.from < span.until; after += filteredMax) {
      this.#spend(1)
      const [outcome] = await this.#node.rpc.ask([filterCall(this.#address, span, after)], this.#limits)
      // Some nodes refuse long spans.
      if (outcome?.is !== 'result') return 'refused'
      const traces = outcome.result as PlacedTrace[]
      for (const { blockNumber } of traces.filter(movesValue)) {
        if (blockNumber < read) throw cannot('the node lists traces out of order')
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

  async #code(at: number, address = this.#address): Promise<string> {
    if (at < 0) return '0x'
    const [code] = await this.#ask([codeCall(address, at)])
    return code as string
  }

  async #standAt(at: number, known?: Account): Promise<Stand> {
    const [account] = known ? [known] : await this.#look([at])
    const own = await this.#code(at)
    const delegate = delegateOf(own)
    const code = delegate ? await this.#code(at, delegate) : own
    // Nothing at the delegate's address today may be anything tomorrow.
    const kind = own === '0x' ? 'none' : code !== '0x' && isInert(code) ? 'inert' : 'spends'
    return { at, account: account as Account, code: kind, delegated: delegate !== undefined }
  }

  /** Nothing has come in up to this stand. What is not final is not worth remembering. */
  #reached({ at, code, delegated }: Stand): void {
    this.#at = at
    if (at < 0 || !this.#tip.final || at > this.#tip.final.number) return
    this.#limits.keep?.({ block: at, stateTells: code !== 'lost' && (code !== 'spends' || delegated) })
  }

  async #read(numbers: readonly number[]): Promise<SeenBlock[]> {
    const { reads } = await this.#node.capabilities(this.#limits)
    const before = this.#node.rpc.counts().calls
    const seen = await readBlocks(this.#node.rpc, reads, numbers, this.#limits)
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
    if (this.#callsLeft < 0) throw tooManyCalls(this.#limits.callsMax, this.#at)
  }
}
