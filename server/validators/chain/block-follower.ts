// Sends the blocks of a chain from the nodes to the chain process, and remembers them until they are not needed any more.
//
// 1. A block counts only after the chain process has accepted it: its state is then proven by its root.
// 2. If a node returns a block that is refused, every other node is asked for the block of that slot.
// 3. If the chain process ends while it processes a block, other nodes are preferred to the one that has returned it.
// 4. Blocks are requested by slot. If one does not follow from the known blocks, its ancestors are requested by root.
import { slotAt } from '#core/chain-time.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Block } from '#sources/beacon/block.ts'
import { type Beacon, BeaconError, ContradictionError } from '#sources/beacon/client.ts'
import { epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import type { BeaconReply, Chain } from '#sources/beacon/endpoint.ts'
import { InvalidResponseError } from '#sources/beacon/json.ts'
import { readBlock } from '#sources/beacon/read-block.ts'
import { View } from '#sources/beacon/ssz.ts'
import { blockTimeoutMs, type ChainCaller, ChainProcessError } from './chain-process.ts'
import { libraryVersion } from './library-version.ts'
import type {
  AcceptedBlock,
  BlockId,
  Checkpoint,
  EpochStartId,
  ProcessBlockInput,
  Root,
  Signatures,
} from './messages.ts'

const blockBytesMax = 16 * 1024 * 1024
/** Of the state root in a signed block. */
const stateRootAt = 100 + 8 + 8 + 32
/** Requests at once while catching up. */
const blocksAtOnce = 16
/** Blocks of a branch that are requested by root, until one is known. More are a reason to start again. */
const branchMax = 64

/** A block that the chain process has accepted. */
export interface KnownBlock extends Block {
  readonly justified: Checkpoint
  readonly finalized: Checkpoint
}

export interface BlockFollowerSource {
  readonly beacon: Beacon
  readonly chain: Chain
  readonly process: ChainCaller
  readonly clock: Clock
  readonly signatures: Signatures
}

type Ask = Beacon['request']

interface FoundBlock {
  readonly bytes: Uint8Array
  readonly block: Block
  /** The node that has returned it. */
  readonly node: string
}

export class BlockFollower {
  readonly #source: BlockFollowerSource
  readonly #blocks = new Map<Root, KnownBlock>()
  /** The block of the first state, which was not processed. */
  readonly #anchor: BlockId
  #tip: BlockId
  #finalized: Checkpoint
  /** The newest slot of the nodes. */
  #headSlot: number

  /** `anchor`: the latest block of the state that the chain process has loaded. */
  constructor(source: BlockFollowerSource, anchor: BlockId, finalized: Checkpoint) {
    this.#source = source
    this.#anchor = anchor
    this.#tip = anchor
    this.#finalized = finalized
    this.#headSlot = anchor.slot
  }

  /** The newest block, with the last slot that was asked for. */
  get tip(): BlockId {
    return this.#tip
  }

  /** As of the newest block. */
  get finalized(): Checkpoint {
    return this.#finalized
  }

  /** The nodes have no block after the newest known one. */
  get isAtHead(): boolean {
    return this.#tip.slot >= this.#headSlot
  }

  setHead(slot: number): void {
    this.#headSlot = slot
  }

  /** Processes the blocks of the next slots, up to the newest slot of the nodes. */
  async advance(signal: AbortSignal): Promise<void> {
    const from = this.#tip.slot + 1
    const slots = Array.from({ length: Math.min(blocksAtOnce, this.#headSlot + 1 - from) }, (_, at) => from + at)
    const found = await Promise.all(slots.map((slot) => this.#request(this.#source.beacon.request, slot, signal)))
    const read = found.filter((block) => block !== undefined)
    for (const block of read) await this.#add(block, signal)
    // Only empty slots: the next call continues after them.
    if (read.length === 0 && slots.length > 0) this.#tip = { ...this.#tip, slot: slots.at(-1) as number }
  }

  /** From the block after the first state to the newest block. In ascending order. */
  branch(): KnownBlock[] {
    const branch: KnownBlock[] = []
    for (let block = this.#blocks.get(this.#tip.root); block; block = this.#blocks.get(block.parentRoot))
      branch.push(block)
    return branch.reverse()
  }

  /** Names the start of an epoch on the branch of the newest block. */
  epochStart(epoch: number): EpochStartId {
    const slot = firstSlotAt(this.#source.chain.rules, epoch)
    const root = this.branch().findLast((block) => block.slot <= slot)?.root ?? this.#anchor.root
    return { epoch, root }
  }

  has(root: Root): boolean {
    return this.#blocks.has(root)
  }

  get(root: Root): KnownBlock | undefined {
    return this.#blocks.get(root)
  }

  /** Forgets the blocks before a slot. */
  dropBefore(slot: number): void {
    for (const [root, block] of this.#blocks)
      if (block.slot < slot && root !== this.#tip.root) this.#blocks.delete(root)
  }

  /** Processes a block, and before it the ancestors that are not known. */
  async #add(found: FoundBlock, signal: AbortSignal): Promise<void> {
    const branch = [found]
    while (!this.#isKnown((branch[0] as FoundBlock).block.parentRoot)) {
      if (branch.length > branchMax)
        throw new BeaconError(
          `slot ${found.block.slot}: the last ${branchMax} blocks before it do not follow from the known block of slot ${this.#tip.slot}`,
        )
      const { parentRoot, slot } = (branch[0] as FoundBlock).block
      const parent = await this.#request(this.#source.beacon.request, parentRoot, signal)
      if (!parent) throw new BeaconError(`no node has the block ${parentRoot}, the parent of the one of slot ${slot}`)
      branch.unshift(parent)
    }
    for (const next of branch) await this.#process(next, signal)
  }

  #isKnown = (root: Root): boolean => root === this.#anchor.root || this.#blocks.has(root)

  async #process(found: FoundBlock, signal: AbortSignal): Promise<void> {
    const { beacon } = this.#source
    let refusal = await this.#tryBlock(found)
    for (const node of refusal ? beacon.each() : []) {
      // Once, and not if it is distrusted: the other blocks that it has returned are refused one after another.
      const other = await this.#request(node.ask, found.block.slot, signal)
      if (!other) continue
      const otherRefusal = await this.#tryBlock(other)
      if (!otherRefusal) return
      if (beacon.each().length > 1) node.distrust(otherRefusal)
      refusal = otherRefusal
    }
    if (refusal)
      throw new ContradictionError(
        `${refusal}; block ${found.block.root} from ${found.node}. If the nodes follow another version of the specification than ` +
          `@lodestar/state-transition ${libraryVersion()}, set \`states: node\` for the network`,
      )
  }

  /** Returns why the block is refused. */
  async #tryBlock({ bytes, block, node }: FoundBlock): Promise<string | undefined> {
    const { chain, process, clock, signatures } = this.#source
    const { rules, identity } = chain
    const parent = this.#blocks.get(block.parentRoot)
    const parentSlot = parent?.slot ?? this.#anchor.slot
    const input: ProcessBlockInput = {
      ...{ bytes, root: block.root, signatures },
      newestSlot: slotAt(identity, clock.now()) + 1,
    }
    const timeoutMs = blockTimeoutMs(epochAt(rules, block.slot) - epochAt(rules, parentSlot))
    const stateRoot = `0x${Buffer.from(bytes.subarray(stateRootAt, stateRootAt + 32)).toString('hex')}`
    const about = `slot ${block.slot}, block ${block.root} with the state root ${stateRoot}, from ${node}`
    const result = await process.call('processBlock', input, { timeoutMs, about }).catch((error: unknown) => {
      if (error instanceof ChainProcessError) this.#preferOthers(node, error.message)
      throw error
    })
    if (result.is === 'refused') return result.message
    this.#accept(block, result, parent)
    return undefined
  }

  #preferOthers(name: string, reason: string): void {
    const nodes = this.#source.beacon.each()
    if (nodes.some((node) => node.name !== name && !node.isDistrusted()))
      nodes.find((node) => node.name === name)?.distrust(reason)
  }

  #accept(block: Block, { justified, finalized }: AcceptedBlock, parent: KnownBlock | undefined): void {
    const known: KnownBlock = { ...block, justified, finalized }
    const { rules } = this.#source.chain
    const { slot, root } = block
    const forkSlot = firstSlotAt(rules, rules.forkEpochs.gloas)
    const shares = block.bid && slot > forkSlot && slot % rules.historicalRoots === 0 && (parent?.slot ?? 0) < forkSlot
    this.#blocks.set(root, shares ? { ...known, sharesFirstPayloadBit: true } : known)
    this.#tip = { slot, root }
    this.#finalized = finalized
  }

  /** Undefined: the slot is empty, or no node has the block. */
  #request(ask: Ask, id: number | Root, signal: AbortSignal): Promise<FoundBlock | undefined> {
    const read = (reply: BeaconReply, node: string): FoundBlock | undefined => {
      if (reply.is !== 'ssz') throw new InvalidResponseError('the block is not SSZ')
      const { rules } = this.#source.chain
      const bytes = reply.bytes.slice()
      // A signed block begins with the offset of the message and the signature; the message begins with the slot.
      const slot = new View(bytes).u64(100)
      if (typeof id === 'number' && slot > id)
        throw new InvalidResponseError(`requested the block of slot ${id}, got that of ${slot}`)
      // For an empty slot, some nodes return an earlier block.
      if (typeof id === 'number' && slot < id) return undefined
      const block = readBlock({ ...reply, bytes }, slot, rules)
      if (typeof id === 'string' && block.root !== id)
        throw new InvalidResponseError(`requested the block ${id}, got ${block.root}`)
      return { bytes, block, node }
    }
    return ask({ path: `/eth/v2/beacon/blocks/${id}`, accept: 'either', bytesMax: blockBytesMax }, read, signal)
  }
}
