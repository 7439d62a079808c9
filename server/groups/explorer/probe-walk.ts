// The first funding of an address from the state and the blocks of an archive node (decision 0017): from one change of the
// account to the next, reading the block of each, until one holds an incoming transfer.
//
// 1. Never a guess. Either every block before the answer is shown to hold no transfer, or the walk ends with a fault.
// 2. While an account has no code, or code that cannot pass value on (code.ts), a block in which it does not change brings
//    it nothing (probe-search.ts).
// 3. While it has other code (a contract, a delegated account), value may come and go unseen: then the node's own index of
//    traces is asked, as far as it can be believed (probe-lists.ts), or every block is read.
// 4. An account that was nobody at every look may have been a contract in between, and gone (decision 0161). Where the node has no
//    such index, blocks are read to be sure, if they are not too many; otherwise the answer says that it was only looked for (0165).
// 5. Bounded: calls, time, and blocks read one by one. What has been shown so far is handed on to the next walk (`keep`).
import { Fault } from '#core/fault.ts'
import { accountCalls, codeCall, headerCall, toAccount, toHeader } from '#io/evm/blocks.ts'
import type { Account } from '#io/evm/shapes.ts'
import { delegateOf, isInert } from './code.ts'
import { type Funding, type Proof, weaker } from './fundings.ts'
import type { ChainNode, Tip } from './node.ts'
import { Asks, type WalkLimits } from './probe-asks.ts'
import { behind, cannot, noTraces, unfinished, unsure } from './probe-faults.ts'
import { toldByLists } from './probe-lists.ts'
import type { Mark } from './probe-marks.ts'
import { between, firstChange } from './probe-search.ts'

export interface Walked {
  /** undefined: nothing came in up to `asOf`. */
  readonly funding: Funding | undefined
  readonly final: boolean
  /** The newest block that was looked at. */
  readonly asOf: number
  readonly proof: Proof
}

/** Up to the end of block `at` nothing has come in. */
interface Stand {
  readonly at: number
  readonly account: Account
  /** none, or inert: the state tells. spends: it does not. lost: it has contradicted itself, and is not believed again. */
  readonly code: 'none' | 'inert' | 'spends' | 'lost'
  /** The code is another account's (EIP-7702). */
  readonly delegated: boolean
  /** Blocks up to here are read, whatever the state tells. */
  readonly readUntil?: number
}

/** undefined: nothing came in. again: what was believed so far is not to be. */
type Step = Stand | Funding | 'again' | undefined
const isFunding = (step: Stand | Funding): step is Funding => 'funder' in step

const nobody: Account = { nonce: 0n, balanceWei: 0n }
const blocksPerRead = 16
/** Where each transaction is a call of its own, sixteen blocks can be more than a search may ask for: it would never come further. */
const blocksPerSlowRead = 1
/** Looks for code that came and went, where no list can be asked. */
const sweepPoints = 32
/** Pages of the lists that are worth asking for to be sure that there was nothing. */
const hiddenPagesMax = 8

export async function walk(node: ChainNode, address: string, limits: WalkLimits): Promise<Walked> {
  const tip = await node.tip(limits)
  const walker = new Walker(new Asks(node, address, limits, tip.head.number), tip)
  const funding = await walker.run()
  const { asOf, proof } = walker
  const final = tip.final !== undefined && (funding?.block ?? asOf) <= tip.final.number
  if (!final) await walker.sameChain()
  return { funding, final, asOf, proof }
}

