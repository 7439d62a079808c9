// The proposers of an epoch as the chain chooses them, so that no node has to be trusted for those of empty slots.
import type { Block } from './block.ts'
import { type ConsensusRules, isFrom } from './consensus.ts'
import { mixFromBlocks } from './duty-seeds.ts'
import { computeProposers } from './shuffle.ts'
import type { Validators } from './validators.ts'

export interface ProposerChoice {
  /** The validators at the first slot of the epoch. */
  readonly now: Validators | undefined
  /** The validators at the first slot of the previous epoch. */
  readonly previous: Validators | undefined
  /** In ascending order: all from the first slot of the previous epoch on, or none. */
  readonly blocks: readonly Block[]
}

/** By slot; −1: the genesis slot has no proposer. Undefined: something is missing that determines them. */
export function chooseProposers(
  rules: ConsensusRules,
  epoch: number,
  { now, previous, blocks }: ProposerChoice,
): Int32Array | undefined {
  // Since Fulu, they are chosen an epoch ahead.
  const isAhead = isFrom(rules, 'fulu', epoch - 1)
  const from = isAhead ? previous : now
  const mix = mixFromBlocks(rules, epoch, blocks) ?? from?.seeds?.mixes[isAhead ? 'next' : 'now']
  const chosen =
    from && mix ? computeProposers(rules, epoch, from, mix) : now?.seeds?.lookahead?.slice(0, rules.slotsPerEpoch)
  if (chosen && epoch === 0) chosen[0] = -1
  return chosen
}
