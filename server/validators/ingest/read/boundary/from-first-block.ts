// When: the first slot of the epoch is empty and the node has no states of empty slots, but that of the first block.
// Proves: the same validators. Within an epoch, only slashings change the columns that are used, and they are reverted.
// Costs: a state, the balances before the epoch, and sometimes the state of the previous epoch.
import { type Block, slashedIn } from '#sources/beacon/block.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { withBalancesBefore } from '../balances-before.ts'
import type { ReadBoundary } from '../boundary-way.ts'

export const fromFirstBlock: ReadBoundary = async (context, epoch, search) => {
  const { blocks, states, boundaryAt } = context
  const previousBlocks = await blocks.of(epoch - 1)
  const [firstBlock] = await blocks.of(epoch)
  const later = firstBlock && (await states.validatorsAtSlot(firstBlock.slot, search))
  if (!later) return undefined
  const validators =
    slashedIn(firstBlock).length === 0
      ? later
      : unslash(later, firstBlock, (await boundaryAt(epoch - 1)).validators, previousBlocks)
  return withBalancesBefore(context, epoch, validators, search)
}

/** Reverts the slashings of the first block of an epoch, except for validators that were slashed before. */
function unslash(later: Validators, block: Block, previous: Validators, previousBlocks: readonly Block[]): Validators {
  const slashed = later.slashed.slice()
  const slashedBefore = new Set(previousBlocks.flatMap(slashedIn))
  for (const index of slashedIn(block))
    if (previous.slashed[index] !== 1 && !slashedBefore.has(index)) slashed[index] = 0
  return { ...later, slashed }
}
