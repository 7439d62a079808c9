// Computes how one block changes balances: the parts of the proposer's reward, sync committee rewards and penalties,
// and slashings. The reward for included votes comes from votes.ts.

import { type Block, hasBit, slashedIn } from '#sources/beacon/block.ts'
import { type ConsensusRules, isFrom } from '#sources/beacon/consensus.ts'
import { floorDivide, type Stake } from './stake.ts'

export interface BlockEffects {
  readonly slot: number
  readonly proposer: number
  /** Gwei for the proposer. */
  readonly votes: number
  readonly sync: number
  readonly slashings: number
  /** One entry per seat: the validator, and whether it signed. */
  readonly seats: readonly { readonly validator: number; readonly signed: boolean }[]
  readonly slashed: readonly { readonly validator: number; readonly penalty: number }[]
  /** Gwei for a sync signature; a missing one costs the same amount. */
  readonly syncSeat: number
}

/**
 * `wasSlashed`: already slashed validators. Those that the block slashes are added, since a second proof has no effect.
 */
export function computeEffects(
  rules: ConsensusRules,
  block: Block,
  stake: Stake,
  syncCommittee: ArrayLike<number>,
  votesGwei: number,
  wasSlashed: Set<number>,
): BlockEffects {
  const seats = Array.from({ length: syncCommittee.length }, (_, seat) => ({
    validator: syncCommittee[seat] as number,
    signed: hasBit(block.syncBits, seat),
  }))
  const signatures = seats.reduce((sum, { signed }) => sum + (signed ? 1 : 0), 0)
  const { slashed, rewards } = computeSlashings(rules, block, stake, wasSlashed)
  return {
    slot: block.slot,
    proposer: block.proposer,
    votes: votesGwei,
    sync: signatures * stake.syncProposer,
    slashings: rewards,
    seats,
    slashed,
    syncSeat: stake.syncSeat,
  }
}

export const proposerReward = ({ votes, sync, slashings }: BlockEffects): number => votes + sync + slashings

function computeSlashings(rules: ConsensusRules, block: Block, stake: Stake, wasSlashed: Set<number>) {
  const { validators, epoch } = stake
  const isElectra = isFrom(rules, 'electra', epoch)
  const penaltyQuotient = isElectra
    ? rules.slashingQuotient.electra
    : isFrom(rules, 'bellatrix', epoch)
      ? rules.slashingQuotient.bellatrix
      : rules.slashingQuotient.altair
  const rewardQuotient = isElectra ? rules.whistleblowerQuotient.electra : rules.whistleblowerQuotient.altair
  const slashed: { validator: number; penalty: number }[] = []
  let rewards = 0
  for (const validator of slashedIn(block)) {
    if (wasSlashed.has(validator) || !isSlashable(stake, validator)) continue
    wasSlashed.add(validator)
    const balance = (validators.increments[validator] as number) * rules.increment
    slashed.push({ validator, penalty: 0 - floorDivide(balance, penaltyQuotient) })
    rewards += floorDivide(balance, rewardQuotient)
  }
  return { slashed, rewards }
}

/** Ignores whether the validator was slashed before. */
export const isSlashable = ({ validators, epoch }: Stake, validator: number): boolean =>
  (validators.activation[validator] as number) <= epoch && epoch < (validators.withdrawable[validator] as number)
