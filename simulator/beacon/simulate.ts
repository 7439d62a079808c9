// Simulates a network epoch by epoch, from a seed and a behaviour. Every epoch has its own random stream, and the state
// is plain data. So a simulation can be saved at any epoch and continued later with the same result.
import { deserialize, serialize } from 'node:v8'
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import { assignDuties, createDutyData, type Duties } from './assign-duties.ts'
import type { Behaviour, SlotContext } from './behaviour.ts'
import { applyOperations, applySlashings, withdraw } from './block-operations.ts'
import { ChainState, eth, freshChain } from './chain.ts'
import { blockRootOf } from './encode-block.ts'
import { endEpoch } from './epoch-transition.ts'
import { makePayload, paidBy, writePayload } from './payload.ts'
import { forkOf, type NetworkPlan } from './plan.ts'
import type { EpochRecord, Identity, SimulatedBlock, SimulatedDeposit, Snapshot, VotePay } from './records.ts'
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
  deposits: [] as SimulatedDeposit[],
})

type SimulationData = ReturnType<typeof createSimulationData>

/** Undefined for BLS credentials. */
const withdrawalAddress = ({ credentials }: Pick<Identity, 'credentials'>): string | undefined =>
  credentials.startsWith('0x00') ? undefined : `0x${credentials.slice(26)}`

export class Simulation {
  readonly #scenario: NetworkScenario
  readonly #truth: Truth
  readonly #data: SimulationData
  readonly #chain: ChainState
  readonly #votes: Votes

  /** `saved`: a state to continue from. */
  constructor(scenario: NetworkScenario, truth: Truth, saved?: Buffer) {
    const data: SimulationData = saved ? deserialize(saved) : createSimulationData()
    this.#scenario = scenario
    this.#truth = truth
    this.#data = data
    this.#chain = new ChainState(scenario.plan, truth, data.chain)
    this.#votes = new Votes(this.#chain, truth, data.committees, data.votes)
    if (data.height === 0) this.#begin()
  }

