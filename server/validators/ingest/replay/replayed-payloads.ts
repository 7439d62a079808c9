// Payloads, builders and withdrawals of a chain while blocks and epoch transitions are applied, since Gloas. Before the
// fork, it only follows the sweep for withdrawals, which continues after it.
import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, epochAt } from '#sources/beacon/consensus.ts'
import { builderPrefix } from '#sources/beacon/gloas.ts'
import type { PayloadState } from '#sources/beacon/payload-state.ts'
import type { TransitionState } from '#sources/beacon/transition-state.ts'
import { pubkeySize } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { type BlockWithdrawals, noWithdrawals } from '../rules/deductions.ts'
import { type OnboardedDeposit, onboardBuilders, ReplayedBuilders } from './replayed-builders.ts'
import { type SweptValidators, WithdrawalSweep } from './withdrawal-sweep.ts'

/** What a block is applied with besides its own content. */
export interface BlockContext {
  /** The finalized epoch of the state. */
  readonly finalizedEpoch: number
  /** Increments that voted for the block of their own slot, by that slot. */
  readonly sameSlot: readonly (ReadonlyMap<number, number> | undefined)[]
}

export class ReplayedPayloads {
  readonly #rules: ConsensusRules
  readonly #sweep: WithdrawalSweep
  readonly #after: PayloadState | undefined
  #builders: ReplayedBuilders | undefined

  constructor(
    rules: ConsensusRules,
    sweep: WithdrawalSweep,
    after: PayloadState | undefined,
    builders?: ReplayedBuilders,
  ) {
    this.#rules = rules
    this.#sweep = sweep
    this.#after = after
    this.#builders = builders
  }

  /** The withdrawals that the block deducts. */
  begin(block: Block, validators: SweptValidators, finalizedEpoch: number): BlockWithdrawals {
    const builders = this.#builders
    const epoch = epochAt(this.#rules, block.slot)
    if (!builders) return this.#sweep.take(epoch, validators, { builders: [], queue: [] })
    if (!builders.buildsOnPayload(block)) return noWithdrawals
    builders.applyParentPayload(block, finalizedEpoch)
    const withdrawals = this.#sweep.take(epoch, validators, builders)
    builders.withdraw(withdrawals.builderWithdrawals)
    return withdrawals
  }

  /** After the withdrawals. */
  finish(block: Block, { sameSlot }: BlockContext): void {
    this.#builders?.applyBlock(block, sameSlot)
  }

  endEpoch(epoch: number, activeIncrements: number): void {
    this.#builders?.endEpoch(epoch, activeIncrements)
  }

  /** What differs from a state of a node, at the first slot of an epoch. */
  differences(state: PayloadState | undefined, epoch: number): string[] {
    return this.#builders && state ? this.#builders.differences(state, epoch) : []
  }

  /**
   * The upgrade to Gloas, before the first block of the epoch. Returns the deposits that stay in the queue: those for
   * builders leave it. `isValidator`: whether a public key is that of a validator.
   */
  upgrade(
    epoch: number,
    queue: readonly OnboardedDeposit[],
    isValidator: (pubkey: string) => boolean,
  ): OnboardedDeposit[] {
    const builders = new ReplayedBuilders(this.#rules, undefined, epoch, this.#after)
    const [kept, removed]: [OnboardedDeposit[], OnboardedDeposit[]] = [[], []]
    const [keptKeys, removedKeys] = [new Set<string>(), new Set<string>()]
    for (const deposit of queue) {
      const { pubkey, bytes } = deposit
      const isBuilder = builders.existsLater(pubkey)
      const isForBuilder = bytes[pubkeySize] === builderPrefix || (isBuilder && removedKeys.has(pubkey))
      const isForNewValidator = !isBuilder && keptKeys.has(pubkey)
      const isKept = isValidator(pubkey) || !isForBuilder || isForNewValidator
      ;(isKept ? kept : removed).push(deposit)
      ;(isKept ? keptKeys : removedKeys).add(pubkey)
    }
    onboardBuilders(this.#rules, builders, removed)
    this.#builders = builders
    return kept
  }
}

/** `before`: at the first slot of an epoch. `after`: a later state. Undefined: the withdrawals cannot be computed. */
export function replayPayloads(
  rules: ConsensusRules,
  epoch: number,
  before: Pick<Validators, 'payloads'>,
  { payloads: after }: Pick<Validators, 'payloads'>,
  sweep: TransitionState['sweep'],
): ReplayedPayloads | undefined {
  if (!after) return undefined
  const { payloads } = before
  if (payloads) {
    const builders = new ReplayedBuilders(rules, payloads, epoch, after)
    return new ReplayedPayloads(rules, new WithdrawalSweep(rules, payloads), after, builders)
  }
  return sweep && new ReplayedPayloads(rules, new WithdrawalSweep(rules, { ...sweep, nextWithdrawalBuilder: 0 }), after)
}
