// When: a state before the missing ones was recorded, and a node or a record has one after them.
// Proves: the epochs are exact: the computed state must equal the state after them (../replay/replay-gap.ts).
// Costs: all blocks between the two states, and 20 MB of memory for each epoch with a million validators.
import { computeEpochs } from './compute-epochs.ts'
import { type ContinueWay, skippedBefore } from './continue-way.ts'

export const computeSkipped: ContinueWay = async (context, event) => {
  const until = await event.findReadable()
  if (until === undefined) return undefined
  const from = skippedBefore(context, event)?.from ?? event.epochs.from
  event.problem = await computeEpochs(context.source, { from, until }, event.signal)
  if (event.problem !== undefined) return undefined
  context.skipped = undefined
  return from
}
