// Replays a chain for filling gaps (replay-gap.ts): computes the validators at the first slot of each epoch from those of
// the epoch before and the blocks between them. It uses the same code as ingest for votes, rewards and block effects.
import { strict as assert } from 'node:assert'
import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, firstSlotAt, isFrom } from '#sources/beacon/consensus.ts'
import type { TransitionState } from '#sources/beacon/transition-state.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { EpochData } from '../read/epoch.ts'
import { computeEffects } from '../rules/block-effects.ts'
import type { BlockWithdrawals } from '../rules/deductions.ts'
import { scoresFrom } from '../rules/inactivity-scores.ts'
import { computeStake } from '../rules/stake.ts'
import { computeVoteRewards } from '../rules/vote-rewards.ts'
import { tallyVotes, type Votes } from '../rules/votes.ts'
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
interface ReplayInput extends Pick<EpochData, 'committees' | 'sync' | 'parent'> {
  readonly blocks: readonly Block[]
  readonly nextBlocks: readonly Block[]
}

export type ChainReplay = ReturnType<typeof startReplay>

/**
 * `after`: the validators of a later state. `previous`: the epoch before the first one, whose votes are rewarded at the
 * end of the first one.
 */
export function startReplay(
  rules: ConsensusRules,
  { epoch: firstEpoch, validators: firstValidators, transition }: FullState,
  after: Validators,
  previous: Omit<ReplayInput, 'sync'>,
) {
  assert(firstEpoch > 0, 'the genesis epoch has no previous epoch')
  if (!firstValidators.scores || !firstValidators.pending)
    throw new ReplayError(`epoch ${firstEpoch}: its full state is needed`)
  const state = new ReplayedValidators(rules, firstEpoch, firstValidators, after, transition)
  const wasSlashed = new Set(firstValidators.slashed.entries().flatMap(([index, flag]) => (flag === 1 ? [index] : [])))
  let epoch = firstEpoch
  let justification = transition.justification
  let scores = scoresFrom(firstValidators.scores)
  let stake = computeStake(rules, epoch, firstValidators)
  // The rewards of proposers in the previous epoch are already in the balances, so its stake does not matter.
  let previousVotes = tallyVotes(
    rules,
    previous.committees,
    [...previous.blocks, ...previous.nextBlocks],
    [computeStake(rules, epoch - 1, firstValidators), stake],
    previous.parent,
  )
  let withdrawals = new Map<number, BlockWithdrawals>()

  /** `votes`: those that the block may include. */
  function applyBlock(block: Block, syncCommittee: ArrayLike<number>, votes: readonly Votes[]): void {
    const gwei = votes.reduce((sum, { proposerGwei }) => sum + (proposerGwei.get(block.slot) ?? 0), 0)
    const effects = computeEffects(rules, block, stake, syncCommittee, gwei, wasSlashed)
    const sameSlot = votes.map((of) => of.sameSlot.get(block.slot))
    const deducted = state.applyBlock(block, effects, { finalizedEpoch: justification.finalized, sameSlot })
    if (!block.bid) return
    if (!deducted) throw new ReplayError(`slot ${block.slot}: the state from which its withdrawals follow is not known`)
    withdrawals.set(block.slot, deducted)
  }

  /** The parts of the epoch transition that concern validators, in the order of the chain. */
  function endEpoch(votes: Votes): void {
    const isSlashed = state.slashed.slice(0, stake.validators.count)
    justification = justify(justification, { stake, previousVotes, votes, isSlashed })
    const { finalized: finalizedEpoch } = justification
    const rewarded = computeVoteRewards(rules, previousVotes, { stake, isSlashed, finalizedEpoch, scores })
    scores = rewarded.scores
    state.applyVoteRewards(rewarded.voteRewards)
    state.ejectValidators(epoch)
    state.applySlashingPenalties(stake)
    if (isFrom(rules, 'electra', epoch)) {
      state.applyPendingDeposits(stake, firstSlotAt(rules, finalizedEpoch))
      state.applyPendingConsolidations(epoch)
    }
    state.payloads?.endEpoch(epoch, stake.activeIncrements)
    state.updateEffectiveBalances(epoch)
  }

  return {
    finalizedEpoch: () => justification.finalized,
    scores: () => scores,
    /** What differs about builders from a state of a node. */
    builderDifferences: (payloads: Validators['payloads']) => state.payloads?.differences(payloads, epoch) ?? [],
    /**
     * Applies the blocks after the first slot of the epoch, the epoch transition, and the block in the first slot of the
     * next epoch. Returns the validators at that slot, and since Gloas what each block deducts, by slot.
     */
    applyEpoch({ blocks, nextBlocks, committees, sync, parent }: ReplayInput) {
      if (isFrom(rules, 'electra', epoch + 1) && !isFrom(rules, 'electra', epoch))
        throw new ReplayError(`epoch ${epoch + 1}: the upgrade to Electra cannot be computed`)
      withdrawals = new Map()
      const ownVotes = tallyVotes(rules, committees, blocks, [stake, stake], parent)
      const firstSlot = firstSlotAt(rules, epoch)
      for (const block of blocks) if (block.slot > firstSlot) applyBlock(block, sync.now, [previousVotes, ownVotes])

      endEpoch(ownVotes)

      epoch += 1
      if (isFrom(rules, 'gloas', epoch) && !isFrom(rules, 'gloas', epoch - 1)) state.upgradeToGloas(epoch)
      const nextStake = computeStake(rules, epoch, state.current())
      previousVotes = tallyVotes(rules, committees, [...blocks, ...nextBlocks], [stake, nextStake], parent)
      stake = nextStake
      const [block] = nextBlocks
      if (block?.slot === firstSlotAt(rules, epoch)) applyBlock(block, sync.next, [previousVotes])
      const validators = state.takeSnapshot()
      stake = { ...stake, validators }
      return { validators, withdrawals }
    },
  }
}
