// The states of a network from its nodes (`states: node`): the whole state at the first slot of each epoch, as SSZ. The
// nodes must have all of them. Committees and proposers are requested as lists.
import type { Block } from '#sources/beacon/block.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { type BeaconQueries, createBeaconQueries, type NodeState } from './beacon-queries.ts'
import type { EpochData } from './epoch.ts'
import type { EpochSource, PendingEpochs, States } from './epoch-source.ts'
import { NodeBlocks } from './node-blocks.ts'
import { PayloadReader } from './payloads.ts'

export class NodeStates implements States {
  readonly #beacon: Beacon
  #final: NodeEpochs | undefined
  #pending: NodeEpochs | undefined

  constructor(beacon: Beacon) {
    this.#beacon = beacon
  }

  async readFinal<T>(first: number, signal: AbortSignal, work: (epochs: EpochSource) => Promise<T>): Promise<T> {
    // What is requested again is read again: the node may have been repaired.
    const known = this.#final && first > this.#final.from ? this.#final : undefined
    const epochs = await this.#open(known, first, signal)
    // What has been read may be why the work fails.
    this.#final = undefined
    const result = await work(epochs)
    this.#final = epochs
    return result
  }

  async readPending<T>(first: number, signal: AbortSignal, work: (epochs: PendingEpochs) => Promise<T>): Promise<T> {
    const epochs = await this.#open(this.#pending, first, signal)
    this.#pending = undefined
    await epochs.followHead(first)
    const result = await work(epochs)
    this.#pending = epochs
    return result
  }

  async #open(known: NodeEpochs | undefined, first: number, signal: AbortSignal): Promise<NodeEpochs> {
    const { rules } = await this.#beacon.chain(signal)
    const queries = createBeaconQueries(this.#beacon, rules, signal)
    const epochs = known?.rules === rules ? known : new NodeEpochs(rules)
    epochs.startAt(first, queries)
    return epochs
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

class NodeEpochs implements PendingEpochs {
  readonly rules: ConsensusRules
  readonly #states = new Map<number, NodeState>()
  readonly #payloads: PayloadReader
  #blocks = new NodeBlocks()
  #queries: BeaconQueries | undefined
  /** The first epoch that can be read. */
  from = 0

  constructor(rules: ConsensusRules) {
    this.rules = rules
    this.#payloads = new PayloadReader(rules)
  }

  get #source(): BeaconQueries {
    if (!this.#queries) throw new Error('no node was chosen')
    return this.#queries
  }

  startAt(epoch: number, queries: BeaconQueries): void {
    this.#queries = queries
    this.from = epoch
    this.#blocks.dropBefore(firstSlotAt(this.rules, Math.max(0, epoch - 1)))
    this.#payloads.dropBefore(firstSlotAt(this.rules, epoch))
    for (const at of this.#states.keys()) if (at < epoch) this.#states.delete(at)
  }

  /** Reads the blocks up to the newest one. After a reorganization, everything is read again. */
  async followHead(first: number): Promise<void> {
    const head = await this.#source.head()
    if (!head) throw new BeaconError('the node did not return its newest block')
    const from = firstSlotAt(this.rules, first)
    const { unknownFork } = this.rules
    const end = unknownFork ? firstSlotAt(this.rules, unknownFork.epoch) : Number.POSITIVE_INFINITY
    const readAll = () => this.#blocks.read(this.#source, from, Math.min(end, head.slot + 1))
    // A block of another branch does not link to the known ones.
    const known = await readAll().catch((error: unknown) => {
      if (!(error instanceof BeaconError)) throw error
      return []
    })
    if (known.at(-1)?.root === head.root || (head.slot >= end && known.length > 0)) return
    this.#blocks = new NodeBlocks()
    this.#states.clear()
    if ((await readAll()).at(-1)?.root !== head.root)
      throw new BeaconError('the chain was reorganized while its newest blocks were read')
  }

  blocksFrom(slot: number): readonly Block[] {
    return this.#blocks.known(slot)
  }

  async read(epoch: number): Promise<EpochData> {
    const [first, end] = [firstSlotAt(this.rules, epoch), firstSlotAt(this.rules, epoch + 2)]
    const [now, next, after] = [
      await this.#stateAt(epoch),
      await this.#stateAt(epoch + 1),
      await this.#stateAt(epoch + 2),
    ]
    const blocks = await this.#blocks.read(this.#source, first, end)
    const hasNext = blocks.some(({ slot }) => slot >= firstSlotAt(this.rules, epoch + 1))
    const child = hasNext ? undefined : await this.#blocks.findFrom(this.#source, end)
    const committees = await this.#source.committees(first, epoch)
    const proposers = await this.#source.proposers(epoch)
    if (!committees || !proposers)
      throw new BeaconError(`the node did not return the committees and proposers of epoch ${epoch}`)
    return {
      ...{ epoch, blocks, committees, proposers },
      ...(await this.#linksOf(epoch, blocks, child)),
      sync: { now: now.syncCommittee, next: next.syncCommittee },
      atStart: now.validators,
      atEnd: next.validators,
      finalizedEpoch: after.finalizedEpoch,
    }
  }

  /** Since Gloas: what the blocks around the epoch and the envelopes tell. */
  async #linksOf(epoch: number, blocks: readonly Block[], child: Block | undefined) {
    const [first] = blocks
    const startsLate = first?.bid && first.slot > firstSlotAt(this.rules, epoch)
    const parent = startsLate ? await this.#blocks.parentOf(this.#source, first) : undefined
    const links = { ...(parent && { parent }), ...(child && { child }) }
    if (!blocks.at(-1)?.bid) return links
    return { ...links, ...(await this.#payloads.read(this.#source, this.#blocks, epoch, { ...links, blocks })) }
  }

  async #stateAt(epoch: number): Promise<NodeState> {
    const slot = firstSlotAt(this.rules, epoch)
    const state = this.#states.get(epoch) ?? (await this.#source.state(slot, this.#states.get(epoch - 1)?.validators))
    if (!state)
      throw new BeaconError(
        `no node has the state of slot ${slot}. With states: node, a node must have the state of every epoch; use an archive node, or states: computed`,
      )
    this.#states.set(epoch, state)
    return state
  }
}