  #begin(): void {
    const { validators } = this.#scenario.plan
    for (let index = 0; index < validators; index++) this.#chain.enter(this.#newValidator(), 32n * eth, 0)
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
    // A branch has the duties of the chain: they are fixed an epoch ahead.
    const duties = assignDuties(this.#scenario, this.#chain, this.#data, epoch, chainDraws)
    if (!plan.hasExecution)
      for (const index of this.#chain.active(epoch)) this.#truth.add(epoch, index, 'execution_unknown', 1)
    const blocks = new Map<number, SimulatedBlock>()
    const states: Snapshot[] = []
    for (let at = 0; at < plan.slotsPerEpoch; at++) {
      const slot = epoch * plan.slotsPerEpoch + at
      const draws = branch && slot >= branch.from ? branchDraws : chainDraws
      if (slot > 0) this.#propose(slot, epoch, duties, blocks, draws)
      if (at === 0) this.#votes.setTarget(epoch)
      this.#votes.cast(slot, epoch, (validator) => this.#scenario.behaviour.mistakeRates(validator, epoch), draws)
      states.push(this.#snapshot())
    }
    this.#addMissedRewards(epoch, duties.proposers, blocks)
    this.#data.epoch = epoch + 1
    const { committees, deposits } = this.#data
    return { epoch, committees: committees.get(epoch) ?? [], ...duties, blocks, states, paid, deposits }
  }

  #newValidator(): Identity {
    const { validators, data } = this.#chain
    const known = new Set(validators.map(({ pubkey }) => pubkey))
    const waiting = new Set(data.queue.map(({ pubkey }) => pubkey).filter((pubkey) => !known.has(pubkey)))
    const index = validators.length + waiting.size
    return this.#scenario.behaviour.newValidator(index, createSeededRandom(`${this.#scenario.seed}/validator ${index}`))
  }

  #snapshot(): Snapshot {
    const { finalized, justified, previousJustified, validators, queue, consolidations, bits, slashed } =
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
    if (this.#chain.at(proposer).slashed) return
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
    const block = this.#build(context, duties.sync, draws)
    blocks.set(slot, block)
    this.#votes.addBlock(slot, block.root)
    this.#truth.add(epoch, proposer, 'proposed', 1)
    if (!this.#chain.isFrom('bellatrix', epoch)) return
    if (block.payload.transactions.length === 0) this.#truth.add(epoch, proposer, 'proposed_empty', 1)
    const hasAddress = withdrawalAddress(this.#chain.at(proposer)) !== undefined
    if (plan.hasExecution) writePayload(this.#truth, epoch, proposer, block.payload, hasAddress)
  }

  #build(context: SlotContext, sync: readonly number[], draws: SeededRandom): SimulatedBlock {
    const { slot, epoch, proposer } = context
    const parentRoot = this.#votes.head
    const operations = this.#scenario.behaviour.operationsAt(context, this.#chain, draws)
    const withdrawals = operations.sweeps ? withdraw(this.#chain, epoch, draws) : []
    const { gwei: slashings, ...applied } = applySlashings(this.#chain, context, operations, draws)
    const { attestations, gwei: votes } = this.#votes.include(slot, epoch, draws)
    this.#data.height += 1
    const block = this.#data.height
    const deposits = applyOperations(this.#chain, context, operations, () => this.#newValidator()).map((deposit) => ({
      ...deposit,
      block,
    }))
    if (deposits.length > 0) this.#data.deposits = [...this.#data.deposits, ...deposits]
    this.#chain.earn(proposer, votes, slot)
    this.#truth.add(epoch, proposer, 'block_reward', votes)
    const signing = this.#signSync(context, sync, draws)
    const content = {
      fork: forkOf(this.#scenario.plan, epoch),
      slot,
      proposer,
      parentRoot,
      withdrawals,
      ...applied,
      attestations,
      deposits,
      syncBits: signing.bits,
      payload: makePayload(
        {
          slot,
          number: block,
          owner: withdrawalAddress(this.#chain.at(proposer)) ?? this.#chain.at(proposer).depositor,
          prevRandao: this.#data.mix,
          emptyPayloads: this.#chain.plan.emptyPayloads ?? 0.12,
        },
        draws,
      ),
      rewards: { votes, slashings, sync: signing.gwei, seat: signing.seat },
    }
    const root = blockRootOf(content, this.#scenario.plan)
    if (this.#scenario.plan.derivesDuties) this.#data.mix = root
    return { ...content, root }
  }

  #signSync({ slot, epoch, proposer }: SlotContext, seats: readonly number[], draws: SeededRandom) {
    const { slotsPerEpoch, syncSeats } = this.#scenario.plan
    const all = this.#chain.perIncrement(epoch) * (this.#chain.totalActive(epoch) / eth)
    const seat = (all * 2n) / 64n / BigInt(slotsPerEpoch) / BigInt(syncSeats)
    const share = (seat * 8n) / 56n
    let gwei = 0n
    const bits = seats.map((validator) => {
      const signed = !draws.happens(this.#scenario.behaviour.mistakeRates(validator, epoch).unsigned)
      this.#chain.earn(validator, signed ? seat : -seat, slot)
      if (signed) {
        gwei += share
        this.#truth.add(epoch, validator, 'sync_signatures', 1)
        this.#truth.add(epoch, validator, 'sync_reward', seat)
      } else {
        this.#truth.add(epoch, validator, 'sync_penalty', -seat)
        this.#truth.add(epoch, validator, 'missed_sync_reward', seat)
      }
      return signed
    })
    this.#chain.earn(proposer, gwei, slot)
    this.#truth.add(epoch, proposer, 'block_reward', gwei)
    return { bits, gwei, seat }
  }

  /** The missed reward of a missing block is the mean reward of the epoch's blocks. */
  #addMissedRewards(epoch: number, proposers: readonly number[], blocks: ReadonlyMap<number, SimulatedBlock>): void {
    const proposed = [...blocks.values()]
    if (proposed.length === 0) return
    const mean = (amounts: readonly bigint[]) =>
      amounts.length === 0 ? 0n : amounts.reduce((sum, gwei) => sum + gwei, 0n) / BigInt(amounts.length)
    const consensus = mean(proposed.map(({ rewards }) => rewards.votes + rewards.sync + rewards.slashings))
    const execution = mean(
      proposed.flatMap(({ proposer, payload }) => {
        const paid = paidBy(payload, withdrawalAddress(this.#chain.at(proposer)) !== undefined)
        return paid ? [paid.fees + paid.mev] : []
      }),
    )
    const isPaid = this.#scenario.plan.hasExecution && this.#chain.isFrom('bellatrix', epoch)
    proposers.forEach((proposer, at) => {
      const slot = epoch * proposers.length + at
      if (slot === 0 || blocks.has(slot)) return
      this.#truth.add(epoch, proposer, 'missed_block_reward', consensus)
      if (isPaid) this.#truth.add(epoch, proposer, 'missed_execution_reward', execution)
    })
  }
}
