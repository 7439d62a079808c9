// The first funding of an address from the state and the blocks of an archive node (decision 0017): from one change of the
// account to the next, reading the block of each, until one holds an incoming transfer.
//
// 1. Never a guess. Either every block before the answer is shown to hold no transfer, or the walk ends with a fault.
// 2. While an account has no code, or code that cannot pass value on (code.ts), a block in which it does not change brings
//    it nothing (probe-search.ts).
// 3. While it has other code (a contract, a delegated account), value may come and go unseen: then the node's own index of
//    traces is asked, as far as it can be believed (probe-lists.ts), or every block is read.
// 4. An account that was nobody at every look may have been a contract in between, and gone (decision 0161). Where the node has no
//    such index, blocks are read to be sure, if they are not too many; otherwise the answer says that it was only looked for (0165),
//    or is refused (0172).
// 5. Bounded: calls, time, and blocks read one by one. What has been shown so far is handed on to the next walk (`keep`).
import type { Account, SeenBlock } from '#io/evm/shapes.ts'
import { type Funding, type Proof, weaker } from './fundings.ts'
import type { ChainNode, Tip } from './node.ts'
import { Asks, type WalkLimits } from './probe-asks.ts'
import { behind, cannot, noTraces, unfinished, unread, unsure } from './probe-faults.ts'
import { toldByLists } from './probe-lists.ts'
import { metSomebody } from './probe-looks.ts'
import type { Mark } from './probe-marks.ts'
import { firstChange } from './probe-search.ts'
import { isNobody, isOwnCreation, kindOf, nobody, type Stand, standAt, stateTells } from './probe-stand.ts'

export interface Walked {
  /** undefined: nothing came in up to `asOf`. */
  readonly funding: Funding | undefined
  readonly final: boolean
  /** The newest block that was looked at. */
  readonly asOf: number
  readonly proof: Proof
}

/** undefined: nothing came in. again: what was believed so far is not to be. */
type Step = Stand | Funding | 'again' | undefined
const isFunding = (step: Stand | Funding): step is Funding => 'funder' in step

const blocksPerRead = 16
const fromTheFirst: Mark = { block: -1, stateTells: true, proof: 'probed' }
/** Pages of the lists that are worth asking for to be sure that there was nothing. */
const hiddenPagesMax = 128

