// The state and the rules of a simulated chain. The rules are implemented independently of the server, close to the
// consensus specifications (one validator at a time, bigints), so that ingest can be tested against them.
import type { Fork } from '#sources/beacon/consensus.ts'
import type { NetworkPlan } from './plan.ts'
import type { Identity, SimulatedPendingDeposit, SimulatedValidator, VotePay } from './records.ts'
import type { Truth } from './truth.ts'

export const far = Number.POSITIVE_INFINITY
export const eth = 1_000_000_000n
const slashingsVector = 8
/** Queued deposits that are applied at the end of an epoch. */
const depositsPerEpoch = 3

/** The mutable state, as plain data that can be saved and restored. */
export interface ChainData {
  readonly validators: SimulatedValidator[]
  justified: number
  previousJustified: number
  finalized: number
  bits: readonly boolean[]
  readonly slashed: bigint[]
  /** Deposits that are applied at the end of an epoch. */
  readonly queue: SimulatedPendingDeposit[]
  readonly consolidations: { readonly from: number; readonly to: number; readonly epoch: number }[]
}

export const freshChain = (): ChainData => ({
  validators: [],
  justified: 0,
  previousJustified: 0,
  finalized: 0,
  bits: [false, false, false, false],
  slashed: new Array<bigint>(slashingsVector).fill(0n),
  queue: [],
  consolidations: [],
})

interface EpochStake {
  readonly active: readonly number[]
  readonly total: bigint
  readonly perIncrement: bigint
}

export class ChainState {
  readonly plan: NetworkPlan
  readonly data: ChainData
  readonly #truth: Truth
  readonly #stakes = new Map<number, EpochStake>()

  constructor(plan: NetworkPlan, truth: Truth, data: ChainData) {
    this.plan = plan
    this.#truth = truth
    this.data = data
  }

  get validators(): SimulatedValidator[] {
    return this.data.validators
  }

  isFrom(fork: Fork, epoch: number): boolean {
    return epoch >= (this.plan.forkEpochs[fork] ?? far)
  }

  active(epoch: number): readonly number[] {
    return this.#stakeAt(epoch).active
  }

  /** Sum of effective balances in gwei. */
  totalActive(epoch: number): bigint {
    return this.#stakeAt(epoch).total
  }

  perIncrement(epoch: number): bigint {
    return this.#stakeAt(epoch).perIncrement
  }

  baseReward(index: number, epoch: number): bigint {
    return (this.at(index).effective / eth) * this.perIncrement(epoch)
  }

  at(index: number): SimulatedValidator {
    return this.validators[index] as SimulatedValidator
  }

  /** Earnings count for the epoch whose first state precedes them. */
  earn(index: number, amount: bigint, slot: number): void {
    const validator = this.at(index)
    const applied = validator.balance + amount < 0n ? -validator.balance : amount
    validator.balance += applied
    this.#truth.add(Math.floor((slot - 1) / this.plan.slotsPerEpoch), index, 'earnings', applied)
  }

  enter(identity: Identity, balance: bigint, activation: number): void {
    this.validators.push({
      ...identity,
      balance,
      effective: least(balance - (balance % eth), 32n * eth),
      slashed: false,
      eligible: activation,
      activation,
      exit: far,
      withdrawable: far,
      score: 0n,
      previous: 0,
      current: 0,
    })
  }

  /** Returns the reward of the proposer. */
  slash(index: number, proposer: number, slot: number): bigint {
    const epoch = Math.floor(slot / this.plan.slotsPerEpoch)
    const validator = this.at(index)
    this.beginExit(index, epoch)
    validator.slashed = true
    validator.withdrawable = Math.max(validator.withdrawable, epoch + slashingsVector)
    const at = epoch % slashingsVector
    this.data.slashed[at] = (this.data.slashed[at] as bigint) + validator.effective
    const quotient = this.isFrom('electra', epoch) ? 4096n : this.isFrom('bellatrix', epoch) ? 32n : 64n
    this.earn(index, -(validator.effective / quotient), slot)
    const reward = validator.effective / (this.isFrom('electra', epoch) ? 4096n : 512n)
    this.earn(proposer, reward, slot)
    this.#truth.add(epoch, proposer, 'block_reward', reward)
    this.#truth.add(epoch, proposer, 'slashes_collected', 1)
    this.#truth.add(epoch, index, 'slashes_received', 1)
    return reward
  }

  /** Has no effect if the validator is already exiting. */
  beginExit(index: number, epoch: number): void {
    const validator = this.at(index)
    if (validator.exit === far) Object.assign(validator, { exit: epoch + 2, withdrawable: epoch + 4 })
  }

