// A network as large as mainnet, epoch by epoch. Ingest verifies block roots, duties and balances, so duties are drawn
// and balances are computed, with the rules of the server. Wrong rules are found by the other simulated networks; this one
// is for sizes, memory and CPU time.

import { computeCommittees, computePayloadCommittees, computeProposers } from '#simulator/beacon/shuffle.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, readRules } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import { readValidatorKeys } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { type Carry, processEpoch } from '#validators/ingest/epochs/process-epoch.ts'
import { Sums } from '#validators/ingest/epochs/sums.ts'
import { text } from '../encode-payload.ts'
import type { SimulatedWithdrawal } from '../gloas/gloas-records.ts'
import { type LargeBlock, makeBlock } from './large-blocks.ts'
import { deducts, mixOf, withdrawalsAt } from './large-payloads.ts'
import { type LargePlan, specOf } from './large-plan.ts'
import { makeState, makeValidators, validatorSize } from './large-states.ts'

/** Gwei. */
const excess = 10_000_000
const firstBuilderBalance = 1_000_000_000_000n
/** Epochs that are kept before the newest ones that ingest has read. */
const keptEpochs = 4
const unknownRoot = text(Buffer.alloc(32, 3))

interface LargeEpoch {
  readonly committees: Committees
  readonly proposers: Int32Array
  readonly payloadSeats: Uint32Array | undefined
}

interface Balances {
  /** Gwei. */
  readonly validators: Float64Array
  readonly builders: readonly bigint[]
}

export class LargeNetwork {
  readonly plan: LargePlan
  readonly rules: ConsensusRules
  /** By seat. */
  readonly syncSeats: Uint32Array
  readonly #records: Buffer
  readonly #validators: Validators
  readonly #epochs = new Map<number, LargeEpoch>()
  readonly #blocks = new Map<number, LargeBlock>()
  /** At the first slot of each epoch. */
  readonly #balances = new Map<number, Balances>()
  /** The first epoch that has no blocks yet. */
  #end: number
  #carry: Carry | undefined

