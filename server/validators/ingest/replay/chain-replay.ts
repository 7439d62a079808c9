// Computes the validators at the first slot of each epoch from those of the epoch before and the blocks between them.
// It uses the same code as ingest for votes, rewards and the effects of blocks.
import { strict as assert } from 'node:assert'
import type { Block } from '#sources/beacon/block.ts'
import type { Committees } from '#sources/beacon/committees.ts'
import { type ConsensusRules, firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import type { Justification, TransitionState } from '#sources/beacon/transition-state.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { computeEffects } from '../epochs/block-effects.ts'
import { scoresFrom } from '../epochs/inactivity-scores.ts'
import { computeStake, type Stake } from '../epochs/stake.ts'
import { computeVoteRewards, type Scores } from '../epochs/vote-rewards.ts'
import { tallyVotes, type Votes } from '../epochs/votes.ts'
import type { EpochData } from '../read/epoch.ts'
import { justify } from './justify.ts'
import { ReplayedValidators } from './replayed-validators.ts'

/** The state at the first slot of an epoch. The validators have scores and pending queues. */
export interface FullState {
  readonly epoch: number
  readonly validators: Validators
  readonly transition: TransitionState
}

/** The epoch cannot be computed: something is not supported, or the data contradicts itself. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError'
}

/** Blocks in ascending order. */
export interface ReplayInput extends Pick<EpochData, 'committees' | 'sync'> {
  readonly blocks: readonly Block[]
  readonly nextBlocks: readonly Block[]
}

export class ChainReplay {
  readonly #rules: ConsensusRules
  readonly #state: ReplayedValidators
  readonly #wasSlashed: Set<number>
  #epoch: number
  #stake: Stake
  #previousVotes: Votes
  #justification: Justification
  #scores: Scores

  /**
   * `after`: the validators of a later state. `previous`: the epoch before `before`, whose votes are rewarded at the end
   * of the first epoch.
   */
  constructor(
    rules: ConsensusRules,
    { epoch, validators, transition }: FullState,
    after: Validators,
    previous: {
      readonly committees: Committees
      readonly blocks: readonly Block[]
      readonly nextBlocks: readonly Block[]
    },
  ) {
    assert(epoch > 0, 'the genesis epoch has no previous epoch')
    if (!validators.scores || !validators.pending) throw new ReplayError(`epoch ${epoch}: its full state is needed`)
    this.#rules = rules
    this.#epoch = epoch
    this.#state = new ReplayedValidators(rules, validators, after, transition)
    this.#wasSlashed = new Set(validators.slashed.entries().flatMap(([index, flag]) => (flag === 1 ? [index] : [])))
    this.#justification = transition.justification
    this.#scores = scoresFrom(validators.scores)
    this.#stake = computeStake(rules, epoch, validators)
    // The rewards of proposers in the previous epoch are already in the balances, so its stake does not matter.
    const stakes = [computeStake(rules, epoch - 1, validators), this.#stake] as const
    this.#previousVotes = tallyVotes(rules, previous.committees, [...previous.blocks, ...previous.nextBlocks], stakes)
  }

  get finalizedEpoch(): number {
    return this.#justification.finalized
  }

  get scores(): Scores {
    return this.#scores
  }

  /**
   * Applies the blocks after the first slot of the epoch, the epoch transition, and the block in the first slot of the
   * next epoch. Returns the validators at that slot.
   */
  applyEpoch({ blocks, nextBlocks, committees, sync }: ReplayInput): Validators {
    const rules = this.#rules
    const epoch = this.#epoch
    if (isFrom(rules, 'electra', epoch + 1) && !isFrom(rules, 'electra', epoch))
      throw new ReplayError(`epoch ${epoch + 1}: the upgrade to Electra cannot be computed`)
    const ownVotes = tallyVotes(rules, committees, blocks, [this.#stake, this.#stake])
    const first = firstSlotAt(rules, epoch)
    for (const block of blocks)
      if (block.slot > first) this.#applyBlock(block, sync.now, [this.#previousVotes, ownVotes])

    this.#endEpoch(ownVotes)

    const stake = computeStake(rules, epoch + 1, this.#state.current())
    this.#previousVotes = tallyVotes(rules, committees, [...blocks, ...nextBlocks], [this.#stake, stake])
    this.#stake = stake
    this.#epoch = epoch + 1
    const [block] = nextBlocks
    if (block?.slot === firstSlotAt(rules, epoch + 1)) this.#applyBlock(block, sync.next, [this.#previousVotes])
    const validators = this.#state.takeSnapshot()
    this.#stake = { ...stake, validators }
    return validators
  }

  /** `votes`: those that the block may include. */
  #applyBlock(block: Block, syncCommittee: ArrayLike<number>, votes: readonly Votes[]): void {
    const gwei = votes.reduce((sum, { proposerGwei }) => sum + (proposerGwei.get(block.slot) ?? 0), 0)
    this.#state.applyBlock(
      block,
      computeEffects(this.#rules, block, this.#stake, syncCommittee, gwei, this.#wasSlashed),
    )
  }

  /** The parts of the epoch transition that concern validators, in the order of the chain. */
  #endEpoch(votes: Votes): void {
    const stake = this.#stake
    const isSlashed = this.#state.slashed.slice(0, stake.validators.count)
    const previousVotes = this.#previousVotes
    this.#justification = justify(this.#justification, { stake, previousVotes, votes, isSlashed })
    const { finalized: finalizedEpoch } = this.#justification
    const input = { stake, isSlashed, finalizedEpoch, scores: this.#scores }
    const { voteRewards, scores } = computeVoteRewards(this.#rules, previousVotes, input)
    this.#scores = scores
    this.#state.applyVoteRewards(voteRewards)
    this.#state.ejectValidators(stake.epoch)
    this.#state.applySlashingPenalties(stake)
    if (isFrom(this.#rules, 'electra', stake.epoch)) {
      this.#state.applyPendingDeposits(stake, firstSlotAt(this.#rules, finalizedEpoch))
      this.#state.applyPendingConsolidations(stake.epoch)
    }
    this.#state.updateEffectiveBalances(stake.epoch)
  }
}
