// A simulated network whose head moves on request, with reorganizations. While the head is in the slots of a branch, the
// network has the blocks and states of that branch; at the end of the branch it returns to the simulated chain.
//   const network = new MovingHead(simulateNetwork('seed'), { branches: [{ from: 41, until: 43 }] })
//   network.advance(8)
//
// 1. Finality follows the head: in epoch H, at most epoch H − 2 is finalized.
// 2. A branch never finalizes an epoch that the chain does not finalize at the same slot.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { GloasParts } from '#simulator/beacon/gloas/gloas-records.ts'
import type { NetworkPlan } from '#simulator/beacon/plan.ts'
import {
  type EpochRecord,
  genesisRoot,
  type SimulatedBlock,
  type SimulatedNetwork,
  type Snapshot,
} from '#simulator/beacon/records.ts'
import { type Branch, Simulation } from '#simulator/beacon/simulate.ts'
import { Truth } from '#simulator/beacon/truth.ts'
import { type ChainEvent, type KnownTopics, type NetworkWithEvents, sendEvents } from './chain-events.ts'
import type { CompletedNetwork } from './simulate-network.ts'

export interface MovingHeadOptions {
  /** Default: 0, the slot of genesis. */
  readonly headSlot?: number
  /** Must not overlap. */
  readonly branches?: readonly Branch[]
  /** Of events. Default: `now`. */
  readonly topics?: KnownTopics
}

type Chain = Pick<CompletedNetwork, 'plan' | 'scenario' | 'genesisUnix' | 'headSlot' | 'epochs'>

interface SimulatedBranch extends Branch {
  /** By epoch. */
  readonly epochs: ReadonlyMap<number, EpochRecord>
}

export class MovingHead implements SimulatedNetwork, NetworkWithEvents {
  readonly plan: NetworkPlan
  readonly genesisUnix: number
  readonly topics: KnownTopics
  readonly #chain: Chain
  readonly #branches: readonly SimulatedBranch[]
  readonly #blocksByRoot: ReadonlyMap<string, SimulatedBlock>
  readonly #listeners = new Set<(event: ChainEvent) => void>()
  #headSlot: number

  constructor(chain: Chain, { headSlot = 0, branches = [], topics = 'now' }: MovingHeadOptions = {}) {
    this.plan = chain.plan
    this.topics = topics
    this.genesisUnix = chain.genesisUnix
    this.#chain = chain
    this.#branches = simulateBranches(chain, branches)
    const records = [...chain.epochs, ...this.#branches.flatMap(({ epochs }) => [...epochs.values()])]
    this.#blocksByRoot = new Map(
      records.flatMap(({ blocks }) => [...blocks.values()].map((block) => [block.root, block])),
    )
    this.#headSlot = headSlot
  }

  /** The current slot. It may be empty. */
  get headSlot(): number {
    return this.#headSlot
  }

  /** Includes the next epoch, because its duties are known. */
  epoch(epoch: number): EpochRecord | undefined {
    return epoch <= this.#epochOf(this.#headSlot) + 1 ? this.#epochAt(epoch, this.#headSlot) : undefined
  }

  /** Also finds the blocks of branches that are no longer canonical. */
  blockByRoot(root: string): SimulatedBlock | undefined {
    const block = this.#blocksByRoot.get(root)
    return block && block.slot <= this.#headSlot ? block : undefined
  }

  /** Moves the head slot by slot and emits the events of each. */
  advance(slots = 1): void {
    for (let count = 0; count < slots; count++) {
      if (this.#headSlot >= this.#chain.headSlot) throw new Error('the simulated chain has no further slots')
      const before = this.#headSlot
      this.#headSlot += 1
      for (const event of this.#eventsBetween(before, this.#headSlot)) {
        for (const listener of this.#listeners) listener(event)
      }
    }
  }

  get listenerCount(): number {
    return this.#listeners.size
  }

  /** Returns a function that ends the subscription. */
  subscribe(listener: (event: ChainEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  intercept(request: IncomingMessage, response: ServerResponse): boolean {
    const isAboutEvents = request.url?.startsWith('/eth/v1/events') === true
    if (isAboutEvents) sendEvents(this, request, response)
    return isAboutEvents
  }

  #epochOf(slot: number): number {
    return Math.floor(slot / this.plan.slotsPerEpoch)
  }

  /** The record as it is while the head is at this slot. */
  #epochAt(epoch: number, headSlot: number): EpochRecord | undefined {
    const branch = this.#branches.find(({ from, until }) => from <= headSlot && headSlot < until)
    return branch?.epochs.get(epoch) ?? this.#chain.epochs[epoch]
  }

  /** The last block at or before the slot, while the head is at `headSlot`. Undefined for genesis. */
  #blockUpTo(slot: number, headSlot: number): SimulatedBlock | undefined {
    for (let at = slot; at > 0; at--) {
      const block = this.#epochAt(this.#epochOf(at), headSlot)?.blocks.get(at)
      if (block) return block
    }
    return undefined
  }

  #rootAt(slot: number, headSlot: number): string {
    return this.#blockUpTo(slot, headSlot)?.root ?? genesisRoot
  }

