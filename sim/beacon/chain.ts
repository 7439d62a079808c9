// The state of a simulated chain and its rules, written as the consensus specifications write them: one validator at a time,
// bigints, nothing shared with the ingest that is tested against it.
import type { Fork } from '#core/consensus.ts'
import type { Ledger } from './ledger.ts'
import type { Plan } from './plan.ts'

export interface SimValidator {
  readonly pubkey: string
  credentials: string
  balance: bigint
  effective: bigint
  slashed: boolean
  eligible: number
  activation: number
  exit: number
  withdrawable: number
  score: bigint
  /** Bits: source, target, head. */
  previous: number
  current: number
}

export const far = Number.POSITIVE_INFINITY
export const eth = 1_000_000_000n
const slashingsVector = 8

export class ChainState {
  readonly plan: Plan
  readonly ledger: Ledger
  readonly validators: SimValidator[] = []
  justified = 0
  previousJustified = 0
  finalized = 0
  #bits = [false, false, false, false]
  readonly #slashed = new Array<bigint>(slashingsVector).fill(0n)
  /** Deposits and excess balances that wait for an epoch's end. */
  readonly queue: { validator: number; amount: bigint }[] = []
  readonly consolidations: { from: number; to: number }[] = []

  constructor(plan: Plan, ledger: Ledger) {
    this.plan = plan
    this.ledger = ledger
  }

  isFrom(fork: Fork, epoch: number): boolean {
    return epoch >= (this.plan.forkEpochs[fork] ?? far)
  }

  isActive(index: number, epoch: number): boolean {
    const { activation, exit } = this.validators[index] as SimValidator
    return activation <= epoch && epoch < exit
  }

  active(epoch: number): number[] {
    return this.validators.map((_, index) => index).filter((index) => this.isActive(index, epoch))
  }

