// The validators of a chain while blocks and epoch transitions are applied, as the consensus specifications define it.
//
// 1. What the chain never reverts comes from a later state: public keys, and the epochs of activation, exit and
//    withdrawal. Such an epoch is always in the future when the chain sets it. So it makes no difference to any duty or
//    reward that it is known from the start.
// 2. A deposit with an invalid signature creates no validator. The later state lists the validators that were created,
//    in the order of their creation, so no signature needs to be verified.
// 3. Everything else is computed: balances, effective balances, slashings, credentials and the queue of deposits.

import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, epochAt, isFrom } from '#sources/beacon/consensus.ts'
import { consolidationSize, emptyPendingQueues } from '#sources/beacon/pending.ts'
import type { TransitionState } from '#sources/beacon/transition-state.ts'
import { indicesOfKeys, pubkeySize } from '#sources/beacon/validator-keys.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'
import type { BlockEffects } from '../rules/block-effects.ts'
import type { BlockWithdrawals } from '../rules/deductions.ts'
import type { Stake } from '../rules/stake.ts'
import type { VoteRewards } from '../rules/vote-rewards.ts'
import { computedEpochsMax } from './computed-epochs-max.ts'
import { DepositQueue, type DepositTarget } from './deposit-queue.ts'
import { hysteresisBand, slashingPenalties } from './epoch-rules.ts'
import {
  consolidationRecord,
  consolidationRequests,
  depositRequests,
  keysIn,
  pubkeysOf,
  readQueuedConsolidations,
  unsignedDeposit,
  type ValidatorRequest,
  withdrawalRequests,
} from './execution-requests.ts'
import { credentialsType, ReplayedCredentials } from './replayed-credentials.ts'
import { type BlockContext, type ReplayedPayloads, replayPayloads } from './replayed-payloads.ts'
import type { SweptValidators } from './withdrawal-sweep.ts'

export class ReplayedValidators implements SweptValidators {
  /** By validator, also of those that do not exist yet. */
  readonly slashed: Uint8Array
  /** Undefined: the later state is before Gloas. */
  readonly payloads: ReplayedPayloads | undefined
  readonly #rules: ConsensusRules
  readonly #after: Validators
  readonly #balance: Float64Array
  readonly #credentials: ReplayedCredentials
  readonly #deposits: DepositQueue
  readonly #increments: Uint32Array
  readonly #slashings: Float64Array
  /** 1: the validator is exiting or has exited. The later state also has the exits that begin later. */
  readonly #isExiting: Uint8Array
  #count: number
  #consolidations: Uint8Array

  /** `epoch`: that of `before`, at its first slot. `after`: a later state of the same chain. */
  constructor(
    rules: ConsensusRules,
    epoch: number,
    before: Validators,
    after: Validators,
    transition: Pick<TransitionState, 'slashings' | 'depositBalanceToConsume' | 'sweep'>,
  ) {
    const { deposits, consolidations } = before.pending ?? emptyPendingQueues
    this.#rules = rules
    this.#after = after
    this.#count = before.count
    this.#balance = new Float64Array(after.count)
    this.#balance.set(before.balance)
    this.#increments = new Uint32Array(after.count)
    this.#increments.set(before.increments)
    this.slashed = new Uint8Array(after.count)
    this.slashed.set(before.slashed)
    this.#isExiting = Uint8Array.from({ length: after.count }, (_, at) => (Number.isFinite(before.exit[at]) ? 1 : 0))
    this.#credentials = new ReplayedCredentials(before, after)
    this.#deposits = new DepositQueue(rules, deposits, transition.depositBalanceToConsume)
    this.#consolidations = consolidations
    this.#slashings = transition.slashings.slice()
    this.payloads = replayPayloads(rules, epoch, before, after, transition.sweep)
  }

