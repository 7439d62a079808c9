// The validators of a chain while blocks and epoch transitions are applied to them, as the consensus specifications
// define it.
//
// 1. What the chain never reverts comes from a later state: public keys, and the epochs of activation, exit and
//    withdrawal. Such an epoch is always in the future when the chain sets it. So it makes no difference to any duty or
//    reward that it is known from the start.
// 2. A deposit with an invalid signature creates no validator. The later state lists the validators that were created,
//    in the order of their creation, so no signature needs to be verified.
// 3. Everything else is computed: balances, effective balances, slashings, credentials and the queue of deposits.

import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, epochAt, isFrom } from '#sources/beacon/consensus.ts'
import { consolidationSize, depositSize, emptyPendingQueues, type PendingQueues } from '#sources/beacon/pending.ts'
import { View } from '#sources/beacon/ssz.ts'
import type { TransitionState } from '#sources/beacon/transition-state.ts'
import { credentialsSize, indicesOfKeys, pubkeySize } from '#sources/beacon/validator-keys.ts'
import { isActiveAt, type Validators } from '#sources/beacon/validators.ts'
import type { BlockEffects } from '../epochs/block-effects.ts'
import type { Stake } from '../epochs/stake.ts'
import type { VoteRewards } from '../epochs/vote-rewards.ts'
import {
  consolidationRequests,
  depositRequests,
  keysIn,
  readQueuedConsolidations,
  readQueuedDeposits,
  unsignedDeposit,
  type ValidatorRequest,
  withdrawalRequests,
} from './execution-requests.ts'

const credentialsType = { address: 1, compounding: 2 } as const

export class ReplayedValidators {
  /** By validator, also of those that do not exist yet. */
  readonly slashed: Uint8Array
  readonly #rules: ConsensusRules
  readonly #after: Validators
  readonly #balance: Float64Array
  readonly #increments: Uint32Array
  readonly #slashings: Float64Array
  /** 1: the validator is exiting or has exited. The later state also has the exits that begin later. */
  readonly #isExiting: Uint8Array
  #count: number
  /** With those of validators that are created later. */
  #credentials: Uint8Array
  /** A snapshot has the same credentials, so they must be copied before they change. */
  #areCredentialsShared = false
  #deposits: Buffer
  #queued: Uint8Array[] = []
  #consolidations: Uint8Array
  #depositBalanceToConsume: number

  /** `after`: a later state of the same chain. */
  constructor(rules: ConsensusRules, before: Validators, after: Validators, transition: TransitionState) {
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
    this.#credentials = after.credentials.slice()
    this.#credentials.set(before.credentials)
    this.#deposits = Buffer.from(deposits.buffer, deposits.byteOffset, deposits.length)
    this.#consolidations = consolidations
    this.#slashings = transition.slashings.slice()
    this.#depositBalanceToConsume = transition.depositBalanceToConsume
  }

  /** The current validators. The next block or transition changes the result. */
  current(): Validators {
    const count = this.#count
    const { pubkeys, eligible, activation, exit, withdrawable } = this.#after
    return {
      count,
      pubkeys: pubkeys.subarray(0, count * pubkeySize),
      credentials: this.#credentials.subarray(0, count * credentialsSize),
      balance: this.#balance.subarray(0, count),
      increments: this.#increments.subarray(0, count),
      slashed: this.slashed.subarray(0, count),
      eligible: eligible.subarray(0, count),
      activation: activation.subarray(0, count),
      exit: exit.subarray(0, count),
      withdrawable: withdrawable.subarray(0, count),
      pending: this.#pending(),
    }
  }

  takeSnapshot(): Validators {
    const { balance, increments, slashed, ...rest } = this.current()
    this.#areCredentialsShared = true
    return { ...rest, balance: balance.slice(), increments: increments.slice(), slashed: slashed.slice() }
  }

