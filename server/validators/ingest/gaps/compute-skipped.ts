// When: a record or a node has a full state before the missing ones, and one after them.
// Proves: the epochs are exact: the computed state must equal the state after them (../replay/replay-gap.ts).
// Costs: all blocks between the two states, and 20 MB of memory for each epoch with a million validators.
import { computeMissing } from './compute-missing.ts'
import { type ContinueWay, skippedBefore } from './continue-way.ts'

export const computeSkipped: ContinueWay = async (context, event) => {
  const until = await event.findReadable()
  if (until === undefined) return undefined
  const from = skippedBefore(context, event)?.from ?? event.epochs.from
  const result = await computeMissing(context.source, { from, until }, event.signal)
  if (result.is === 'impossible') {
    event.problem = result.reason
    return undefined
  }
  context.skipped = undefined
  return from
}