  /** The present validators. The arrays change with the next block or transition; see `takeSnapshot`. */
  current(): Validators {
    const count = this.#count
    const { pubkeys, eligible, activation, exit, withdrawable } = this.#after
    return {
      count,
      pubkeys: pubkeys.subarray(0, count * pubkeySize),
      credentials: this.#credentials.first(count),
      balance: this.#balance.subarray(0, count),
      increments: this.#increments.subarray(0, count),
      slashed: this.slashed.subarray(0, count),
      eligible: eligible.subarray(0, count),
      activation: activation.subarray(0, count),
      exit: exit.subarray(0, count),
      withdrawable: withdrawable.subarray(0, count),
      pending: { deposits: this.#deposits.records(), consolidations: this.#consolidations },
    }
  }

  takeSnapshot(): Validators {
    const { balance, increments, slashed, ...rest } = this.current()
    this.#credentials.share()
    return { ...rest, balance: balance.slice(), increments: increments.slice(), slashed: slashed.slice() }
  }

  /**
   * In the order of the chain: withdrawals, slashings, votes, deposits, requests, sync committee. Since Gloas, the requests
   * are first: they are those of the parent's payload. Returns the withdrawals; undefined: they are not known.
   */
  applyBlock(block: Block, effects: BlockEffects, context: BlockContext): BlockWithdrawals | undefined {
    const epoch = epochAt(this.#rules, block.slot)
    const indices = indicesOfKeys(this.#after, keysIn(block))
    if (block.bid) this.#applyRequests(block, epoch, indices)
    const computed = this.payloads?.begin(block, this, context.finalizedEpoch)
    const { withdrawals = [] } = (block.bid ? computed : block.payload) ?? {}
    for (const { validator, amount } of withdrawals) this.#add(validator, 0 - amount)
    this.payloads?.finish(block, context)
    for (const { validator, penalty } of effects.slashed) {
      const at = epoch % this.#slashings.length
      this.slashed[validator] = 1
      this.#isExiting[validator] = 1
      this.#slashings[at] = (this.#slashings[at] as number) + this.effective(validator)
      this.#add(validator, penalty)
    }
    this.#add(effects.proposer, effects.slashings + effects.votes)
    if (!isFrom(this.#rules, 'electra', epoch))
      for (const { pubkey, amount } of block.deposits) this.#deposit(indices.get(pubkey), amount, false)
    for (const validator of block.exits) this.#isExiting[validator] = 1
    for (const validator of block.credentialsChanges) this.#credentials.change(validator, credentialsType.address)
    if (!block.bid) this.#applyRequests(block, epoch, indices)
    for (const { validator, signed } of effects.seats)
      this.#add(validator, signed ? effects.syncSeat : 0 - effects.syncSeat)
    this.#add(effects.proposer, effects.sync)
    return computed
  }

  /** The upgrade to Gloas: deposits for builders leave the queue. */
  upgradeToGloas(epoch: number): void {
    const queue = this.#deposits.all()
    const indices = indicesOfKeys(this.#after, pubkeysOf(queue))
    const isValidator = (pubkey: string) => (indices.get(pubkey) ?? this.#count) < this.#count
    this.#deposits.replace(this.payloads?.upgrade(epoch, queue, isValidator) ?? queue)
  }

  #applyRequests(block: Block, epoch: number, indices: ReadonlyMap<string, number>): void {
    this.#deposits.add(...depositRequests(block))
    for (const request of withdrawalRequests(block))
      if (request.isExit) this.#beginExit(this.#ownedIndex(request, indices))
    for (const request of consolidationRequests(block)) {
      const index = this.#ownedIndex(request, indices)
      if (request.target === request.pubkey) this.#switchToCompounding(index, epoch)
      else this.#consolidate(index, indices.get(request.target), epoch)
    }
  }

  /** On real chains, a consolidation takes effect much later than the end of a gap. Then it does not matter. */
  #consolidate(source: number | undefined, target: number | undefined, epoch: number): void {
    if (source === undefined || this.isExiting(source)) return
    this.#beginExit(source)
    if (target === undefined || !this.isExiting(source)) return
    // A slashing later in the gap has moved the epoch in which the source can withdraw.
    const isInTime =
      this.#after.slashed[source] === 1 || (this.#after.withdrawable[source] as number) <= epoch + computedEpochsMax
    const isAllowed = this.#credentials.typeOf(target) === credentialsType.compounding && !this.isExiting(target)
    if (isInTime && isAllowed && isActiveAt(this.#after, target, epoch))
      this.#consolidations = Buffer.concat([this.#consolidations, consolidationRecord(source, target)])
  }

  /** The validator of a request, if the sender is its withdrawal address. */
  #ownedIndex({ pubkey, sender }: ValidatorRequest, indices: ReadonlyMap<string, number>): number | undefined {
    const index = indices.get(pubkey) ?? this.#count
    return index < this.#count && this.#credentials.isOwnedBy(index, sender) ? index : undefined
  }

  /** The chain refuses requests of some validators. These have no exit epoch in the later state either. */
  #beginExit(index: number | undefined): void {
    if (index !== undefined && Number.isFinite(this.#after.exit[index])) this.#isExiting[index] = 1
  }

  /** A consolidation of a validator with itself. The balance above 32 ETH goes into the queue. */
  #switchToCompounding(index: number | undefined, epoch: number): void {
    if (index === undefined) return
    const isAllowed =
      this.#credentials.typeOf(index) === credentialsType.address &&
      this.#isExiting[index] === 0 &&
      isActiveAt(this.#after, index, epoch)
    if (!isAllowed) return
    this.#credentials.change(index, credentialsType.compounding)
    const excess = (this.#balance[index] as number) - this.#rules.effectiveMax.phase0
    if (excess <= 0) return
    this.#add(index, 0 - excess)
    const pubkey = this.#after.pubkeys.subarray(index * pubkeySize, (index + 1) * pubkeySize)
    this.#deposits.add(unsignedDeposit(pubkey, this.#credentials.of(index), excess))
  }

  /** `index`: that of the public key in the later state. */
  #deposit(index: number | undefined, gwei: number, isElectra: boolean): void {
    if (index === undefined || index > this.#count) return
    this.#add(index, gwei)
    if (index < this.#count) return
    this.#count += 1
    this.#increments[index] = Math.floor(Math.min(gwei, this.effectiveMax(index, isElectra)) / this.#rules.increment)
  }

  applyVoteRewards({ source, target, head, inactivity }: VoteRewards): void {
    for (const part of [source, target, head, inactivity])
      for (let index = 0; index < part.length; index++) this.#add(index, part[index] as number)
  }

  /** Validators with too low an effective balance exit. */
  ejectValidators(epoch: number): void {
    for (let index = 0; index < this.#count; index++) {
      const isLow = this.effective(index) <= this.#rules.ejectionBalance
      if (isLow && isActiveAt(this.#after, index, epoch)) this.#isExiting[index] = 1
    }
  }

  /** Halfway to its withdrawal, a slashed validator gets a penalty in proportion to all recent slashings. */
  applySlashingPenalties({ epoch, activeIncrements }: Stake): void {
    const due = epoch + Math.floor(this.#slashings.length / 2)
    const penaltyOf = slashingPenalties(this.#rules, epoch, this.#slashings, activeIncrements)
    for (let index = 0; index < this.#count; index++) {
      if (this.slashed[index] === 1 && this.#after.withdrawable[index] === due)
        this.#add(index, 0 - penaltyOf(this.#increments[index] as number))
    }
    this.#slashings[(epoch + 1) % this.#slashings.length] = 0
  }

  /** `finalizedSlot`: at the end of the epoch. */
  applyPendingDeposits(stake: Stake, finalizedSlot: number): void {
    const indices = indicesOfKeys(this.#after, pubkeysOf(this.#deposits.candidates()))
    const targetOf = (pubkey: string): DepositTarget => {
      const index = indices.get(pubkey)
      if (index === undefined || index >= this.#count) return 'usual'
      if ((this.#after.withdrawable[index] as number) <= stake.epoch) return 'withdrawn'
      return this.isExiting(index) ? 'exiting' : 'usual'
    }
    this.#deposits.apply(stake, finalizedSlot, targetOf, (pubkey, gwei) =>
      this.#deposit(indices.get(pubkey), gwei, true),
    )
  }

  applyPendingConsolidations(epoch: number): void {
    let done = 0
    for (const { source, target } of readQueuedConsolidations(this.#consolidations)) {
      const isSlashed = this.slashed[source] === 1
      if (!isSlashed && !((this.#after.withdrawable[source] as number) <= epoch + 1)) break
      done += 1
      if (isSlashed) continue
      const gwei = Math.min(this.#balance[source] as number, this.effective(source))
      this.#add(source, 0 - gwei)
      this.#add(target, gwei)
    }
    this.#consolidations = this.#consolidations.subarray(done * consolidationSize)
  }

  /** Effective balances follow balances with a hysteresis. */
  updateEffectiveBalances(epoch: number): void {
    const isElectra = isFrom(this.#rules, 'electra', epoch)
    const isWithinBand = hysteresisBand(this.#rules)
    for (let index = 0; index < this.#count; index++) {
      const balance = this.#balance[index] as number
      if (isWithinBand(this.effective(index), balance)) continue
      const max = this.effectiveMax(index, isElectra)
      this.#increments[index] = Math.floor(Math.min(balance, max) / this.#rules.increment)
    }
  }

  get count(): number {
    return this.#count
  }

  balance(index: number): number {
    return this.#balance[index] as number
  }

  hasAddress(index: number): boolean {
    return this.#credentials.hasAddress(index)
  }

  withdrawable(index: number): number {
    return this.#after.withdrawable[index] as number
  }

  isExiting(index: number): boolean {
    return this.#isExiting[index] === 1
  }

  effectiveMax(index: number, isElectra = true): number {
    const { phase0, electra } = this.#rules.effectiveMax
    return isElectra && this.#credentials.typeOf(index) === credentialsType.compounding ? electra : phase0
  }

  effective(index: number): number {
    return (this.#increments[index] as number) * this.#rules.increment
  }

  /** A balance never falls below zero. */
  #add(index: number, gwei: number): void {
    this.#balance[index] = Math.max(0, (this.#balance[index] as number) + gwei)
  }
}