  /** `from`: the first epoch. It must be at least 2. */
  constructor(plan: LargePlan, from: number) {
    this.plan = plan
    this.rules = readRules(specOf(plan))
    this.syncSeats = Uint32Array.from({ length: this.rules.syncCommitteeSize }, (_, seat) => (seat * 3) % plan.count)
    this.#records = makeValidators(plan)
    this.#validators = activeValidators(plan, this.#records)
    this.#end = from
    this.#balances.set(from, {
      validators: new Float64Array(plan.count).fill(plan.ether * this.rules.increment + excess),
      builders: new Array(plan.builders).fill(firstBuilderBalance),
    })
  }

  /** Makes the blocks and states of all epochs before this one. Epochs long before the last call are dropped. */
  prepare(until: number): void {
    const kept = this.#end - keptEpochs
    for (const epoch of this.#balances.keys()) if (epoch < kept) this.#balances.delete(epoch)
    for (const epoch of this.#epochs.keys()) if (epoch < kept) this.#epochs.delete(epoch)
    for (const slot of this.#blocks.keys()) if (slot < kept * this.plan.slotsPerEpoch) this.#blocks.delete(slot)
    for (; this.#end < until; this.#end++) {
      const firstSlot = this.#end * this.plan.slotsPerEpoch
      for (let slot = firstSlot; slot < firstSlot + this.plan.slotsPerEpoch; slot++) this.#addBlock(slot)
      if (!this.#balances.has(this.#end)) this.#balances.set(this.#end, this.#balancesAfter(this.#end - 1))
    }
  }

  block(slot: number): LargeBlock | undefined {
    return this.#blocks.get(slot)
  }

  /** The state at the first slot of an epoch. */
  state(epoch: number): Buffer | undefined {
    const balances = this.#balances.get(epoch)
    if (!balances || !this.#blocks.has(epoch * this.plan.slotsPerEpoch)) return undefined
    const seats = [epoch - 1, epoch, epoch + 1].flatMap((at) => this.#committeesBySlot(at))
    return makeState(this.plan, this.rules, {
      epoch,
      validators: this.#records,
      balances: Buffer.from(BigUint64Array.from(balances.validators, BigInt).buffer),
      parentRoot: this.#rootOf(epoch * this.plan.slotsPerEpoch - 1),
      lookahead: [...this.#epoch(epoch).proposers, ...this.#epoch(epoch + 1).proposers],
      payloadCommittees: seats,
      builderBalances: balances.builders,
    })
  }

  proposers(epoch: number): Int32Array {
    return this.#epoch(epoch).proposers
  }

  #committeesBySlot(epoch: number): number[][] {
    const { payloadSeats } = this.#epoch(epoch)
    const size = this.rules.payloadCommitteeSize
    if (!payloadSeats) return []
    return Array.from({ length: this.plan.slotsPerEpoch }, (_, at) => [
      ...payloadSeats.subarray(at * size, (at + 1) * size),
    ])
  }

  #rootOf(slot: number): string {
    return this.#blocks.get(slot)?.block.root ?? unknownRoot
  }

  #epoch(epoch: number): LargeEpoch {
    return this.#epochs.getOrInsertComputed(epoch, () => {
      const mix = mixOf(epoch - 1)
      const committees = computeCommittees(this.rules, epoch, this.#validators, mix)
      const { increments } = this.#validators
      return {
        committees,
        proposers: computeProposers(this.rules, epoch, this.#validators, mix),
        payloadSeats:
          this.plan.fork === 'gloas' ? computePayloadCommittees(this.rules, committees, increments, mix) : undefined,
      }
    })
  }

  #addBlock(slot: number): void {
    const epochOf = (at: number) => this.#epoch(Math.floor(at / this.plan.slotsPerEpoch))
    const block = makeBlock(this.plan, this.rules, {
      slot,
      proposer: epochOf(slot).proposers[slot % this.plan.slotsPerEpoch] as number,
      rootOf: (at) => this.#rootOf(at),
      committeesOf: (at) => epochOf(at).committees,
    })
    this.#blocks.set(slot, block)
  }

  /** The balances at the first slot of the next epoch. */
  #balancesAfter(epoch: number): Balances {
    const { slotsPerEpoch } = this.plan
    const firstSlot = epoch * slotsPerEpoch
    const now = this.#balances.get(epoch) as Balances
    const between = Array.from({ length: slotsPerEpoch }, (_, at) => firstSlot + 1 + at)
    const deducted = new Map(
      between.map((slot) => [slot, deducts(this.plan, slot) ? withdrawalsAt(this.plan, slot) : []]),
    )
    const validators = { ...this.#validators, balance: now.validators }
    const sums = new Sums()
    const data = {
      epoch,
      blocks: Array.from(
        { length: 2 * slotsPerEpoch },
        (_, at) => (this.#blocks.get(firstSlot + at) as LargeBlock).block,
      ),
      ...this.#epoch(epoch),
      sync: { now: this.syncSeats, next: this.syncSeats },
      atStart: validators,
      atEnd: validators,
      finalizedEpoch: epoch,
      withdrawals: new Map(Array.from(deducted, ([slot, list]) => [slot, splitWithdrawals(list)])),
    }
    this.#carry = processEpoch(this.rules, data, this.#carry, sums).carry
    const { validator, sums: columns } = sums.take()
    const next = now.validators.slice()
    const builders = [...now.builders]
    for (const [position, index] of validator.entries())
      next[index] = (next[index] as number) + (columns.earnings[position] as number)
    for (const { validator: index, isBuilder, amount } of [...deducted.values()].flat()) {
      if (isBuilder) builders[index] = (builders[index] as bigint) - amount
      else next[index] = (next[index] as number) - Number(amount)
    }
    return { validators: next, builders }
  }
}

const splitWithdrawals = (list: readonly SimulatedWithdrawal[]) => ({
  withdrawals: list
    .filter(({ isBuilder }) => !isBuilder)
    .map(({ validator, amount }) => ({ validator, amount: Number(amount) })),
  builderWithdrawals: list
    .filter(({ isBuilder }) => isBuilder)
    .map(({ validator, amount }) => ({ builder: validator, amount: Number(amount) })),
})

/** The columns that the rules read of it. */
function activeValidators({ count, ether }: LargePlan, records: Buffer): Validators {
  const column = (value: number) => new Float64Array(count).fill(value)
  return {
    count,
    balance: new Float64Array(0),
    increments: new Uint32Array(count).fill(ether),
    slashed: new Uint8Array(count),
    eligible: column(0),
    activation: column(0),
    exit: column(Number.POSITIVE_INFINITY),
    withdrawable: column(Number.POSITIVE_INFINITY),
    ...readValidatorKeys(records, validatorSize, count),
    pending: emptyPendingQueues,
    scores: column(0),
  }
}
