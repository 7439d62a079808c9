// The proposers of an epoch as the chain chooses them, so that no node has to be trusted for those of empty slots.
import { type Block, slashedIn } from './block.ts'
import { type ConsensusRules, firstSlotAt, isFrom } from './consensus.ts'
import { mixFromBlocks } from './duty-seeds.ts'
import { computeProposers, type DutyColumns } from './shuffle.ts'
import { isActiveAt, type Validators } from './validators.ts'

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
    from && mix
      ? computeProposers(rules, epoch, candidatesIn(rules, epoch, from, blocks), mix)
      : now?.seeds?.lookahead?.slice(0, rules.slotsPerEpoch)
  if (chosen && epoch === 0) chosen[0] = -1
  return chosen
}

/**
 * Since Gloas, slashed validators are not chosen (EIP-8045). The choice is made before the block in the first slot of the
 * previous epoch, so what that block slashes does not count. The first proposers that are chosen in Gloas are those of its
 * third epoch.
 */
function candidatesIn(
  rules: ConsensusRules,
  epoch: number,
  validators: Validators,
  blocks: readonly Block[],
): DutyColumns {
  if (!isFrom(rules, 'gloas', epoch - 2)) return validators
  const previous = epoch - 1
  const first = blocks.find(({ slot }) => slot === firstSlotAt(rules, previous))
  const slashed = first ? new Set(slashedIn(first)) : new Set<number>()
  // Nearly all slashed validators have exited, so the column is copied only if it has to change.
  let exit: Float64Array | undefined
  for (let index = 0; index < validators.count; index++) {
    if (validators.slashed[index] !== 1 || !isActiveAt(validators, index, epoch)) continue
    // A slashing can name a validator that was slashed before. Only a new one sets the withdrawal this far ahead.
    const isNew = slashed.has(index) && (validators.withdrawable[index] as number) >= previous + rules.slashingsVector
    if (isNew) continue
    exit ??= validators.exit.slice()
    exit[index] = 0
  }
  return exit ? { ...validators, exit } : validators
}
