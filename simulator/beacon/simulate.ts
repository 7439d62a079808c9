// Simulates a network epoch by epoch, from a seed and a behaviour. Every epoch has its own random stream, and the state
// is plain data. So a simulation can be saved at any epoch and continued later with the same result.
import { deserialize, serialize } from 'node:v8'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import { eth } from './amounts.ts'
import { assignDuties, createDutyData, type Duties } from './assign-duties.ts'
import type { Behaviour } from './behaviour.ts'
import { BlockBuilder } from './block-builder.ts'
import { ChainState, freshChain } from './chain.ts'
import { endEpoch } from './epoch-transition.ts'
import { createPayloadData } from './gloas/build-block.ts'
import { emptyRequestsRoot } from './gloas/encode-gloas.ts'
import { upgradeToGloas } from './gloas/epoch-end.ts'
import { copyGloasState } from './gloas/gloas-state.ts'
import { drawCommitteeVotes } from './gloas/payload-votes.ts'
import type { NetworkPlan } from './plan.ts'
import { ProposalRewards } from './proposal-rewards.ts'
import {
  type EpochRecord,
  type SimulatedBlock,
  type SimulatedDeposit,
  type Snapshot,
  type VotePay,
  zeroRoot,
} from './records.ts'
import type { Truth } from './truth.ts'
import { createVotesData, Votes } from './votes.ts'

export interface NetworkScenario {
  readonly seed: string
  readonly plan: NetworkPlan
  readonly behaviour: Behaviour
  /** Leaves the chain of this seed at a slot. */
  readonly branch?: Branch
}

/** A chain that has the blocks of another one before `from`, and its own blocks in [from, until). */
export interface Branch {
  readonly from: number
  readonly until: number
  /** Slots of the branch without a block. Its other slots have one, unless the proposer is slashed. */
  readonly empty?: readonly number[]
  /**
   * Since Gloas: whether the first block of the branch is built on the payload of its parent. Default: if the payload
   * was published in time. A payload that is never published cannot be built upon.
   */
  readonly hasParentPayload?: boolean
}

/** Deposits of the genesis validators per execution block before genesis. */
const depositsPerBlock = 8

/** The state of a simulation between two epochs. */
const createSimulationData = () => ({
  /** The next epoch. */
  epoch: 0,
  chain: freshChain(),
  votes: createVotesData(),
  ...createDutyData(),
  /** Number of execution blocks, including those before genesis. */
  height: 0,
  /** The hash of the newest one before Gloas. */
  latestHash: zeroRoot,
  deposits: [] as SimulatedDeposit[],
  ...createPayloadData(),
})

export type SimulationData = ReturnType<typeof createSimulationData>

export class Simulation {
  readonly #scenario: NetworkScenario
  readonly #truth: Truth
  readonly #data: SimulationData
  readonly #chain: ChainState
  readonly #votes: Votes
  readonly #builder: BlockBuilder
  readonly #rewards: ProposalRewards

  /** `saved`: a state to continue from. */
  constructor(scenario: NetworkScenario, truth: Truth, saved?: Buffer) {
    const data: SimulationData = saved ? deserialize(saved) : createSimulationData()
    this.#scenario = scenario
    this.#truth = truth
    this.#data = data
    this.#chain = new ChainState(scenario.plan, truth, data.chain)
    this.#votes = new Votes(this.#chain, truth, data.committees, data.votes)
    this.#builder = new BlockBuilder(scenario, this.#chain, this.#votes, data)
    this.#rewards = new ProposalRewards(this.#chain)
    if (data.height === 0) this.#begin()
  }