class Walker {
  readonly #asks: Asks
  readonly #limits: WalkLimits
  readonly #tip: Tip
  readonly #head: number
  #blocksLeft: number
  /** The node's lists have refused to answer, or were refuted. */
  #listsFailed = false
  /** Something rests on the node's lists. */
  #onLists = false
  /** What the stand rests on. */
  proof: Proof = 'probed'
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
      const next = stateTells(stand) ? await this.#search(stand) : await this.#readOn(stand)
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
    const { firstBlock } = this.#asks.node.chain
    const since = this.#believed(this.#limits.since, firstBlock)
    this.proof = since?.proof ?? 'probed'
    this.#onLists = this.proof !== 'probed'
    if (firstBlock > this.#head)
      throw cannot(`the chain ends at block ${this.#head}, before its first block ${firstBlock}`)
    const at = Math.max(since?.block ?? -1, firstBlock - 1)
    if (at < 0) return { at, account: nobody, code: 'none', delegated: false }
    if (at > this.#head) throw behind(at)
    const stand = await this.#standAt(at)
    return since?.stateTells === false ? { ...stand, code: 'lost' } : stand
  }

  /** What lists have shown is worth nothing once they are refuted; nor are looks where blocks are read instead. */
  #believed(since: Mark | undefined, firstBlock: number): Mark | undefined {
    if (since?.proof !== 'probed' && this.#listsFailed) return undefined
    if (since?.proof === 'looked' && since.block - firstBlock < this.#limits.sureBlocks) return undefined
    return since
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
    return (seen && this.#asks.fundingIn(seen, account, change.account)) ?? this.#standAt(change.at, change.account)
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
    // Only a key can delegate.
    const delegates = delegateOf(codeNow as string) !== undefined
    const hasKey = delegates || (codeNow === '0x' && toAccount(nonce, balance).nonce > 0n)
    return { hadCode: block >= 0 && code !== '0x', hasKey }
  }

  /**
   * Invariant 4, over (stand, until]. Who has a key was never a contract. Of others the node's lists tell; without them, the blocks
   * are read, or, where they are too many, the code is looked for at some of them, which finds those that were there for long.
   */
  async #hidden(stand: Stand, until: number): Promise<Step> {
    if (until <= stand.at) return undefined
    const { filterBlocks, traces } = await this.#asks.node.capabilities(this.#limits)
    if (until - stand.at <= filterBlocks * hiddenPagesMax && (await this.#listsAnswer())) {
      let place: Pick<Stand, 'at' | 'account'> = stand
      for (let pages = 0; pages < hiddenPagesMax && place.at < until; pages++) {
        const told = await toldByLists(this.#asks, place, until)
        if (told.is === 'funding') {
          this.#rest('listed')
          return told.funding
        }
        if (told.is !== 'nothing') this.#listsFailed = true
        // Something was there: what, only its blocks can tell.
        if (told.is === 'refuted') return { ...stand, code: 'lost' }
        if (told.is === 'refused') break
        place = told
      }
      if (place.at >= until) {
        this.#rest('listed')
        return undefined
      }
    }
    if (traces && until - stand.at <= this.#limits.sureBlocks) return { ...stand, readUntil: until }
    const codes = await this.#asks.codes(between(stand.at, until + 1, sweepPoints))
    if (codes.some((one) => one !== '0x')) return { ...stand, code: 'lost' }
    this.#rest('looked')
    return undefined
  }

  #rest(proof: Proof): void {
    this.#onLists ||= proof === 'listed'
    this.proof = weaker(this.proof, proof)
  }

  /** Invariant 3: by the node's own index of traces where it has one, otherwise a few blocks at a time. */
  async #readOn(stand: Stand): Promise<Step> {
    const { traces } = await this.#asks.node.capabilities(this.#limits)
    if (!traces) throw noTraces(stand.at + 1)
    if (stand.at >= this.#head) return undefined
    if (this.#limits.over?.()) return this.#pause(stand)
    const until = stand.readUntil ?? this.#head
    if (stand.readUntil === undefined && (await this.#listsAnswer())) {
      const told = await toldByLists(this.#asks, stand, until)
      if (told.is === 'funding' || told.is === 'nothing') this.#rest('listed')
      if (told.is === 'funding') return told.funding
      if (told.is === 'nothing') return this.#on(stand, told.at, told.account)
      this.#listsFailed = true
      if (told.is === 'refuted' && this.#onLists) return 'again'
    }
    const atOnce = traces === 'debug_traceTransaction' ? blocksPerSlowRead : blocksPerRead
    const count = Math.min(atOnce, until - stand.at, this.#blocksLeft)
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
    if (stand.delegated || at === stand.readUntil) return this.#standAt(at, known)
    const [account] = known ? [known] : (await this.#listsAnswer()) ? await this.#asks.look([at]) : [stand.account]
    return { ...stand, at, account: account as Account }
  }

  /** No more is read in this walk. Where all that is final has been: nothing, as of there. */
  #pause(stand: Stand): undefined {
    const why = stand.readUntil === undefined ? unfinished : unsure
    if (!this.#tip.final || stand.at < this.#tip.final.number) throw why(stand.at, this.#head)
    this.asOf = stand.at
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
    this.#limits.keep?.({ block: at, stateTells, proof: this.proof })
  }
}

const stateTells = ({ code, readUntil }: Stand): boolean =>
  readUntil === undefined && (code === 'none' || code === 'inert')
const isNobody = ({ nonce, balanceWei }: Account): boolean => nonce === 0n && balanceWei === 0n
