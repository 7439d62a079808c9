// When: a node has the states of the gap, or of its end, by now.
// Proves: the same as reading any epoch.
// Costs: the requests of these epochs, at most 225 at once, so that new epochs do not wait for long.
import { fillUnlessNotFound } from './fill-epochs.ts'
import type { CreateFillWay } from './fill-way.ts'

const filledEpochsMax = 225

export const createReadGap: CreateFillWay = (source) => async (gap, signal, onStep) => {
  const from = await source.processor.firstReadable(gap, signal)
  if (from === undefined) return 'no node has the states'
  const readable = { from, until: Math.min(gap.until, from + filledEpochsMax) }
  return fillUnlessNotFound(source, readable, signal, onStep)
}
