// Derives the validators at the start of an epoch if the node lacks that state (behaviour/validators.md#beacon-states):
// from a later state of the same epoch, or from the states one epoch before and after it if these two are equal.
// Balances are read separately.
import { type Block, slashedIn } from '#sources/beacon/block.ts'
import type { Validators } from '#sources/beacon/validators.ts'

/** Undefined if the two differ. */
export function substituteState(before: Validators | undefined, after: Validators | undefined): Validators | undefined {
  if (!before || !after || before.count !== after.count) return undefined
  const comparedColumns = ['increments', 'slashed', 'activation', 'exit', 'withdrawable', 'eligible'] as const
  for (const name of comparedColumns) {
    const [a, b] = [before[name], after[name]]
    for (let index = 0; index < before.count; index++) if (a[index] !== b[index]) return undefined
  }
  return { ...before, scores: undefined }
}

/** Reverts the slashings of the first block of an epoch, except for validators that were slashed before. */
export function unslash(
  later: Validators,
  block: Block,
  previous: Validators,
  previousBlocks: readonly Block[],
): Validators {
  const slashed = later.slashed.slice()
  const slashedBefore = new Set(previousBlocks.flatMap(slashedIn))
  for (const index of slashedIn(block))
    if (previous.slashed[index] !== 1 && !slashedBefore.has(index)) slashed[index] = 0
  return { ...later, slashed }
}
