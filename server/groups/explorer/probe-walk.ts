// The first funding of an address from the state and the blocks of an archive node (decision 0017): from one change of the
// account to the next, reading the block of each, until one holds an incoming transfer.
//
// 1. Never a guess. Either every block before the answer is shown to hold no transfer, or the walk ends with a fault.
// 2. While an account has no code, or code that cannot pass value on (code.ts), a block in which it does not change brings
//    it nothing (probe-search.ts).
// 3. While it has other code (a contract, a delegated account), value may come and go unseen: then the node's own index of
//    traces is asked, as far as it can be believed (probe-lists.ts), or every block is read.
// 4. An account that was nobody at every look may have been a contract in between, and gone (decision 0161).
// 5. Bounded: calls, time, and blocks read one by one. What has been shown so far is handed on to the next walk (`keep`).
import { Fault } from '#core/fault.ts'
import { accountCalls, codeCall, headerCall, toAccount, toHeader } from '#io/evm/blocks.ts'
import type { Account, SeenBlock } from '#io/evm/shapes.ts'
import { delegateOf, isInert } from './code.ts'
import type { Funding } from './fundings.ts'
import type { ChainNode, Tip } from './node.ts'
import { Asks, type WalkLimits } from './probe-asks.ts'
import { behind, cannot, noTraces, unfinished } from './probe-faults.ts'
import { toldByLists } from './probe-lists.ts'
import { between, firstChange } from './probe-search.ts'
import { transfersOf } from './transfers.ts'

export interface Walked {
  /** undefined: nothing came in up to `asOf`. */
  readonly funding: Funding | undefined
  readonly final: boolean
  /** The newest block that was looked at. */
  readonly asOf: number
  /** It rests on what the node lists, beside state and blocks. */
  readonly listed: boolean
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

/** undefined: nothing came in. again: what was believed so far is not to be. */
type Step = Stand | Funding | 'again' | undefined
const isFunding = (step: Stand | Funding): step is Funding => 'funder' in step

const nobody: Account = { nonce: 0n, balanceWei: 0n }
const blocksPerRead = 16
/** Looks for code that came and went, where no list can be asked. */
const sweepPoints = 32
/** Pages of the lists that are worth asking for to be sure that there was nothing. */
const hiddenPagesMax = 8

export async function walk(node: ChainNode, address: string, limits: WalkLimits): Promise<Walked> {
  const tip = await node.tip(limits)
  const walker = new Walker(new Asks(node, address, limits, tip.head.number), tip)
  const funding = await walker.run()
  const { asOf, listed } = walker
  const final = tip.final !== undefined && (funding?.block ?? asOf) <= tip.final.number
  if (!final) await walker.sameChain()
  return { funding, final, asOf, listed }
}

class Walker {
  readonly #asks: Asks
  readonly #limits: WalkLimits
  readonly #tip: Tip
  readonly #head: number
  #blocksLeft: number
  /** The node's lists have refused to answer, or were refuted. */
  #listsFailed = false
  /** The stand rests on what the node lists. */
  listed = false
  /** The newest block that was looked at. */
  asOf: number

  constructor(asks: Asks, tip: Tip) {
    this.#asks = asks
    this.#limits = asks.limits
    this.#tip = tip
    this.#head = asks.head
    this.#blocksLeft = asks.limits.blocksMax
    this.asOf = this.#head
  }

  async run(): Promise<Funding | undefined> {
    let stand = await this.#start()
    this.#asks.at = stand.at
    // Each turn costs calls, which are counted, and brings the stand forward; `again` happens once.
    for (;;) {
      const next =
        stand.code === 'spends' || stand.code === 'lost' ? await this.#readOn(stand) : await this.#search(stand)
      if (next === undefined || (next !== 'again' && isFunding(next))) return next
      stand = next === 'again' ? await this.#start() : next
      this.#reached(stand)
    }
  }

  /** The chain that was searched is the one that is there now; otherwise the answer may mix two. */
  async sameChain(): Promise<void> {
    const { head } = this.#tip
    const [now] = await this.#asks.ask([headerCall(head.number)])
    if (toHeader(now).hash === head.hash) return
    throw new Fault('explorer.node_unavailable', {
      detail: 'the chain was reorganised during the search',
      retryAfterMs: 1000,
    })
  }