  #begin(): void {
    const { validators } = this.#scenario.plan
    for (let index = 0; index < validators; index++) this.#chain.enter(this.#builder.newValidator(), 32n * eth, 0)
    this.#data.deposits = this.#chain.validators.map(({ pubkey, credentials, depositor: from }, index) => {
      const block = 1 + Math.floor(index / depositsPerBlock)
      return { pubkey, credentials, gwei: 32n * eth, from, block }
    })
    this.#data.height = 1 + Math.ceil(validators / depositsPerBlock)
  }

  get epoch(): number {
    return this.#data.epoch
  }

  get finalized(): number {
    return this.#data.chain.finalized
  }

  /** As bytes, which need a tenth of the memory. */
  saveData(): Buffer {
    return serialize(this.#data)
  }

  simulateEpoch(): EpochRecord {
    const { plan, seed } = this.#scenario
    const { epoch } = this.#data
    const { branch } = this.#scenario
    const chainDraws = createSeededRandom(`${seed}/epoch ${epoch}`)
    const branchDraws = createSeededRandom(`${seed}/branch ${branch?.from}/epoch ${epoch}`)
    const paid = epoch > 0 ? endEpoch(this.#chain, epoch - 1) : new Map<number, VotePay>()
    this.#rewards.settle(epoch - 1)
    const isFork = epoch === plan.forkEpochs.gloas
    if (isFork) upgradeToGloas(this.#chain, epoch, this.#data.latestHash, emptyRequestsRoot(plan))
    // A branch has the duties of the chain: they are fixed an epoch ahead.
    const duties = assignDuties(this.#scenario, this.#chain, this.#data, epoch, chainDraws)
    if (!plan.hasExecution)
      for (const index of this.#chain.active(epoch)) this.#truth.add(epoch, index, 'execution_unknown', 1)
    const blocks = new Map<number, SimulatedBlock>()
    const states: Snapshot[] = []
    for (let at = 0; at < plan.slotsPerEpoch; at++) {
      const slot = epoch * plan.slotsPerEpoch + at
      const draws = branch && slot >= branch.from ? branchDraws : chainDraws
      // The fork leaves all payloads available, also that of its own slot.
      if (!isFork || at > 0) this.#chain.startSlot(slot)
      if (slot > 0) this.#propose(slot, epoch, duties, blocks, draws)
      if (at === 0) this.#votes.setTarget(epoch)
      this.#castVotes(slot, epoch, blocks.has(slot), draws)
      states.push(this.#snapshot())
    }
    this.#rewards.endEpoch(epoch, duties.proposers, blocks)
    this.#data.epoch = epoch + 1
    const { committees, deposits, payloadCommittees } = this.#data
    return {
      ...{ epoch, committees: committees.get(epoch) ?? [], ...duties, blocks, states, paid, deposits },
      payloadCommittees: payloadCommittees.get(epoch) ?? [],
    }
  }

  #castVotes(slot: number, epoch: number, hasBlock: boolean, draws: SeededRandom): void {
    const mistakeRatesOf = (validator: number) => this.#scenario.behaviour.mistakeRates(validator, epoch)
    this.#votes.cast(slot, epoch, mistakeRatesOf, draws)
    if (!this.#chain.data.gloas) return
    const seats = this.#data.payloadCommittees.get(epoch)?.[slot % this.#scenario.plan.slotsPerEpoch] ?? []
    this.#data.payloadVotes = hasBlock ? drawCommitteeVotes(this.#votes.newest, seats, mistakeRatesOf, draws) : []
  }

  #snapshot(): Snapshot {
    const { finalized, justified, previousJustified, validators, queue, consolidations, bits, slashed, gloas } =
      this.#data.chain
    const { epoch, seats, lookahead } = this.#data
    const period = Math.floor(epoch / this.#scenario.plan.syncPeriod)
    const now = seats.get(period) ?? []
    return {
      previousJustified,
      justificationBits: bits,
      slashings: [...slashed],
      syncCommittees: { now, next: seats.get(period + 1) ?? now },
      lookahead: [epoch, epoch + 1].flatMap((at) => lookahead.get(at) ?? []),
      finalized,
      justified,
      queue: [...queue],
      consolidations: [...consolidations],
      validators: validators.map((validator) => ({ ...validator })),
      ...(gloas && { gloas: { ...copyGloasState(gloas), ...this.#payloadDuties() } }),
    }
  }

  /** Of the previous, the current and the next epoch. */
  #payloadDuties() {
    const { epoch, payloadCommittees, mixes, mix } = this.#data
    const { slotsPerEpoch } = this.#scenario.plan
    const none = Array.from({ length: slotsPerEpoch }, () => new Array<number>(this.#chain.constants.ptcSize).fill(0))
    return {
      payloadCommittees: [epoch - 1, epoch, epoch + 1].flatMap((at) => payloadCommittees.get(at) ?? none),
      mixes: new Map([...mixes, [epoch, mix]]),
    }
  }

  #propose(
    slot: number,
    epoch: number,
    duties: Duties,
    blocks: Map<number, SimulatedBlock>,
    draws: SeededRandom,
  ): void {
    const { plan, behaviour, branch } = this.#scenario
    const proposer = duties.proposers[slot % plan.slotsPerEpoch] as number
    this.#truth.add(epoch, proposer, 'proposer_duties', 1)
    if (this.#chain.at(proposer).slashed || behaviour.isEmpty?.(slot)) return
    if (branch && slot >= branch.from) {
      if (branch.empty?.includes(slot)) return
    } else {
      const rates = behaviour.mistakeRates(proposer, epoch)
      if (draws.happens(rates.missed)) return
      const orphan = `0x${draws.hex(64)}`
      if (draws.happens(rates.orphaned)) {
        this.#votes.setOrphan(slot, orphan)
        return
      }
    }
    const seated = new Set([...this.#data.seats.values()].flat())
    const context = { slot, epoch, proposer, isFirst: blocks.size === 0, seated }
    const block = this.#builder.build(context, duties.sync, draws)
    blocks.set(slot, block)
    this.#votes.addBlock({ slot, root: block.root, delivery: block.gloas?.delivery })
    this.#rewards.addBlock(block, epoch)
  }
}
