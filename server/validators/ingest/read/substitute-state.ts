// Validators at the beginning of an epoch whose own state cannot be had (behaviour/validators.md#beacon-states): from a state later in the same epoch,
// or from those of the epochs before and after it. Where the latter agree about a validator, it was so in between as well; where
// they do not, nothing is guessed. Balances change with every epoch and are not part of it.
import { type Block, slashedIn } from '#sources/beacon/block.ts'
import type { Validators } from '#sources/beacon/validators.ts'

/** Undefined when the two do not agree. */
export function substituteState(past: Validators | undefined, coming: Validators | undefined): Validators | undefined {
  if (!past || !coming || past.count !== coming.count) return undefined
  const comparedColumns = ['increments', 'slashed', 'activation', 'exit', 'withdrawable', 'eligible'] as const
  for (const name of comparedColumns) {
    const [a, b] = [past[name], coming[name]]
    for (let index = 0; index < past.count; index++) if (a[index] !== b[index]) return undefined
  }
  return { ...past, scores: undefined }
}

/** Takes back what the epoch's first block slashed, unless it had been slashed before. */
export function unslash(later: Validators, block: Block, past: Validators, pastBlocks: readonly Block[]): Validators {
  const slashed = later.slashed.slice()
  const accused = new Set(pastBlocks.flatMap(slashedIn))
  for (const index of slashedIn(block)) if (past.slashed[index] !== 1 && !accused.has(index)) slashed[index] = 0
  return { ...later, slashed }
}
