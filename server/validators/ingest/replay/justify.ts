// Justification and finality at the end of an epoch, as the consensus specifications define them. They determine which
// deposits are applied and whether the chain is in an inactivity leak.
import type { Justification } from '#sources/beacon/transition-state.ts'
import type { Stake } from '../rules/stake.ts'
import { participatingIncrements } from '../rules/vote-rewards.ts'
import { flag, type Votes } from '../rules/votes.ts'

export interface JustificationInput {
  /** Of the epoch that ends. */
  readonly stake: Stake
  /** Votes of the previous epoch and of the one that ends, as far as they are included by its end. */
  readonly previousVotes: Votes
  readonly votes: Votes
  /** Slashed by the end of the epoch. */
  readonly isSlashed: Uint8Array
}

export function justify(
  before: Justification,
  { stake, previousVotes, votes, isSlashed }: JustificationInput,
): Justification {
  const { epoch } = stake
  if (epoch <= 1) return before
  const { previousJustified, currentJustified } = before
  const isJustified = (of: Votes) =>
    3 * participatingIncrements(stake, of, flag.target, isSlashed) >= 2 * stake.activeIncrements
  const [isPrevious, isCurrent] = [isJustified(previousVotes), isJustified(votes)]
  const bits = [isCurrent, before.bits[0] === true || isPrevious, before.bits[1] === true, before.bits[2] === true]
  const areSet = (from: number, until: number) => bits.slice(from, until).every(Boolean)
  let { finalized } = before
  if (areSet(1, 4) && previousJustified + 3 === epoch) finalized = previousJustified
  if (areSet(1, 3) && previousJustified + 2 === epoch) finalized = previousJustified
  if (areSet(0, 3) && currentJustified + 2 === epoch) finalized = currentJustified
  if (areSet(0, 2) && currentJustified + 1 === epoch) finalized = currentJustified
  return {
    bits,
    previousJustified: currentJustified,
    currentJustified: isCurrent ? epoch : isPrevious ? epoch - 1 : currentJustified,
    finalized,
  }
}
