// Builds the blocks of a simulated chain and applies them: operations, votes, sync committee and payload. What is new in
// Gloas is in gloas/build-block.ts.
import { createSeededRandom, type SeededRandom } from '../seeded-random.ts'
import type { BlockOperations, SlotContext } from './behaviour.ts'
import { applyOperations, applySlashings, withdraw } from './block-operations.ts'
import type { ChainState } from './chain.ts'
import { blockRootOf } from './encode-block.ts'
import { applyBlockOperations, applyParent, bidFor, depositsOf, requestsOf, selfBuilt } from './gloas/build-block.ts'
import { makeBidPayload, makePayload } from './payload.ts'
import { forkOf } from './plan.ts'
import { withdrawalAddress } from './proposal-rewards.ts'
import type { Identity, SimulatedBlock } from './records.ts'
import type { NetworkScenario, SimulationData } from './simulate.ts'
import { applySync } from './sync-committee.ts'
import type { Votes } from './votes.ts'

export class BlockBuilder {
  readonly #scenario: NetworkScenario
  readonly #chain: ChainState
  readonly #votes: Votes
  readonly #data: SimulationData

  constructor(scenario: NetworkScenario, chain: ChainState, votes: Votes, data: SimulationData) {
    this.#scenario = scenario
    this.#chain = chain
    this.#votes = votes
    this.#data = data
  }

  /** `sync`: the sync committee by seat. */
  build(context: SlotContext, sync: readonly number[], draws: SeededRandom): SimulatedBlock {
    const operations = this.#scenario.behaviour.operationsAt(context, this.#chain, draws)
    const content = this.#chain.data.gloas
      ? this.#buildGloas(context, sync, operations, draws)
      : this.#buildBeforeGloas(context, sync, operations, draws)
    const root = blockRootOf(content, this.#scenario.plan)
    if (this.#scenario.plan.derivesDuties) this.#data.mix = root
    return { ...content, root }
  }

  newValidator(): Identity {
    const { validators, data } = this.#chain
    const known = new Set(validators.map(({ pubkey }) => pubkey))
    const requested = this.#data.newest?.requests.deposits ?? []
    const keys = [...data.queue, ...requested].map(({ pubkey }) => pubkey)
    const waiting = new Set(keys.filter((pubkey) => !known.has(pubkey)))
    const index = validators.length + waiting.size
    return this.#scenario.behaviour.newValidator(index, createSeededRandom(`${this.#scenario.seed}/validator ${index}`))
  }

  #buildBeforeGloas(
    context: SlotContext,
    sync: readonly number[],
    operations: BlockOperations,
    draws: SeededRandom,
  ): Omit<SimulatedBlock, 'root'> {
    const { slot, epoch, proposer } = context
    const parentRoot = this.#votes.head
    const withdrawals = operations.sweeps ? withdraw(this.#chain, epoch, draws) : []
    const { gwei: slashings, ...applied } = applySlashings(this.#chain, context, operations, draws)
    const { attestations, gwei: votes } = this.#votes.include(slot, epoch, draws)
    this.#data.height += 1
    const block = this.#data.height
    const newValidator = () => this.newValidator()
    const deposits = applyOperations(this.#chain, context, operations, newValidator, draws).map((deposit) => ({
      ...deposit,
      block,
    }))
    if (deposits.length > 0) this.#data.deposits = [...this.#data.deposits, ...deposits]
    this.#payForVotes(context, votes)
    const signing = this.#signSync(context, sync, draws)
    const payload = makePayload(this.#payloadInput(context, block), draws)
    this.#data.latestHash = payload.hash
    return {
      fork: forkOf(this.#scenario.plan, epoch),
      slot,
      proposer,
      parentRoot,
      withdrawals,
      ...applied,
      attestations,
      deposits,
      syncBits: signing.bits,
      payload,
      rewards: { votes, slashings, sync: signing.gwei, seat: signing.seat },
    }
  }

  /** In the order of the consensus specifications. */
  #buildGloas(
    context: SlotContext,
    sync: readonly number[],
    operations: BlockOperations,
    draws: SeededRandom,
  ): Omit<SimulatedBlock, 'root'> {
    const { slot, epoch, proposer } = context
    const [chain, data] = [this.#chain, this.#data]
    const parentRoot = this.#votes.head
    const parentSlot = chain.gloas.bid.slot
    const parent = applyParent(chain, data.newest, this.#isBuiltOnPayload(slot), context)
    if (parent.isFull && data.newest) {
      data.height = data.newest.number
      const deposits = depositsOf(parent.requests, data.height)
      if (deposits.length > 0) data.deposits = [...data.deposits, ...deposits]
    }
    this.#votes.setPayload(chain.gloas.availability[parentSlot % chain.constants.historicalRoots] === true)
    const plan = this.#scenario.behaviour.payloadAt?.(context, chain, draws) ?? selfBuilt
    const builder = plan.builder === 'self' ? undefined : chain.gloas.builders[plan.builder]?.address
    const input = this.#payloadInput(context, data.height + 1)
    const payload = makeBidPayload(input, { builder, executionPayment: plan.executionPayment }, draws)
    const requests = requestsOf(chain, operations, () => this.newValidator(), draws)
    const bid = bidFor(chain, context, { parentRoot, payload, plan, feeRecipient: input.owner, requests })
    const { gwei: slashings, ...slashed } = applySlashings(chain, context, operations, draws)
    const { attestations, gwei: votes } = this.#votes.include(slot, epoch, draws)
    this.#payForVotes(context, votes)
    const applied = applyBlockOperations(chain, operations, epoch)
    const signing = this.#signSync(context, sync, draws)
    data.newest = { delivery: plan.delivery, requests, number: payload.number }
    return {
      fork: 'gloas',
      slot,
      proposer,
      parentRoot,
      withdrawals: chain.gloas.expected,
      ...slashed,
      attestations,
      deposits: [],
      syncBits: signing.bits,
      payload,
      rewards: { votes, slashings, sync: signing.gwei, seat: signing.seat },
      gloas: {
        ...{ bid, requests, delivery: plan.delivery, payloadVotes: data.payloadVotes },
        ...{ isParentFull: parent.isFull, parentRequests: parent.requests, ...applied },
      },
    }
  }

  /** The first block of a branch may ignore a payload that the chain has, or use one that it does not have. */
  #isBuiltOnPayload(slot: number): boolean {
    const { branch } = this.#scenario
    const { newest } = this.#data
    const isUsual = !newest || newest.delivery === 'full'
    const isFirst = branch !== undefined && slot >= branch.from && this.#votes.newest.slot < branch.from
    return isFirst && newest && newest.delivery !== 'withheld' ? (branch.hasParentPayload ?? isUsual) : isUsual
  }

  #payloadInput({ slot, proposer }: SlotContext, number: number) {
    const validator = this.#chain.at(proposer)
    return {
      slot,
      number,
      owner: withdrawalAddress(validator) ?? validator.depositor,
      prevRandao: this.#data.mix,
      emptyPayloads: this.#chain.plan.emptyPayloads ?? 0.12,
    }
  }

  #payForVotes({ slot, epoch, proposer }: SlotContext, gwei: bigint): void {
    this.#chain.earn(proposer, gwei, slot)
    this.#chain.truth.add(epoch, proposer, 'block_reward', gwei)
  }

  #signSync(context: SlotContext, seats: readonly number[], draws: SeededRandom) {
    const { behaviour } = this.#scenario
    const bits = seats.map((validator) => !draws.happens(behaviour.mistakeRates(validator, context.epoch).unsigned))
    return { bits, ...applySync(this.#chain, context, seats, bits) }
  }
}