  #pending(): PendingQueues {
    if (this.#queued.length > 0) this.#deposits = Buffer.concat([this.#deposits, ...this.#queued])
    this.#queued = []
    return { deposits: this.#deposits, consolidations: this.#consolidations }
  }

  /** In the order of the chain: withdrawals, slashings, votes, deposits, requests, sync committee. */
  applyBlock(block: Block, effects: BlockEffects): void {
    const epoch = epochAt(this.#rules, block.slot)
    for (const { validator, amount } of block.payload?.withdrawals ?? []) this.#add(validator, 0 - amount)
    for (const { validator, penalty } of effects.slashed) {
      const at = epoch % this.#slashings.length
      this.slashed[validator] = 1
      this.#isExiting[validator] = 1
      this.#slashings[at] = (this.#slashings[at] as number) + this.#effective(validator)
      this.#add(validator, penalty)
    }
    this.#add(effects.proposer, effects.slashings + effects.votes)
    const indices = indicesOfKeys(this.#after, keysIn(block))
    if (!isFrom(this.#rules, 'electra', epoch))
      for (const { pubkey, amount } of block.deposits) this.#deposit(indices.get(pubkey), amount, false)
    for (const validator of block.exits) this.#isExiting[validator] = 1
    for (const validator of block.credentialsChanges) this.#changeCredentials(validator, credentialsType.address)
    this.#applyRequests(block, epoch, indices)
    for (const { validator, signed } of effects.seats)
      this.#add(validator, signed ? effects.syncSeat : 0 - effects.syncSeat)
    this.#add(effects.proposer, effects.sync)
  }

  #applyRequests(block: Block, epoch: number, indices: ReadonlyMap<string, number>): void {
    this.#queued.push(...depositRequests(block))
    for (const request of withdrawalRequests(block))
      if (request.isExit) this.#beginExit(this.#ownedIndex(request, indices))
    for (const request of consolidationRequests(block)) {
      const index = this.#ownedIndex(request, indices)
      if (request.isSwitch) this.#switchToCompounding(index, epoch)
      else this.#beginExit(index)
    }
  }

  /** The validator of a request, if the sender is its withdrawal address. */
  #ownedIndex({ pubkey, sender }: ValidatorRequest, indices: ReadonlyMap<string, number>): number | undefined {
    const index = indices.get(pubkey)
    if (index === undefined || index >= this.#count) return undefined
    const at = index * credentialsSize
    const isOwner = new View(this.#credentials).hex(at + 12, 20) === sender
    return isOwner && this.#credentials[at] !== 0 ? index : undefined
  }

  /** The chain refuses requests of some validators. These have no exit epoch in the later state either. */
  #beginExit(index: number | undefined): void {
    if (index !== undefined && Number.isFinite(this.#after.exit[index])) this.#isExiting[index] = 1
  }

  /** A consolidation of a validator with itself. The balance above 32 ETH goes into the queue. */
  #switchToCompounding(index: number | undefined, epoch: number): void {
    if (index === undefined) return
    const at = index * credentialsSize
    const isAllowed =
      this.#credentials[at] === credentialsType.address &&
      this.#isExiting[index] === 0 &&
      isActiveAt(this.#after, index, epoch)
    if (!isAllowed) return
    this.#changeCredentials(index, credentialsType.compounding)
    const excess = (this.#balance[index] as number) - this.#rules.effectiveMax.phase0
    if (excess <= 0) return
    this.#add(index, 0 - excess)
    const pubkey = this.#after.pubkeys.subarray(index * pubkeySize, (index + 1) * pubkeySize)
    this.#queued.push(unsignedDeposit(pubkey, this.#credentials.subarray(at, at + credentialsSize), excess))
  }

  #changeCredentials(index: number, type: number): void {
    if (this.#areCredentialsShared) this.#credentials = this.#credentials.slice()
    this.#areCredentialsShared = false
    const at = index * credentialsSize
    this.#credentials.set(this.#after.credentials.subarray(at, at + credentialsSize), at)
    this.#credentials[at] = type
  }

  /** `index`: of the public key in the later state; undefined if it is not there. */
  #deposit(index: number | undefined, gwei: number, isElectra: boolean): void {
    if (index === undefined || index > this.#count) return
    this.#add(index, gwei)
    if (index < this.#count) return
    this.#count += 1
    this.#increments[index] = Math.floor(Math.min(gwei, this.#effectiveMax(index, isElectra)) / this.#rules.increment)
  }

  applyVoteRewards({ source, target, head, inactivity }: VoteRewards): void {
    for (const part of [source, target, head, inactivity])
      for (let index = 0; index < part.length; index++) this.#add(index, part[index] as number)
  }

  /** Validators with too low an effective balance exit. */
  ejectValidators(epoch: number): void {
    for (let index = 0; index < this.#count; index++) {
      const isLow = this.#effective(index) <= this.#rules.ejectionBalance
      if (isLow && isActiveAt(this.#after, index, epoch)) this.#isExiting[index] = 1
    }
  }

  /** Halfway to its withdrawal, a slashed validator gets a penalty in proportion to all recent slashings. */
  applySlashingPenalties({ epoch, activeIncrements }: Stake): void {
    const { increment, slashingMultiplier } = this.#rules
    const multiplier = slashingMultiplier[isFrom(this.#rules, 'bellatrix', epoch) ? 'bellatrix' : 'altair']
    const slashed = this.#slashings.reduce((sum, gwei) => sum + BigInt(gwei), 0n) * BigInt(multiplier)
    const total = BigInt(activeIncrements) * BigInt(increment)
    const adjusted = slashed < total ? slashed : total
    const isElectra = isFrom(this.#rules, 'electra', epoch)
    const due = epoch + Math.floor(this.#slashings.length / 2)
    for (let index = 0; index < this.#count; index++) {
      if (this.slashed[index] !== 1 || this.#after.withdrawable[index] !== due) continue
      const increments = BigInt(this.#increments[index] as number)
      const penalty = isElectra
        ? (adjusted / BigInt(activeIncrements)) * increments
        : ((increments * adjusted) / total) * BigInt(increment)
      this.#add(index, 0 - Number(penalty))
    }
    this.#slashings[(epoch + 1) % this.#slashings.length] = 0
  }

  /**
   * Applies queued deposits until one is not final or exceeds the churn. Deposits to exiting validators are moved to the
   * end of the queue. `finalizedSlot`: at the end of the epoch.
   */
  applyPendingDeposits({ epoch, activeIncrements }: Stake, finalizedSlot: number): void {
    const { pendingDepositsPerEpochMax, depositChurn, increment } = this.#rules
    const { quotient, max } = isFrom(this.#rules, 'gloas', epoch) ? depositChurn.gloas : depositChurn
    const share = Number((BigInt(activeIncrements) * BigInt(increment)) / BigInt(quotient))
    const churn = Math.max(depositChurn.min, share)
    const available = this.#depositBalanceToConsume + Math.min(max, churn - (churn % increment))
    const { deposits } = this.#pending()
    const candidates = readQueuedDeposits(deposits, pendingDepositsPerEpochMax)
    const indices = indicesOfKeys(
      this.#after,
      candidates.map(({ pubkey }) => pubkey),
    )
    const postponed: Uint8Array[] = []
    let [done, applied, isChurnReached] = [0, 0, false]
    for (const { pubkey, gwei, slot, bytes } of candidates) {
      if (slot > finalizedSlot) break
      const index = indices.get(pubkey)
      const isKnown = index !== undefined && index < this.#count
      const isWithdrawn = isKnown && (this.#after.withdrawable[index] as number) <= epoch
      if (isKnown && !isWithdrawn && this.#isExiting[index] === 1) postponed.push(bytes)
      else {
        isChurnReached = !isWithdrawn && applied + gwei > available
        if (isChurnReached) break
        if (!isWithdrawn) applied += gwei
        this.#deposit(index, gwei, true)
      }
      done += 1
    }
    this.#deposits = Buffer.concat([deposits.subarray(done * depositSize), ...postponed])
    this.#depositBalanceToConsume = isChurnReached ? available - applied : 0
  }

  applyPendingConsolidations(epoch: number): void {
    let done = 0
    for (const { source, target } of readQueuedConsolidations(this.#consolidations)) {
      const isSlashed = this.slashed[source] === 1
      if (!isSlashed && !((this.#after.withdrawable[source] as number) <= epoch + 1)) break
      done += 1
      if (isSlashed) continue
      const gwei = Math.min(this.#balance[source] as number, this.#effective(source))
      this.#add(source, 0 - gwei)
      this.#add(target, gwei)
    }
    this.#consolidations = this.#consolidations.subarray(done * consolidationSize)
  }

  /** Effective balances follow balances with a hysteresis. */
  updateEffectiveBalances(epoch: number): void {
    const { increment, hysteresis } = this.#rules
    const step = Math.floor(increment / hysteresis.quotient)
    const [down, up] = [step * hysteresis.down, step * hysteresis.up]
    const isElectra = isFrom(this.#rules, 'electra', epoch)
    for (let index = 0; index < this.#count; index++) {
      const balance = this.#balance[index] as number
      const effective = this.#effective(index)
      if (balance + down >= effective && effective + up >= balance) continue
      this.#increments[index] = Math.floor(Math.min(balance, this.#effectiveMax(index, isElectra)) / increment)
    }
  }

  #effectiveMax(index: number, isElectra: boolean): number {
    const { phase0, electra } = this.#rules.effectiveMax
    return isElectra && this.#credentials[index * credentialsSize] === credentialsType.compounding ? electra : phase0
  }

  #effective(index: number): number {
    return (this.#increments[index] as number) * this.#rules.increment
  }

  /** A balance never falls below zero. */
  #add(index: number, gwei: number): void {
    this.#balance[index] = Math.max(0, (this.#balance[index] as number) + gwei)
  }
}