  #eventsBetween(before: number, now: number): ChainEvent[] {
    const { slotsPerEpoch } = this.plan
    const [oldHead, newHead] = [this.#blockUpTo(before, before), this.#blockUpTo(now, now)]
    // A payload that was too late for its slot arrives in the next one.
    const late = oldHead?.slot === before && oldHead.gloas?.delivery === 'late' ? payloadEvents(oldHead) : []
    if (!newHead || newHead.root === oldHead?.root) return late
    const events: ChainEvent[] = [...late]
    if (oldHead && this.#rootAt(oldHead.slot, now) !== oldHead.root) {
      let common = Math.min(oldHead.slot, newHead.slot)
      while (this.#rootAt(common, before) !== this.#rootAt(common, now)) common -= 1
      events.push({ topic: 'chain_reorg', oldHead, newHead, depth: oldHead.slot - common })
    }
    const epoch = this.#epochOf(newHead.slot)
    const dependentRoot = (of: number) => this.#rootAt(of * slotsPerEpoch - 1, now)
    const head = {
      block: newHead,
      isEpochTransition: epoch !== this.#epochOf(oldHead?.slot ?? 0),
      previousDependentRoot: dependentRoot(epoch - 1),
      currentDependentRoot: dependentRoot(epoch),
    }
    const isFull = !newHead.gloas || newHead.gloas.delivery === 'full'
    if (newHead.gloas) events.push({ topic: 'execution_payload_bid', block: newHead, bid: newHead.gloas.bid })
    events.push({ topic: 'head', ...head, payload: isFull ? 'full' : 'empty' })
    events.push({ topic: 'head_v2', ...head, payload: newHead.gloas ? 'empty' : 'full' })
    if (newHead.gloas && isFull) events.push(...payloadEvents(newHead), { topic: 'head_v2', ...head, payload: 'full' })
    const finalized = this.#stateOf(newHead, now)?.finalized ?? 0
    if (oldHead && finalized > (this.#stateOf(oldHead, before)?.finalized ?? 0)) {
      const root = this.#rootAt(finalized * slotsPerEpoch, now)
      events.push({ topic: 'finalized_checkpoint', epoch: finalized, root })
    }
    return events
  }

  #stateOf({ slot }: SimulatedBlock, headSlot: number): Snapshot | undefined {
    return this.#epochAt(this.#epochOf(slot), headSlot)?.states[slot % this.plan.slotsPerEpoch]
  }
}

/** The payload of a block was published. */
const payloadEvents = (block: SimulatedBlock): ChainEvent[] =>
  block.gloas
    ? (['execution_payload', 'execution_payload_available'] as const).map((topic) => ({
        ...{ topic, block, bid: (block.gloas as GloasParts).bid },
      }))
    : []

/** Simulates the chain once more, and each branch from the first epoch in which it differs. */
function simulateBranches({ scenario, epochs }: Chain, branches: readonly Branch[]): SimulatedBranch[] {
  const { slotsPerEpoch } = scenario.plan
  const chain = new Simulation(scenario, new Truth())
  return branches
    .toSorted((a, b) => a.from - b.from)
    .map((branch) => {
      while (chain.epoch < Math.floor(branch.from / slotsPerEpoch)) chain.simulateEpoch()
      const simulation = new Simulation({ ...scenario, branch }, new Truth(), chain.saveData())
      const records = new Map<number, EpochRecord>()
      while (simulation.epoch * slotsPerEpoch < branch.until) {
        const record = simulation.simulateEpoch()
        records.set(record.epoch, record)
      }
      for (const [epoch, { states }] of records) refuseOtherFinality(branch, states, epochs[epoch])
      return { ...branch, epochs: records }
    })
}

function refuseOtherFinality({ from }: Branch, states: readonly Snapshot[], chain: EpochRecord | undefined): void {
  const other = states.find(({ finalized }, at) => finalized > (chain?.states[at]?.finalized ?? 0))
  if (other)
    throw new Error(
      `the branch of slot ${from} finalizes epoch ${other.finalized}, the chain does not: move the branch`,
    )
}
