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
  /** One entry per seat of the sync committee. */
  readonly seats: readonly SyncSeat[]
  readonly slashed: readonly { readonly validator: number; readonly penalty: number }[]
  /** Gwei for a sync signature; a missing one costs the same amount. */
  readonly syncSeat: number
}

export interface SyncSeat {
  readonly validator: number
  readonly signed: boolean
  /** What the seat changed: `syncSeat` for a signature. A missing one takes as much, but at most the balance. */
  readonly gwei: number
}

/**
 * The penalties of sync seats are those of a sufficient balance: `computeEarnings` returns what was taken. `wasSlashed`: already slashed validators. Those that the block slashes are added, since a second proof has no effect.
 */
export function computeEffects(
  rules: ConsensusRules,
  block: Block,
  stake: Stake,
  syncCommittee: ArrayLike<number>,
  votesGwei: number,
  wasSlashed: Set<number>,
): BlockEffects {
  const seats = Array.from({ length: syncCommittee.length }, (_, seat) => {
    const signed = hasBit(block.syncBits, seat)
    return { validator: syncCommittee[seat] as number, signed, gwei: signed ? stake.syncSeat : 0 - stake.syncSeat }
  })
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