  totalActive(epoch: number): bigint {
    return atLeastOneEth(this.active(epoch).reduce((sum, index) => sum + this.#of(index).effective, 0n))
  }

  basePerIncrement(epoch: number): bigint {
    return (eth * 64n) / integerRoot(this.totalActive(epoch))
  }

  baseReward(index: number, epoch: number): bigint {
    return (this.#of(index).effective / eth) * this.basePerIncrement(epoch)
  }

  /** Balance changes that are earned belong to the epoch whose first state they follow. */
  earn(index: number, amount: bigint, slot: number): void {
    const validator = this.#of(index)
    const taken = validator.balance + amount < 0n ? -validator.balance : amount
    validator.balance += taken
    this.ledger.add(Math.floor((slot - 1) / this.plan.slotsPerEpoch), index, 'earnings', taken)
  }

  slash(index: number, proposer: number, slot: number): void {
    const epoch = Math.floor(slot / this.plan.slotsPerEpoch)
    const validator = this.#of(index)
    if (validator.exit === far) {
      validator.exit = epoch + 2
      validator.withdrawable = validator.exit + 2
    }
    validator.slashed = true
    validator.withdrawable = Math.max(validator.withdrawable, epoch + slashingsVector)
    const at = epoch % slashingsVector
    this.#slashed[at] = (this.#slashed[at] as bigint) + validator.effective
    const quotient = this.isFrom('electra', epoch) ? 4096n : this.isFrom('bellatrix', epoch) ? 32n : 64n
    this.earn(index, -(validator.effective / quotient), slot)
    const reward = validator.effective / (this.isFrom('electra', epoch) ? 4096n : 512n)
    this.earn(proposer, reward, slot)
    this.ledger.add(epoch, proposer, 'block_reward', reward)
    this.ledger.add(epoch, proposer, 'slashes_collected', 1)
    this.ledger.add(epoch, index, 'slashes_received', 1)
  }

  /** What happens between the last slot of an epoch and the first one of the next. */
  endEpoch(ended: number): void {
    const slot = (ended + 1) * this.plan.slotsPerEpoch
    this.#justify(ended)
    if (ended > 0) {
      this.#moveScores(ended)
      this.#payVotes(ended, slot)
    }
    for (const validator of this.validators) {
      if (validator.eligible === far && validator.effective >= 32n * eth) validator.eligible = ended + 1
      if (validator.eligible <= ended && validator.activation === far) validator.activation = ended + 2
    }
    this.#punishSlashed(ended, slot)
    this.#moveQueues(ended)
    for (const validator of this.validators) updateEffective(validator, this.isFrom('electra', ended))
    this.#slashed[(ended + 1) % slashingsVector] = 0n
    for (const validator of this.validators) {
      validator.previous = validator.current
      validator.current = 0
    }
  }

  #of(index: number): SimValidator {
    return this.validators[index] as SimValidator
  }

  /** Unslashed, active in the epoch, with the flag. */
  #stakeOf(epoch: number, which: 'previous' | 'current', bit: number): bigint {
    const having = this.active(epoch).filter((index) => !this.#of(index).slashed && this.#of(index)[which] & bit)
    return atLeastOneEth(having.reduce((sum, index) => sum + this.#of(index).effective, 0n))
  }

  #justify(current: number): void {
    if (current <= 1) return
    const total = this.totalActive(current)
    const [oldPrevious, oldCurrent] = [this.previousJustified, this.justified]
    this.previousJustified = this.justified
    this.#bits = [false, ...this.#bits.slice(0, 3)]
    if (this.#stakeOf(current - 1, 'previous', 2) * 3n >= total * 2n) {
      this.justified = current - 1
      this.#bits[1] = true
    }
    if (this.#stakeOf(current, 'current', 2) * 3n >= total * 2n) {
      this.justified = current
      this.#bits[0] = true
    }
    const [b0, b1, b2, b3] = this.#bits
    if (b1 && b2 && b3 && oldPrevious + 3 === current) this.finalized = oldPrevious
    if (b1 && b2 && oldPrevious + 2 === current) this.finalized = oldPrevious
    if (b0 && b1 && b2 && oldCurrent + 2 === current) this.finalized = oldCurrent
    if (b0 && b1 && oldCurrent + 1 === current) this.finalized = oldCurrent
  }

  isLeaking(ended: number): boolean {
    return ended - 1 - this.finalized > 2
  }

  #eligible(ended: number): number[] {
    return this.validators
      .map((_, index) => index)
      .filter((index) => {
        const { slashed, withdrawable } = this.#of(index)
        return this.isActive(index, ended - 1) || (slashed && ended < withdrawable)
      })
  }

  #moveScores(ended: number): void {
    for (const index of this.#eligible(ended)) {
      const validator = this.#of(index)
      const hasTarget = !validator.slashed && (validator.previous & 2) !== 0
      if (hasTarget) validator.score -= validator.score > 1n ? 1n : validator.score
      else validator.score += 4n
      if (!this.isLeaking(ended)) validator.score -= validator.score < 16n ? validator.score : 16n
    }
  }

  #payVotes(ended: number, slot: number): void {
    const epoch = ended - 1
    const increments = this.totalActive(ended) / eth
    const weights = [14n, 26n, 14n]
    const shares = [1, 2, 4].map((bit) => this.#stakeOf(epoch, 'previous', bit) / eth)
    const deltas = this.#eligible(ended).map((index) => {
      const base = this.baseReward(index, ended)
      const validator = this.#of(index)
      const flags = validator.slashed ? 0 : validator.previous
      const ideal = weights.map((weight, at) =>
        this.isLeaking(ended) ? 0n : (base * weight * (shares[at] as bigint)) / (increments * 64n),
      )
      const parts = weights.map((weight, at) =>
        flags & (1 << at) ? (ideal[at] as bigint) : at === 2 ? 0n : -((base * weight) / 64n),
      )
      const quotient = this.isFrom('bellatrix', ended) ? 16_777_216n : 50_331_648n
      const leak = flags & 2 ? 0n : (validator.effective * validator.score) / (4n * quotient)
      return { index, parts, leak, ideal: ideal.reduce((sum, part) => sum + part, 0n) }
    })
    for (const { index, parts, leak, ideal } of deltas) {
      this.#writePay(epoch, index, parts as [bigint, bigint, bigint], leak, ideal)
      for (const part of [...parts, -leak]) this.earn(index, part, slot)
    }
  }

  #writePay(epoch: number, index: number, parts: readonly [bigint, bigint, bigint], leak: bigint, ideal: bigint): void {
    const row = this.ledger.row(epoch, index)
    const add = (name: Parameters<Ledger['add']>[2], value: bigint) => this.ledger.add(epoch, index, name, value)
    const [source, target, head] = parts
    const gain = (part: bigint) => (part > 0n ? part : 0n)
    const loss = (part: bigint) => (part < 0n ? part : 0n)
    add('attestation_reward', gain(source) + gain(target) + head)
    if (!row.included || this.#of(index).slashed) {
      add('missed_attestation_penalty', loss(source) + loss(target) - leak)
      if (row.assigned && !row.included) add('missed_attestation_reward', ideal)
    } else {
      add('late_source_penalty', loss(source))
      add(row.correct_target ? 'late_target_penalty' : 'wrong_target_penalty', loss(target) - leak)
    }
  }

  /** Halfway to their withdrawal the slashed pay in proportion to all that were slashed around the same time. */
  #punishSlashed(ended: number, slot: number): void {
    const total = this.totalActive(ended)
    const sum = this.#slashed.reduce((all, one) => all + one, 0n) * (this.isFrom('bellatrix', ended) ? 3n : 2n)
    const adjusted = least(sum, total)
    this.validators.forEach((validator, index) => {
      if (!validator.slashed || ended + slashingsVector / 2 !== validator.withdrawable) return
      this.earn(index, -(((validator.effective / eth) * adjusted) / total) * eth, slot)
    })
  }

  #moveQueues(ended: number): void {
    if (!this.isFrom('electra', ended)) return
    for (const { validator, amount } of this.queue.splice(0, 3)) this.#of(validator).balance += amount
    for (const { from, to } of this.consolidations.splice(0)) {
      const source = this.#of(from)
      const moved = least(source.balance, source.effective)
      source.balance -= moved
      this.#of(to).balance += moved
    }
  }
}

function updateEffective(validator: SimValidator, isElectra: boolean): void {
  const { balance, effective } = validator
  const max = isElectra && validator.credentials.startsWith('0x02') ? 2048n * eth : 32n * eth
  if (balance + eth / 4n >= effective && effective + (eth * 5n) / 4n >= balance) return
  const whole = balance - (balance % eth)
  validator.effective = least(whole, max)
}

/** Math.min knows no bigints. */
export const least = (a: bigint, b: bigint): bigint => [a, b].sort((x, y) => (x < y ? -1 : 1))[0] as bigint

const atLeastOneEth = (sum: bigint): bigint => (sum < eth ? eth : sum)

/** Newton, as the specifications have it. */
export function integerRoot(value: bigint): bigint {
  let x = value
  let y = (x + 1n) / 2n
  while (y < x) {
    x = y
    y = (x + value / x) / 2n
  }
  return x
}
