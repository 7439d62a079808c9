// The withdrawals of a block since Gloas. The chain deducts them with the block, and its payload must contain them. While
// payloads are missing, no further withdrawals are made.
import { far, least, maxEffective, minActivation } from '../amounts.ts'
import type { ChainState } from '../chain.ts'
import type { SimulatedValidator } from '../records.ts'
import type { SimulatedWithdrawal } from './gloas-records.ts'

export const addressIn = (credentials: string): string => `0x${credentials.slice(26)}`
export const hasAddress = (credentials: string): boolean => /^0x0[12]/.test(credentials)

/** Has no effect if the payload of the parent is missing. */
export function withdrawExpected(chain: ChainState, epoch: number): void {
  const { gloas } = chain
  if (gloas.latestHash !== gloas.bid.blockHash) return
  const list = new WithdrawalList(chain, epoch)
  list.addBuilderPayments()
  list.addPartials()
  list.addBuilders()
  list.addValidators()
  gloas.expected = list.withdrawals
  for (const { validator, isBuilder, amount } of list.withdrawals) {
    const account = isBuilder ? gloas.builders[validator] : chain.validators[validator]
    if (account) account.balance -= least(amount, account.balance)
  }
}

class WithdrawalList {
  readonly withdrawals: SimulatedWithdrawal[] = []
  readonly #chain: ChainState
  readonly #epoch: number

  constructor(chain: ChainState, epoch: number) {
    this.#chain = chain
    this.#epoch = epoch
  }

  addBuilderPayments(): void {
    const { builderWithdrawals } = this.#chain.gloas
    while (builderWithdrawals[0] && this.#hasSpaceForOthers()) {
      const { builder, recipient, gwei } = builderWithdrawals.shift() as (typeof builderWithdrawals)[number]
      this.#add({ validator: builder, isBuilder: true, address: recipient, amount: gwei })
    }
  }

  addPartials(): void {
    const { partials } = this.#chain.gloas
    const { withdrawalsMax, partialsPerSweep } = this.#chain.constants
    const max = Math.min(this.withdrawals.length + partialsPerSweep, withdrawalsMax - 1)
    while (partials[0] && partials[0].withdrawable <= this.#epoch && this.withdrawals.length < max) {
      const { validator: index, gwei } = partials.shift() as (typeof partials)[number]
      const { exit, effective, credentials } = this.#chain.at(index)
      const excess = this.#balance(index) - minActivation
      if (exit === far && effective >= minActivation && excess > 0n) {
        this.#add({ validator: index, address: addressIn(credentials), amount: least(excess, gwei) })
        this.#chain.truth.note('partial withdrawal')
      }
    }
  }

  /** What is left of builders that have exited. */
  addBuilders(): void {
    const { gloas, constants } = this.#chain
    const { builders } = gloas
    for (let count = Math.min(builders.length, constants.buildersPerSweep); count > 0; count--) {
      if (!this.#hasSpaceForOthers()) return
      const { withdrawable, balance, address } = builders[gloas.nextBuilder] as (typeof builders)[number]
      if (withdrawable <= this.#epoch && balance > 0n)
        this.#add({ validator: gloas.nextBuilder, isBuilder: true, address, amount: balance })
      gloas.nextBuilder = (gloas.nextBuilder + 1) % builders.length
    }
  }

  addValidators(): void {
    const { gloas, constants, validators } = this.#chain
    const first = gloas.nextValidator
    const count = Math.min(validators.length, constants.validatorsPerSweep)
    for (let at = 0; at < count && this.withdrawals.length < constants.withdrawalsMax; at++) {
      const index = (first + at) % validators.length
      const amount = this.#excess(this.#chain.at(index), this.#balance(index))
      if (amount > 0n) {
        const address = addressIn(this.#chain.at(index).credentials)
        this.#add({ validator: index, address, amount })
      }
    }
    // A full list ends the sweep at its last validator; otherwise the next one begins after all that were looked at.
    const isFull = this.withdrawals.length === constants.withdrawalsMax
    const last = this.withdrawals.at(-1)
    gloas.nextValidator =
      (isFull && last ? last.validator + 1 : first + constants.validatorsPerSweep) % validators.length
  }

  #excess({ credentials, withdrawable, effective }: SimulatedValidator, balance: bigint): bigint {
    if (!hasAddress(credentials)) return 0n
    if (withdrawable <= this.#epoch) return balance
    const max = maxEffective(credentials)
    return effective === max && balance > max ? balance - max : 0n
  }

  /** After the withdrawals before. */
  #balance(index: number): bigint {
    const earlier = this.withdrawals.filter(({ validator, isBuilder }) => validator === index && !isBuilder)
    return earlier.reduce((rest, { amount }) => rest - amount, this.#chain.at(index).balance)
  }

  /** One place is reserved for the sweep over validators. */
  #hasSpaceForOthers(): boolean {
    return this.withdrawals.length < this.#chain.constants.withdrawalsMax - 1
  }

  #add(withdrawal: Omit<SimulatedWithdrawal, 'index'>): void {
    this.withdrawals.push({ index: this.#chain.gloas.nextWithdrawal, ...withdrawal })
    this.#chain.gloas.nextWithdrawal += 1
  }
}
