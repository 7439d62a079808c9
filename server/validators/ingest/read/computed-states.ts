// The computed states of a part of a chain (../../chain): sends the blocks of the nodes to one cursor of the chain process,
// and reads the epoch starts that it computes.
//
// 1. Epochs are requested in ascending order. An earlier one begins again from a snapshot or a state of a node, and so does
//    a much later one, if there is a snapshot between the two.
// 2. Blocks and epoch starts are kept for `aheadMax` epochs. If an epoch is not final by then, only the roots of later
//    blocks are kept until it is. Then the blocks are processed a second time, up to the final one.
import { epochOfSlot, slotAt } from '#core/chain-time.ts'
import { errorMessage } from '#core/error-message.ts'
import type { Clock } from '#runtime/clock.ts'
import { withdrawalsFrom } from '#sources/beacon/block-ssz.ts'
import { type Beacon, BeaconError, UnknownForkError } from '#sources/beacon/client.ts'
import { epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { buildsOnPayload } from '#sources/beacon/payload-status.ts'
import { View } from '#sources/beacon/ssz.ts'
import { BlockFollower, type KnownBlock } from '../../chain/block-follower.ts'
import { type ChainCaller, ChainProcessError } from '../../chain/chain-process.ts'
import { type EpochStart, readEpochStart } from '../../chain/epoch-start.ts'
import { type CheckpointSource, type FirstStateStep, headerAt, loadFirstState } from '../../chain/first-state.ts'
import type { Root, Signatures } from '../../chain/messages.ts'
import type { Snapshots } from '../../chain/snapshots.ts'
import { type BlockWithdrawals, noWithdrawals } from '../rules/deductions.ts'
import { NodesDisagreeError, StatesNotFoundError } from './epoch-source.ts'
import { readHeadSlot } from './newest-of-nodes.ts'

export interface ComputedStatesSource {
  readonly beacon: Beacon
  readonly chain: Chain
  /** The calls of one cursor. */
  readonly process: ChainCaller
  readonly snapshots: Snapshots
  readonly clock: Clock
  readonly signatures: Signatures
  readonly checkpoint: CheckpointSource | undefined
  /** Epochs that are kept after a requested one, until it is final. */
  readonly aheadMax?: number | undefined
  /** Epochs between two snapshots. Undefined: none are saved. */
  readonly snapshotEvery: number | undefined
}

/** What takes long when a server starts, or continues after an interruption. Or what makes its next start take longer. */
export interface ComputingStep {
  readonly name: FirstStateStep | 'computing states' | 'the last snapshot was not saved'
  /** Why it was not saved. */
  readonly reason?: string
  /** Of `computing states`: the newest computed slot, and the slot that is the goal. */
  readonly slot?: number
  readonly until?: number
}

const aheadMaxDefault = 24

export class ComputedStates {
  readonly #source: ComputedStatesSource
  readonly #aheadMax: number
  #signal = new AbortController().signal
  #blocks: BlockFollower | undefined
  /** The newest slot that the nodes are known to have reached. */
  #headSlot = 0
  /** From this epoch on, starts can be read. */
  #from = 0
  readonly #starts = new Map<number, EpochStart>()
  /** Since Gloas: the withdrawals that a block deducts, by its root. */
  readonly #withdrawals = new Map<Root, BlockWithdrawals>()
  /** Why the last snapshot could not be saved. */
  #snapshotProblem: string | undefined
  /** While finality is missing for long: the parents of the blocks that are not kept. */
  #parents: Map<Root, Root> | undefined
  /** After that: the roots of the blocks up to a final one. */
  #final: { readonly epoch: number; readonly roots: ReadonlySet<Root> } | undefined

  #step: ComputingStep | undefined

  /** The last final block that all nodes have. */
  #agreed: Root | undefined

  constructor(source: ComputedStatesSource) {
    this.#source = source
    this.#aheadMax = source.aheadMax ?? aheadMaxDefault
  }

  setSignal(signal: AbortSignal): void {
    this.#signal = signal
  }

  /** Undefined: nothing that takes long. */
  get step(): ComputingStep | undefined {
    if (this.#step) return this.#step
    if (this.#snapshotProblem !== undefined)
      return { name: 'the last snapshot was not saved', reason: this.#snapshotProblem }
    if (!this.#blocks || this.#blocks.isAtHead) return undefined
    return { name: 'computing states', slot: this.#blocks.tip.slot, until: this.#headSlot }
  }

  get blocks(): BlockFollower {
    if (!this.#blocks) throw new Error('no state is loaded')
    return this.#blocks
  }

  /** From this epoch on, starts can be computed without another state. Undefined: no state is loaded. */
  get from(): number | undefined {
    return this.#blocks && this.#from
  }

  start(epoch: number): EpochStart {
    const start = this.#starts.get(epoch)
    if (!start) throw new BeaconError(`the state at the start of epoch ${epoch} is not computed yet`)
    return start
  }

  withdrawalsOf(root: Root): BlockWithdrawals | undefined {
    return this.#withdrawals.get(root)
  }

  /** Has computed states from this epoch on, and forgets earlier ones. The epochs before it are stored. */
  async startAt(epoch: number): Promise<void> {
    await this.beginBy(epoch)
    await this.#saveSnapshot(epoch)
    await this.#forgetBefore(epoch)
  }

  /** Has computed states from this epoch on, or from an earlier one. */
  async beginBy(epoch: number): Promise<void> {
    if (this.#blocks && epoch >= this.#from) {
      const tip = epochAt(this.#source.chain.rules, this.#blocks.tip.slot)
      const snapshot = (await this.#source.snapshots.newest(epoch))?.epoch ?? 0
      if (epoch <= tip || snapshot <= tip) return
    }
    await this.#load(epoch)
  }

  /** The chain process holds no states any more. The next epoch begins again from a snapshot. */
  startAgain(): void {
    this.#blocks = undefined
    this.#starts.clear()
    this.#withdrawals.clear()
    this.#parents = undefined
  }

  async #load(epoch: number): Promise<void> {
    const { beacon, chain, process, clock, signatures } = this.#source
    const onStep = (name: FirstStateStep) => {
      this.#step = { name }
    }
    const source = { ...this.#source, rules: chain.rules, onStep }
    const loaded = await loadFirstState(source, epoch, this.#signal).finally(() => {
      this.#step = undefined
    })
    if (!loaded) throw new StatesNotFoundError(`no snapshot and no node has a state at the start of epoch ${epoch}`)
    this.startAgain()
    this.#blocks = new BlockFollower({ beacon, chain, process, clock, signatures }, loaded.block, loaded.finalized)
    this.#from = epochOfSlot(chain.rules, loaded.slot + chain.rules.slotsPerEpoch - 1)
  }

  async #saveSnapshot(epoch: number): Promise<void> {
    const { snapshots, process, snapshotEvery } = this.#source
    const start = this.#starts.get(epoch)
    if (!start || snapshotEvery === undefined) return
    const newest = await snapshots.newest(epoch)
    if (newest && epoch < newest.epoch + snapshotEvery) return
    try {
      await snapshots.save(process, { epoch, root: start.block.root }, start.stateRoot)
      this.#snapshotProblem = undefined
    } catch (error) {
      if (error instanceof ChainProcessError) throw error
      // Such as a full disk. Epochs are stored all the same, and it is tried again with the next segment.
      this.#snapshotProblem = errorMessage(error)
    }
  }

  /** Saves the last epoch start that is stored, for the next start of the server. */
  async saveLast(): Promise<void> {
    const start = this.#starts.get(this.#from)
    const { snapshots, process } = this.#source
    if (start && (await snapshots.newest(this.#from))?.epoch !== this.#from)
      await snapshots.save(process, { epoch: this.#from, root: start.block.root }, start.stateRoot)
  }

  async #forgetBefore(epoch: number): Promise<void> {
    const { rules } = this.#source.chain
    this.blocks.dropBefore(firstSlotAt(rules, Math.max(0, epoch - 1)))
    for (const at of this.#starts.keys()) if (at < epoch) this.#starts.delete(at)
    for (const root of this.#withdrawals.keys()) if (!this.blocks.has(root)) this.#withdrawals.delete(root)
    if (this.blocks.tip.slot > firstSlotAt(rules, epoch)) await this.#source.process.call('dropBefore', { epoch })
    this.#from = epoch
  }

  /**
   * Processes blocks until the computed states call an epoch final. Returns false if it is not by then, in milliseconds of
   * the monotonic clock.
   */
  async requireFinal(epoch: number, untilMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    const { chain, clock } = this.#source
    // An epoch is final two epochs later at the earliest, so the newest block need not be requested before that.
    this.raiseHead(firstSlotAt(chain.rules, epoch + 2))
    while (!this.#isFinal(epoch)) {
      this.#signal.throwIfAborted()
      if (clock.monotonicMs() >= untilMs) return false
      if (this.blocks.isAtHead && (await this.#isFinalAfterHead(epoch))) return true
      if (this.blocks.isAtHead) this.raiseHead(await readHeadSlot(this.#source, this.#signal))
      const { tip, finalized } = this.blocks
      const { unknownFork } = chain.rules
      if (this.blocks.isAtHead && unknownFork && this.#headSlot >= this.#lastKnownSlot)
        throw new UnknownForkError(unknownFork)
      if (this.blocks.isAtHead)
        throw new BeaconError(
          `the nodes call epoch ${epoch} final, but the states up to slot ${tip.slot} only epoch ${finalized.epoch}`,
        )
      if (epochAt(chain.rules, tip.slot) > epoch + this.#aheadMax) await this.#searchFinality(epoch)
      else await this.advance()
    }
    return true
  }

  /** Throws if a node has another block than the computed states at the start of an epoch that these call final. */
  async requireAgreement(epoch: number): Promise<void> {
    const { root } = this.blocks.epochStart(epoch)
    const slot = this.blocks.get(root)?.slot
    const nodes = this.#source.beacon.each()
    if (slot === undefined || nodes.length < 2 || this.#agreed === root) return
    const roots = await Promise.all(
      nodes.map((node) =>
        node.ask({ path: `/eth/v1/beacon/headers/${slot}` }, (reply) => headerAt(reply, slot)?.root, this.#signal),
      ),
    )
    const at = roots.findIndex((found) => found !== undefined && found !== root)
    if (at >= 0)
      throw new NodesDisagreeError(
        `the block of slot ${slot} is ${root} in the final chain up to epoch ${epoch}, but ${roots[at]} according to ` +
          `${nodes[at]?.name}: nothing is stored until the nodes agree. Remove the node that is on the wrong chain`,
      )
    this.#agreed = root
  }

  #isFinal(epoch: number): boolean {
    const { finalized, tip } = this.blocks
    if (this.#parents) return false
    if (finalized.epoch >= epoch) return true
    if (!this.#final || this.#final.epoch < epoch) return false
    const hasBlocks = (this.blocks.get(tip.root)?.slot ?? 0) >= firstSlotAt(this.#source.chain.rules, epoch + 1)
    return hasBlocks && this.#final.roots.has(this.blocks.epochStart(epoch).root)
  }

  /** Processes the next blocks without keeping them. When the epoch is final, begins again from the snapshot. */
  async #searchFinality(epoch: number): Promise<void> {
    const { chain, process } = this.#source
    this.#parents ??= new Map()
    await this.blocks.advance(this.#signal)
    for (const { root, parentRoot } of this.blocks.branch()) this.#parents.set(root, parentRoot)
    const { finalized, tip } = this.blocks
    if (finalized.epoch >= epoch) {
      const roots = new Set<Root>()
      for (let root: Root | undefined = finalized.root; root !== undefined; root = this.#parents.get(root))
        roots.add(root)
      this.#final = { epoch: finalized.epoch, roots }
      return this.#load(this.#from)
    }
    const kept = epochAt(chain.rules, tip.slot) - 1
    this.blocks.dropBefore(firstSlotAt(chain.rules, kept))
    await process.call('dropBefore', { epoch: kept })
  }

  /** The epoch of the newest block has ended, and its votes make an epoch final although no block has followed yet. */
  async #isFinalAfterHead(epoch: number): Promise<boolean> {
    const { chain, process, clock } = this.#source
    const { rules, identity } = chain
    const next = epochAt(rules, this.blocks.tip.slot) + 1
    const hasEnded = slotAt(identity, clock.now()) >= firstSlotAt(rules, next)
    if (!hasEnded || next === rules.unknownFork?.epoch) return false
    const id = this.blocks.epochStart(next)
    await process.call('advance', id)
    const start = await readEpochStart(process, id, rules, this.#starts.get(next - 1))
    this.#starts.set(next, start)
    return start.finalized.epoch >= epoch
  }

  /** Processes the blocks of the next slots, and reads the epoch starts up to them. */
  async advance(): Promise<void> {
    await this.blocks.advance(this.#signal)
    for (const block of this.blocks.branch()) await this.#readWithdrawals(block)
    await this.#readStarts()
  }

  /** Processes all blocks, and keeps those since this epoch, but not much more than those that are not final. */
  async advanceTo(headSlot: number, epoch: number): Promise<void> {
    this.raiseHead(headSlot)
    while (!this.blocks.isAtHead) {
      this.#signal.throwIfAborted()
      await this.advance()
      const kept = Math.min(epoch, epochAt(this.#source.chain.rules, this.blocks.tip.slot) - this.#aheadMax)
      if (kept > this.#from) await this.#forgetBefore(kept)
    }
  }

  /** Reads the epoch starts up to the newest block, while the chain process holds them. */
  async #readStarts(): Promise<void> {
    const { process, chain } = this.#source
    const newest = this.blocks.get(this.blocks.tip.root)?.slot ?? Number.NEGATIVE_INFINITY
    for (let epoch = this.#from; firstSlotAt(chain.rules, epoch) <= newest; epoch++) {
      const id = this.blocks.epochStart(epoch)
      if (this.#starts.get(epoch)?.block.root === id.root) continue
      this.#starts.set(epoch, await readEpochStart(process, id, chain.rules, this.#starts.get(epoch - 1)))
      // The first state of a node may not be there any more after a restart. A block has proven it by now.
      if (!(await this.#source.snapshots.newest(epoch))) await this.#saveSnapshot(epoch)
    }
  }

  /** The state after a Gloas block has what the block deducted, or what an earlier one did if this one deducts nothing. */
  async #readWithdrawals(block: KnownBlock): Promise<void> {
    if (!block.bid || this.#withdrawals.has(block.root)) return
    const parent = this.blocks.get(block.parentRoot)
    const deducts = !parent || buildsOnPayload(block, parent)
    const fields = ['payloadExpectedWithdrawals']
    const read = async () => {
      const { payloadExpectedWithdrawals } = await this.#source.process.call('stateFields', {
        root: block.root,
        fields,
      })
      return withdrawalsFrom(new View(payloadExpectedWithdrawals ?? new Uint8Array()))
    }
    this.#withdrawals.set(block.root, deducts ? await read() : noWithdrawals)
  }

  /** The nodes have reached this slot. */
  raiseHead(slot: number): void {
    this.#headSlot = Math.min(Math.max(this.#headSlot, slot), this.#lastKnownSlot)
    this.blocks.setHead(this.#headSlot)
  }

  /** The last slot before a fork that is not known. */
  get #lastKnownSlot(): number {
    const { rules } = this.#source.chain
    return rules.unknownFork ? firstSlotAt(rules, rules.unknownFork.epoch) - 1 : Number.POSITIVE_INFINITY
  }
}