  /** Where an earlier search ended, or the account as it was before the first block that counts. */
  async #start(): Promise<Stand> {
    // What lists have shown is worth nothing once they are refuted.
    const since = this.#limits.since?.listed && this.#listsFailed ? undefined : this.#limits.since
    this.listed = since?.listed === true
    const { firstBlock } = this.#asks.node.chain
    if (firstBlock > this.#head)
      throw cannot(`the chain ends at block ${this.#head}, before its first block ${firstBlock}`)
    const at = Math.max(since?.block ?? -1, firstBlock - 1)
    if (at < 0) return { at, account: nobody, code: 'none', delegated: false }
    if (at > this.#head) throw behind(at)
    const stand = await this.#standAt(at)
    return since?.stateTells === false ? { ...stand, code: 'lost' } : stand
  }

  /** Invariant 2. The next stand is the next change up to the end of `until`, whose block held nothing. */
  async #search(stand: Stand, until = this.#head): Promise<Step> {
    const { account, at } = stand
    const look = (blocks: readonly number[]) => this.#asks.look(blocks)
    const near = at >= this.#asks.node.chain.firstBlock
    const change = await firstChange(look, account, at, until, this.#limits.fanOut, near)
    if (change === 'undone') return { ...stand, code: 'lost' }
    const unchanged = change ? change.at - 1 : until
    if (stand.code === 'none') {
      const { hadCode, hasKey } = await this.#kindOf(unchanged)
      // Contracts from before nonces began at one came to be without a change.
      if (hadCode) return this.#arrival(stand, unchanged)
      const hidden = isNobody(account) && !hasKey ? await this.#hidden(stand, unchanged) : undefined
      if (hidden) return hidden
    }
    if (!change) return undefined
    const [seen] = await this.#asks.read([change.at])
    return (seen && (await this.#fundingIn(seen, account, change.account))) ?? this.#standAt(change.at, change.account)
  }

  /**
   * Code came in (stand, until]. Before it did, the state tells as always, whatever a look after it showed. The block it came in is read,
   * as one that changed the account.
   */
  async #arrival(stand: Stand, until: number): Promise<Step> {
    const look = async (blocks: readonly number[]) => {
      const codes = await this.#asks.codes(blocks)
      return codes.map((code) => ({ ...nobody, nonce: code === '0x' ? 0n : 1n }))
    }
    const change = await firstChange(look, nobody, stand.at, until, this.#limits.fanOut)
    if (!change || change === 'undone') return { ...stand, code: 'lost' }
    const { traces } = await this.#asks.node.capabilities(this.#limits)
    if (!traces) throw noTraces(change.at)
    const before = change.at - 1 > stand.at ? await this.#search(stand, change.at - 1) : undefined
    if (before) return before
    const [seen] = await this.#asks.read([change.at])
    return (seen && this.#asks.firstIn(seen)) ?? this.#standAt(change.at)
  }

  /** Whether there was code at that block, and whether the account is somebody's who sends transactions of his own. */
  async #kindOf(block: number): Promise<{ readonly hadCode: boolean; readonly hasKey: boolean }> {
    const { address } = this.#asks
    const then = Math.max(block, 0)
    const calls = [codeCall(address, then), codeCall(address, this.#head), ...accountCalls(address, this.#head)]
    const [code, codeNow, nonce, balance] = await this.#asks.ask(calls)
    const hasKey = codeNow === '0x' && toAccount(nonce, balance).nonce > 0n
    return { hadCode: block >= 0 && code !== '0x', hasKey }
  }

  /**
   * Invariant 4, over (stand, until]. Who has a key was never a contract. Of others the node's lists tell; without them, the code is
   * looked for at some blocks, which finds those that were there for long.
   */
  async #hidden(stand: Stand, until: number): Promise<Step> {
    if (until <= stand.at) return undefined
    const { filterBlocks } = await this.#asks.node.capabilities(this.#limits)
    if (until - stand.at <= filterBlocks * hiddenPagesMax && (await this.#listsAnswer())) {
      let place: Pick<Stand, 'at' | 'account'> = stand
      for (let pages = 0; pages < hiddenPagesMax && place.at < until; pages++) {
        const told = await toldByLists(this.#asks, place, until)
        if (told.is === 'funding') {
          this.listed = true
          return told.funding
        }
        if (told.is !== 'nothing') this.#listsFailed = true
        // Something was there: what, only its blocks can tell.
        if (told.is === 'refuted') return { ...stand, code: 'lost' }
        if (told.is === 'refused') break
        place = told
      }
      if (place.at >= until) return undefined
    }
    const codes = await this.#asks.codes(between(stand.at, until + 1, sweepPoints))
    return codes.some((one) => one !== '0x') ? { ...stand, code: 'lost' } : undefined
  }

  /** Invariant 3: by the node's own index of traces where it has one, otherwise a few blocks at a time. */
  async #readOn(stand: Stand): Promise<Step> {
    const { traces } = await this.#asks.node.capabilities(this.#limits)
    if (!traces) throw noTraces(stand.at + 1)
    if (stand.at >= this.#head) return undefined
    if (this.#limits.over?.()) return this.#pause(stand)
    if (await this.#listsAnswer()) {
      const told = await toldByLists(this.#asks, stand, this.#head)
      if (told.is === 'funding' || told.is === 'nothing') this.listed = true
      if (told.is === 'funding') return told.funding
      if (told.is === 'nothing') return this.#on(stand, told.at, told.account)
      this.#listsFailed = true
      if (told.is === 'refuted' && this.listed) return 'again'
    }
    const count = Math.min(blocksPerRead, this.#head - stand.at, this.#blocksLeft)
    if (count <= 0) return this.#pause(stand)
    this.#blocksLeft -= count
    for (const seen of await this.#asks.read(Array.from({ length: count }, (_, index) => stand.at + 1 + index))) {
      const found = this.#asks.firstIn(seen)
      if (found) return found
    }
    return this.#on(stand, stand.at + count)
  }

  async #listsAnswer(): Promise<boolean> {
    const { has, traces } = await this.#asks.node.capabilities(this.#limits)
    return has.trace_filter && traces !== undefined && !this.#listsFailed
  }

  /** A delegation can be taken back, and then the state tells again. A contract that is gone may come back unseen. */
  async #on(stand: Stand, at: number, known?: Account): Promise<Stand> {
    if (stand.delegated) return this.#standAt(at, known)
    const [account] = known ? [known] : (await this.#listsAnswer()) ? await this.#asks.look([at]) : [stand.account]
    return { ...stand, at, account: account as Account }
  }

  /** No more is read in this walk. Where all that is final has been: nothing, as of there. */
  #pause(stand: Stand): undefined {
    if (!this.#tip.final || stand.at < this.#tip.final.number) throw unfinished(stand.at, this.#head)
    this.asOf = stand.at
  }

  /**
   * Without traces the block's plain transfers are the whole story only if they explain the balance to the last wei:
   * the account sent nothing, was not paid for the block, and nothing is left over that an internal transfer brought.
   */
  async #fundingIn(seen: SeenBlock, before: Account, after: Account): Promise<Funding | undefined> {
    const { block, insight } = seen
    const { address } = this.#asks
    if (insight.form !== 'receipts' || block.transactions.length === 0) return this.#asks.firstIn(seen)
    const plain = transfersOf(seen).filter(({ to }) => to === address)
    const came = plain.reduce((sum, one) => sum + one.valueWei, 0n)
    const withdrawn = block.withdrawals.reduce((sum, one) => sum + (one.address === address ? one.valueWei : 0n), 0n)
    const explained =
      after.nonce === before.nonce &&
      block.miner !== address &&
      after.balanceWei - before.balanceWei === came + withdrawn
    if (!explained) throw noTraces(block.number)
    return this.#asks.firstIn(seen)
  }

  async #standAt(at: number, known?: Account): Promise<Stand> {
    const [account] = known ? [known] : await this.#asks.look([at])
    const own = await this.#asks.code(at)
    const delegate = delegateOf(own)
    const code = delegate ? await this.#asks.code(at, delegate) : own
    // Nothing at the delegate's address today may be anything tomorrow.
    const kind = own === '0x' ? 'none' : code !== '0x' && isInert(code) ? 'inert' : 'spends'
    return { at, account: account as Account, code: kind, delegated: delegate !== undefined }
  }

  /** Nothing has come in up to this stand. What is not final is not worth remembering. */
  #reached({ at, code, delegated }: Stand): void {
    this.#asks.at = at
    if (at < 0 || !this.#tip.final || at > this.#tip.final.number) return
    const stateTells = code !== 'lost' && (code !== 'spends' || delegated)
    this.#limits.keep?.({ block: at, stateTells, listed: this.listed })
  }
}

const isNobody = ({ nonce, balanceWei }: Account): boolean => nonce === 0n && balanceWei === 0n
