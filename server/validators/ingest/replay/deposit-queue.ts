// The queue of pending deposits while a chain is replayed, since Electra.
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { depositSize } from '#sources/beacon/pending.ts'
import type { Stake } from '../rules/stake.ts'
import { depositChurn } from './epoch-rules.ts'
import { readQueuedDeposits } from './execution-requests.ts'
import type { OnboardedDeposit } from './replayed-builders.ts'

/**
 * The validator that a deposit is for. If it is exiting, the deposit waits. If it has been withdrawn, the deposit is
 * credited without counting against the limit of the epoch (the churn).
 */
export type DepositTarget = 'usual' | 'exiting' | 'withdrawn'

export class DepositQueue {
  readonly #rules: ConsensusRules
  #records: Buffer
  #added: Uint8Array[] = []
  /** Gwei that earlier epochs could have applied but did not. */
  #balanceToConsume: number

  constructor(rules: ConsensusRules, { buffer, byteOffset, length }: Uint8Array, balanceToConsume: number) {
    this.#rules = rules
    this.#records = Buffer.from(buffer, byteOffset, length)
    this.#balanceToConsume = balanceToConsume
  }

  /** SSZ records. */
  add(...records: readonly Uint8Array[]): void {
    this.#added.push(...records)
  }

  records(): Uint8Array {
    if (this.#added.length > 0) this.#records = Buffer.concat([this.#records, ...this.#added])
    this.#added = []
    return this.#records
  }

  all(): OnboardedDeposit[] {
    return readQueuedDeposits(this.records(), Number.POSITIVE_INFINITY)
  }

  replace(deposits: readonly OnboardedDeposit[]): void {
    this.#records = Buffer.concat(deposits.map(({ bytes }) => bytes))
  }

  /** The first deposits: no more than an epoch applies. */
  candidates(): OnboardedDeposit[] {
    return readQueuedDeposits(this.records(), this.#rules.pendingDepositsPerEpochMax)
  }

  /**
   * Applies queued deposits until one is not final or exceeds the churn. Deposits to exiting validators are moved to the
   * end of the queue. `finalizedSlot`: at the end of the epoch.
   */
  apply(
    { epoch, activeIncrements }: Stake,
    finalizedSlot: number,
    targetOf: (pubkey: string) => DepositTarget,
    credit: (pubkey: string, gwei: number) => void,
  ): void {
    const available = this.#balanceToConsume + depositChurn(this.#rules, epoch, activeIncrements)
    const postponed: Uint8Array[] = []
    let [done, applied, isChurnReached] = [0, 0, false]
    for (const { pubkey, gwei, slot, bytes } of this.candidates()) {
      if (slot > finalizedSlot) break
      const target = targetOf(pubkey)
      if (target === 'exiting') postponed.push(bytes)
      else {
        isChurnReached = target === 'usual' && applied + gwei > available
        if (isChurnReached) break
        if (target === 'usual') applied += gwei
        credit(pubkey, gwei)
      }
      done += 1
    }
    this.#records = Buffer.concat([this.#records.subarray(done * depositSize), ...postponed])
    this.#balanceToConsume = isChurnReached ? available - applied : 0
  }
}