export async function walk(node: ChainNode, address: string, limits: WalkLimits): Promise<Walked> {
  const tip = await node.tip(limits)
  const asks = new Asks(node, address, limits, tip.head.number)
  const walker = new Walker(asks, tip)
  const funding = await walker.run()
  const { asOf, proof } = walker
  const final = tip.final !== undefined && (funding?.block ?? asOf) <= tip.final.number
  if (!final) await asks.sameChain(tip.head)
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
  #areRefuted = false
  /** Only one contract can ever have been at this address, and its creation has been seen. */
  #isUnique = false
  #lastRead: SeenBlock | undefined
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
      // What was kept on the strength of lists is written over, if only by this.
      if (next === 'again')
        this.#limits.keep?.(this.#limits.since?.proof === 'probed' ? this.#limits.since : fromTheFirst)
      this.#reached(stand)
    }
  }

  /** Where an earlier search or the index ended, or the account as it was before the first block that counts. */
  async #start(): Promise<Stand> {
    const { firstBlock } = this.#asks.node.chain
    const first = Math.max(firstBlock, (this.#limits.readUpTo ?? -1) + 1)
    const since = await this.#believed(this.#limits.since, first)
    this.proof = since?.proof ?? 'probed'
    this.#onLists = this.proof !== 'probed'
    if (firstBlock > this.#head)
      throw cannot(`the chain ends at block ${this.#head}, before its first block ${firstBlock}`)
    const at = since?.block ?? first - 1
    if (at < 0) return { at, account: nobody, code: 'none', delegated: false }
    if (at > this.#head) throw behind(at)
    const stand = await standAt(this.#asks, at)
    return since?.stateTells === false ? { ...stand, code: 'lost' } : stand
  }

  /**
   * What lists have shown is worth nothing once they are refuted; nor are looks where blocks can be read instead, or nothing is to rest on
   * them; nor anything before `first`.
   */
  async #believed(since: Mark | undefined, first: number): Promise<Mark | undefined> {
    if (!since || since.block < first || (since.proof !== 'probed' && this.#listsFailed)) return undefined
    if (since.proof !== 'looked') return since
    if (this.#limits.unsure === 'refuse') return undefined
    if (since.block - first >= this.#limits.sureBlocks) return since
    const { traces } = await this.#asks.node.capabilities(this.#limits)
    return traces ? undefined : since
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
      const { hadCode, hasKey } = await kindOf(this.#asks, unchanged)
      // Contracts from before nonces began at one came to be without a change.
      if (hadCode) return this.#arrival(stand, unchanged)
      if (isNobody(account) && !hasKey) {
        // The first sign of life of a contract is its creation, which tells whether another can have been there before.
        if (change && change.account.nonce > 0n) await this.#readOne(change.at)
        const hidden = this.#isUnique ? undefined : await this.#hidden(stand, unchanged)
        if (hidden) return hidden
      }
    }
    if (!change) {
      const { final } = this.#tip
      if (final && until === this.#head) this.#reached({ ...stand, at: Math.min(until, final.number) })
      return undefined
    }
    const [seen, then] = [await this.#readOne(change.at), change.account]
    return (seen && this.#asks.fundingIn(seen, account, then)) ?? standAt(this.#asks, change.at, then)
  }

  async #readOne(at: number): Promise<SeenBlock | undefined> {
    if (this.#lastRead?.block.number === at) return this.#lastRead
    const [seen] = await this.#asks.read([at])
    this.#lastRead = seen
    this.#isUnique ||= seen !== undefined && isOwnCreation(seen, this.#asks.address)
    return seen
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
    const seen = await this.#readOne(change.at)
    const before = change.at - 1 > stand.at ? await this.#search(stand, change.at - 1) : undefined
    if (before) return before
    return (seen && this.#asks.firstIn(seen)) ?? standAt(this.#asks, change.at)
  }

  /**
   * Invariant 4, over (stand, until]. Who has a key was never a contract. Of others the node's lists tell; without them, the blocks
   * are read, or, where they are too many, somebody is looked for at some of them, which finds those that were there for long.
   */
  async #hidden(stand: Stand, until: number): Promise<Step> {
    if (until <= stand.at) return undefined
    // Something was there: what, only its blocks can tell.
    if (this.#areRefuted) return { ...stand, code: 'lost' }
    if ((await this.#listsReach(stand.at, until)) || (await this.#isRead(stand, until)))
      return { ...stand, readUntil: until }
    if (this.proof !== 'looked' && this.#isEnough(stand, until)) return undefined
    return this.#met(stand, until)
  }

  /** All that is final has been read, and the rest shows no sign of life: nothing, as of there. */
  #isEnough({ at }: Stand, until: number): boolean {
    const isEnough = until === this.#head && this.#tip.final !== undefined && at >= this.#tip.final.number
    if (isEnough) this.asOf = at
    return isEnough
  }

  async #listsReach(after: number, until: number): Promise<boolean> {
    const { filterBlocks } = await this.#asks.node.capabilities(this.#limits)
    return until - after <= filterBlocks * hiddenPagesMax && (await this.#listsAnswer())
  }

  /** Whether the blocks in (stand, until] are few enough to be read to be sure. */
  async #isRead(stand: Stand, until: number): Promise<boolean> {
    const { traces } = await this.#asks.node.capabilities(this.#limits)
    const blocks = until - stand.at
    // Nothing is surer than what it follows.
    if (!traces || blocks > this.#limits.sureBlocks || this.proof === 'looked') return false
    return this.#canGoOn(stand) || blocks <= this.#blocksLeft
  }

  /** The next search can begin where this one ends: only what is final is kept. */
  #canGoOn({ at }: Stand): boolean {
    return this.#tip.final !== undefined && at < this.#tip.final.number
  }

  async #met(stand: Stand, until: number): Promise<Stand | undefined> {
    if (this.#limits.unsure === 'refuse') throw unread(stand.at, until)
    if (await metSomebody(this.#asks, stand.at, until)) return { ...stand, code: 'lost' }
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
    if (await this.#listsAnswer()) {
      const told = await toldByLists(this.#asks, stand, until)
      if (told.is === 'funding' || told.is === 'nothing') this.#rest('listed')
      if (told.is === 'funding') return told.funding
      if (told.is === 'nothing') return this.#on(stand, told.at, told.account)
      this.#listsFailed = true
      this.#areRefuted = told.is === 'refuted'
      if (this.#areRefuted) this.#asks.node.refuteLists()
      if (this.#areRefuted && (this.#onLists || stand.readUntil !== undefined)) return 'again'
      // Too many to be read, and the lists no longer tell.
      if (stand.readUntil !== undefined && !(await this.#isRead(stand, until))) return this.#byState(stand, until)
    }
    const count = Math.min(blocksPerRead, until - stand.at, this.#blocksLeft, this.#asks.blocksLeft(traces))
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
    if (stand.delegated || at === stand.readUntil) return standAt(this.#asks, at, known)
    const [account] = known ? [known] : (await this.#listsAnswer()) ? await this.#asks.look([at]) : [stand.account]
    return { ...stand, at, account: account as Account }
  }

  /** No more is read in this walk. Where blocks were read only to be sure, and no other search would come further, the state tells. */
  async #pause(stand: Stand): Promise<Step> {
    const { at, readUntil } = stand
    if (this.#isEnough(stand, readUntil ?? this.#head)) return undefined
    if (readUntil === undefined) throw unfinished(at, this.#head)
    if (this.#canGoOn(stand)) throw unsure(at, readUntil)
    return this.#byState(stand, readUntil)
  }

  /** Blocks that were to be read up to `until` are not: looks have to do. */
  async #byState({ readUntil: _, ...stand }: Stand, until: number): Promise<Step> {
    return (await this.#met(stand, until)) ?? standAt(this.#asks, until)
  }

  /** Nothing has come in up to this stand. What is not final is not worth remembering. */
  #reached({ at, code, delegated, readUntil }: Stand): void {
    this.#asks.at = at
    this.#asks.until = readUntil ?? this.#head
    if (at < 0 || !this.#tip.final) return
    // What has been read is worth keeping up to what is final; anything else there may be undone.
    const block = readUntil === undefined ? at : Math.min(at, this.#tip.final.number)
    if (block > this.#tip.final.number) return
    const stateTells = code !== 'lost' && (code !== 'spends' || delegated)
    this.#limits.keep?.({ block, stateTells, proof: this.proof })
  }
}
