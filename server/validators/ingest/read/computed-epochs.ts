// Final epochs from computed states (../../chain): the blocks of the nodes are sent to the chain process, and what an epoch
// needs is read from the states that it has computed.
//
// 1. `read` returns an epoch only after the computed states call it and the two epochs after it final. `readPending` returns
//    it as the branch of the newest block has it.
// 2. Epochs are read in ascending order. A request for an earlier one begins again from a snapshot or a state of a node,
//    and so does one for a much later one, if there is a snapshot between the two.
import type { Clock } from '#runtime/clock.ts'
import { withdrawalsFrom } from '#sources/beacon/block-ssz.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import { epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { buildsOnPayload } from '#sources/beacon/payload-status.ts'
import { View } from '#sources/beacon/ssz.ts'
import { BlockFollower, type KnownBlock } from '../../chain/block-follower.ts'
import type { ChainProcess } from '../../chain/chain-process.ts'
import { type EpochStart, readEpochStart } from '../../chain/epoch-start.ts'
import { loadFirstState } from '../../chain/first-state.ts'
import type { Root, Signatures } from '../../chain/messages.ts'
import type { Snapshots } from '../../chain/snapshots.ts'
import type { BlockWithdrawals } from '../rules/deductions.ts'
import { noWithdrawals } from '../rules/deductions.ts'
import { createBeaconQueries } from './beacon-queries.ts'
import type { EpochData } from './epoch.ts'
import type { EpochSource, ReadEpoch } from './epoch-reader.ts'

export interface ComputedEpochsSource {
  readonly beacon: Beacon
  readonly chain: Chain
  readonly process: ChainProcess
  readonly snapshots: Snapshots
  readonly clock: Clock
  readonly signatures: Signatures
  /** Epochs between two snapshots. */
  readonly snapshotEvery: number
}

/** Epochs that are processed ahead of a requested one, until it is final. */
const aheadMax = 24

export class ComputedEpochs implements EpochSource {
  readonly #source: ComputedEpochsSource
  #signal = new AbortController().signal
  #blocks: BlockFollower | undefined
  /** From this epoch on, starts can be read. */
  #from = 0
  readonly #starts = new Map<number, EpochStart>()
  /** Since Gloas: the withdrawals that a block deducts, by its root. */
  readonly #withdrawals = new Map<Root, BlockWithdrawals>()

  constructor(source: ComputedEpochsSource) {
    this.#source = source
  }

  withSignal(signal: AbortSignal): this {
    this.#signal = signal
    return this
  }