  /** The epoch transition. Returns the vote rewards. */
  endEpoch(ended: number): ReadonlyMap<number, VotePay> {
    const slot = (ended + 1) * this.plan.slotsPerEpoch
    this.#justify(ended)
    if (ended > 0) this.#updateScores(ended)
    const paid = ended > 0 ? this.#payVotes(ended, slot) : new Map<number, VotePay>()
    for (const validator of this.validators) {
      if (validator.eligible === far && validator.effective >= 32n * eth) validator.eligible = ended + 1
      if (validator.eligible <= ended && validator.activation === far) validator.activation = ended + 2
    }
    this.#punishSlashed(ended, slot)
    this.#processQueues(ended)
    for (const validator of this.validators) updateEffective(validator, this.isFrom('electra', ended))
    this.data.slashed[(ended + 1) % slashingsVector] = 0n
    for (const validator of this.validators) {
      validator.previous = validator.current
      validator.current = 0
    }
    this.#stakes.clear()
    return paid
  }

  #stakeAt(epoch: number): EpochStake {
    const known = this.#stakes.get(epoch)
    if (known) return known
    const active = [...this.validators.keys()].filter((index) => {
      const { activation, exit } = this.at(index)
      return activation <= epoch && epoch < exit
    })
    const total = atLeastOneEth(active.reduce((sum, index) => sum + this.at(index).effective, 0n))
    const stake = { active, total, perIncrement: (eth * 64n) / integerRoot(total) }
    this.#stakes.set(epoch, stake)
    return stake
  }

  /** Stake of the unslashed active validators with the flag. */
  #stakeOf(epoch: number, which: 'previous' | 'current', bit: number): bigint {
    const withFlag = this.active(epoch).filter((index) => !this.at(index).slashed && this.at(index)[which] & bit)
    return atLeastOneEth(withFlag.reduce((sum, index) => sum + this.at(index).effective, 0n))
  }

  #justify(current: number): void {
    if (current <= 1) return
    const { data } = this
    const total = this.totalActive(current)
    const [oldPrevious, oldCurrent] = [data.previousJustified, data.justified]
    data.previousJustified = data.justified
    let [b0, b1, b2, b3] = [false, ...data.bits.slice(0, 3)] as [boolean, boolean, boolean, boolean]
    if (this.#stakeOf(current - 1, 'previous', 2) * 3n >= total * 2n) {
      data.justified = current - 1
      b1 = true
    }
    if (this.#stakeOf(current, 'current', 2) * 3n >= total * 2n) {
      data.justified = current
      b0 = true
    }
    data.bits = [b0, b1, b2, b3]
    if (b1 && b2 && b3 && oldPrevious + 3 === current) data.finalized = oldPrevious
    if (b1 && b2 && oldPrevious + 2 === current) data.finalized = oldPrevious
    if (b0 && b1 && b2 && oldCurrent + 2 === current) data.finalized = oldCurrent
    if (b0 && b1 && oldCurrent + 1 === current) data.finalized = oldCurrent
  }

  #isLeaking(ended: number): boolean {
    return ended - 1 - this.data.finalized > 2
  }

  /** Validators that get rewards or penalties for the votes of the previous epoch. */
  #eligible(ended: number): number[] {
    return [...this.validators.keys()].filter((index) => {
      const { slashed, withdrawable, activation, exit } = this.at(index)
      return (activation <= ended - 1 && ended - 1 < exit) || (slashed && ended < withdrawable)
    })
  }

  #updateScores(ended: number): void {
    const isLeaking = this.#isLeaking(ended)
    for (const index of this.#eligible(ended)) {
      const validator = this.at(index)
      const hasTarget = !validator.slashed && (validator.previous & 2) !== 0
      if (hasTarget) validator.score -= validator.score > 1n ? 1n : validator.score
      else validator.score += 4n
      if (!isLeaking) validator.score -= validator.score < 16n ? validator.score : 16n
    }
  }

  #payVotes(ended: number, slot: number): Map<number, VotePay> {
    const epoch = ended - 1
    const isLeaking = this.#isLeaking(ended)
    const increments = this.totalActive(ended) / eth
    const quotient = this.isFrom('bellatrix', ended) ? 16_777_216n : 50_331_648n
    const shares = [1, 2, 4].map((bit) => this.#stakeOf(epoch, 'previous', bit) / eth) as [bigint, bigint, bigint]
    const paid = new Map<number, VotePay>()
    const ideals = new Map<number, bigint>()
    for (const index of this.#eligible(ended)) {
      const validator = this.at(index)
      const base = this.baseReward(index, ended)
      const flags = validator.slashed ? 0 : validator.previous
      const ideal = (weight: bigint, share: bigint) => (isLeaking ? 0n : (base * weight * share) / (increments * 64n))
      const [source, target, head] = [ideal(14n, shares[0]), ideal(26n, shares[1]), ideal(14n, shares[2])]
      ideals.set(index, source + target + head)
      paid.set(index, {
        source: flags & 1 ? source : -((base * 14n) / 64n),
        target: flags & 2 ? target : -((base * 26n) / 64n),
        head: flags & 4 ? head : 0n,
        inactivity: flags & 2 ? 0n : -((validator.effective * validator.score) / (4n * quotient)),
      })
    }
    for (const [index, pay] of paid) {
      this.#writePay(epoch, index, pay, ideals.get(index) as bigint)
      for (const part of [pay.source, pay.target, pay.head, pay.inactivity]) this.earn(index, part, slot)
    }
    return paid
  }

  #writePay(epoch: number, index: number, { source, target, head, inactivity }: VotePay, ideal: bigint): void {
    const row = this.#truth.row(epoch, index)
    const add = (name: Parameters<Truth['add']>[2], value: bigint) => this.#truth.add(epoch, index, name, value)
    const gain = (part: bigint) => (part > 0n ? part : 0n)
    const loss = (part: bigint) => (part < 0n ? part : 0n)
    if (inactivity < 0n) this.#truth.note('leak')
    add('attestation_reward', gain(source) + gain(target) + head)
    if (!row.included || this.at(index).slashed) {
      add('missed_attestation_penalty', loss(source) + loss(target) + inactivity)
      if (row.assigned && !row.included) add('missed_attestation_reward', ideal)
    } else {
      add('late_source_penalty', loss(source))
      add(row.correct_target ? 'late_target_penalty' : 'wrong_target_penalty', loss(target) + inactivity)
    }
  }

  /** Halfway to its withdrawal, a slashed validator gets a penalty in proportion to all recent slashings. */
  #punishSlashed(ended: number, slot: number): void {
    const total = this.totalActive(ended)
    const sum =
      this.data.slashed.reduce((total, gwei) => total + gwei, 0n) * (this.isFrom('bellatrix', ended) ? 3n : 2n)
    const adjusted = least(sum, total)
    this.validators.forEach((validator, index) => {
      if (!validator.slashed || ended + slashingsVector / 2 !== validator.withdrawable) return
      const increments = validator.effective / eth
      const penalty = this.isFrom('electra', ended)
        ? (adjusted / (total / eth)) * increments
        : ((increments * adjusted) / total) * eth
      this.earn(index, -penalty, slot)
    })
  }

  #processQueues(ended: number): void {
    if (!this.isFrom('electra', ended)) return
    const { queue, consolidations, finalized } = this.data
    const { slotsPerEpoch } = this.plan
    const candidates = queue.slice(0, depositsPerEpoch)
    const notFinal = candidates.findIndex(({ slot }) => slot > finalized * slotsPerEpoch)
    for (const deposit of queue.splice(0, notFinal < 0 ? candidates.length : notFinal)) {
      const { gwei, slot: _, ...identity } = deposit
      const known = this.validators.find(({ pubkey }) => pubkey === identity.pubkey)
      // A deposit to an exiting validator waits until the validator can withdraw.
      if (known && known.exit !== far && known.withdrawable > ended) queue.push(deposit)
      else if (known) known.balance += gwei
      else this.enter(identity, gwei, far)
    }
    // Requests of the ended epoch are applied at the end of the next one.
    const dueCount = consolidations.filter(({ epoch }) => epoch < ended).length
    for (const { from, to } of consolidations.splice(0, dueCount)) {
      const source = this.at(from)
      const gwei = least(source.balance, source.effective)
      source.balance -= gwei
      this.at(to).balance += gwei
    }
  }
}

function updateEffective(validator: SimulatedValidator, isElectra: boolean): void {
  const { balance, effective } = validator
  const max = isElectra && validator.credentials.startsWith('0x02') ? 2048n * eth : 32n * eth
  if (balance + eth / 4n >= effective && effective + (eth * 5n) / 4n >= balance) return
  validator.effective = least(balance - (balance % eth), max)
}

/** Math.min for bigints. */
export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

const atLeastOneEth = (sum: bigint): bigint => (sum < eth ? eth : sum)

/** Newton's method, as in the consensus specifications. */
export function integerRoot(value: bigint): bigint {
  let x = value
  let y = (x + 1n) / 2n
  while (y < x) {
    x = y
    y = (x + value / x) / 2n
  }
  return x
}