  /** Has computed states from this epoch on, and forgets earlier ones. The epochs before it are stored. */
  async startAt(epoch: number): Promise<void> {
    await this.beginBy(epoch)
    await this.#saveSnapshot(epoch)
    const slot = firstSlotAt(this.#source.chain.rules, epoch)
    this.#blocks?.dropBefore(firstSlotAt(this.#source.chain.rules, Math.max(0, epoch - 1)))
    for (const at of this.#starts.keys()) if (at < epoch) this.#starts.delete(at)
    for (const root of this.#withdrawals.keys()) if (!this.#blocks?.has(root)) this.#withdrawals.delete(root)
    if ((this.#blocks?.tip.slot ?? 0) > slot) await this.#source.process.call('dropBefore', { epoch })
    this.#from = epoch
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

  /** The chain process has ended: the next epoch begins again from a snapshot. */
  startAgain(): void {
    this.#blocks = undefined
    this.#starts.clear()
    this.#withdrawals.clear()
  }

  async #load(epoch: number): Promise<void> {
    this.startAgain()
    const { beacon, chain, process, snapshots, clock, signatures } = this.#source
    const loaded = await loadFirstState({ beacon, rules: chain.rules, process, snapshots }, epoch, this.#signal)
    this.#blocks = new BlockFollower({ beacon, chain, process, clock, signatures }, loaded.block, loaded.finalized)
    this.#from = Math.ceil(loaded.slot / chain.rules.slotsPerEpoch)
  }

  async #saveSnapshot(epoch: number): Promise<void> {
    const { snapshots, process, snapshotEvery } = this.#source
    const newest = await snapshots.newest(epoch)
    const start = this.#starts.get(epoch)
    if (!start || (newest && epoch < newest.epoch + snapshotEvery)) return
    await snapshots.save(process, { epoch, root: start.block.root }, start.stateRoot)
  }

  /** Processes blocks until the computed states call an epoch final. */
  async requireFinal(epoch: number): Promise<void> {
    const blocks = this.#loaded()
    const { rules } = this.#source.chain
    while (blocks.finalized.epoch < epoch) {
      this.#signal.throwIfAborted()
      if (blocks.isAtHead) await this.#readHead()
      if (blocks.isAtHead) {
        if (await this.#isFinalAfterHead(epoch)) return
        throw new BeaconError(
          `the nodes call epoch ${epoch} final, but the states up to slot ${blocks.tip.slot} only epoch ${blocks.finalized.epoch}`,
        )
      }
      if (epochAt(rules, blocks.tip.slot) > epoch + aheadMax)
        throw new BeaconError(`epoch ${epoch} is not final ${aheadMax} epochs later`)
      await this.#advance()
    }
  }

  /** The epoch of the newest block has ended, and its votes make an epoch final although no block has followed yet. */
  async #isFinalAfterHead(epoch: number): Promise<boolean> {
    const { chain, process, clock } = this.#source
    const { rules, identity } = chain
    const next = epochAt(rules, this.#loaded().tip.slot) + 1
    const slotNow = Math.floor((clock.now() / 1000 - identity.genesisUnix) / identity.slotSeconds)
    if (slotNow < firstSlotAt(rules, next)) return false
    const id = this.#loaded().epochStart(next)
    await process.call('advance', id)
    const start = await readEpochStart(process, id, rules, this.#starts.get(next - 1))
    this.#starts.set(next, start)
    return start.finalized.epoch >= epoch
  }

  async #advance(): Promise<void> {
    const blocks = this.#loaded()
    const known = blocks.tip.root
    await blocks.advance(this.#signal)
    const branch = blocks.branch()
    for (const block of branch.slice(branch.findIndex(({ root }) => root === known) + 1))
      await this.#readWithdrawals(block)
    await this.#readStarts()
  }

  /** Reads the epoch starts up to the newest block, while the chain process holds them. */
  async #readStarts(): Promise<void> {
    const blocks = this.#loaded()
    const { rules } = this.#source.chain
    const { process } = this.#source
    const newest = blocks.get(blocks.tip.root)?.slot ?? Number.NEGATIVE_INFINITY
    for (let epoch = this.#from; firstSlotAt(rules, epoch) <= newest; epoch++) {
      const id = blocks.epochStart(epoch)
      const known = this.#starts.get(epoch)
      if (known?.block.root === id.root) continue
      this.#starts.set(epoch, await readEpochStart(process, id, rules, this.#starts.get(epoch - 1)))
    }
  }

  /** The state after a Gloas block has what the block deducted, or what an earlier one did if this one deducts nothing. */
  async #readWithdrawals(block: KnownBlock): Promise<void> {
    if (!block.bid || this.#withdrawals.has(block.root)) return
    const parent = this.#loaded().get(block.parentRoot)
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

  async #readHead(): Promise<void> {
    const { beacon, chain } = this.#source
    const head = await createBeaconQueries(beacon, chain.rules, this.#signal).head()
    if (!head) throw new BeaconError('the node did not return its newest block')
    this.#loaded().setHead(head.slot)
  }

  #loaded(): BlockFollower {
    if (!this.#blocks) throw new Error('no state is loaded')
    return this.#blocks
  }

  async read(epoch: number): Promise<ReadEpoch> {
    await this.requireFinal(epoch + 2)
    return this.#epoch(epoch)
  }

  /** The epoch on the branch of the newest block, which must be two epochs later. */
  async readPending(epoch: number): Promise<ReadEpoch> {
    await this.#readHead()
    while (!this.#loaded().isAtHead) {
      this.#signal.throwIfAborted()
      await this.#advance()
    }
    return this.#epoch(epoch)
  }

  #epoch(epoch: number): ReadEpoch {
    const data = this.#dataOf(epoch, epoch + 2)
    const { rules } = this.#source.chain
    const end = firstSlotAt(rules, epoch + 2)
    const child = data.blocks.some(({ slot }) => slot >= firstSlotAt(rules, epoch + 1))
      ? undefined
      : this.#loaded()
          .branch()
          .find(({ slot }) => slot >= end)
    return {
      ...data,
      ...(child && { child }),
      boundary: { validators: data.atEnd, awaitsRewards: false },
      finalizedEpoch: this.#start(epoch + 2).finalized.epoch,
    }
  }

  async readAhead(epoch: number): Promise<Omit<EpochData, 'finalizedEpoch'>> {
    await this.requireFinal(epoch + 1)
    return this.#dataOf(epoch, epoch + 1)
  }

  /** `until`: epochs whose blocks are included, and the block of the next slot. */
  #dataOf(epoch: number, until: number): Omit<EpochData, 'finalizedEpoch'> {
    const { rules } = this.#source.chain
    const [now, next] = [this.#start(epoch), this.#start(epoch + 1)]
    const branch = this.#loaded().branch()
    const first = firstSlotAt(rules, epoch)
    const end = firstSlotAt(rules, until) + (until === epoch + 1 ? 1 : 0)
    const blocks = branch.filter(({ slot }) => slot >= first && slot < end)
    const parent =
      blocks[0]?.bid && blocks[0].slot > first ? branch.find(({ root }) => root === blocks[0]?.parentRoot) : undefined
    return {
      ...{ epoch, blocks },
      ...(parent && { parent }),
      proposers: now.proposers,
      committees: now.committees,
      sync: { now: now.sync, next: next.sync },
      atStart: now.validators,
      atEnd: next.validators,
      withdrawals: new Map(
        blocks.flatMap(({ root, slot }) => {
          const found = this.#withdrawals.get(root)
          return found ? [[slot, found] as const] : []
        }),
      ),
    }
  }

  #start(epoch: number): EpochStart {
    const start = this.#starts.get(epoch)
    if (!start) throw new BeaconError(`the state at the start of epoch ${epoch} is not computed yet`)
    return start
  }
}
