// When: a node has the states of the gap, or of its end, by now.
// Proves: the same as reading any epoch.
// Costs: the requests of these epochs, one segment at once, so that new epochs do not wait for long.
import { segmentEnd } from '../write/ingest-source.ts'
import { fillUnlessNotFound } from './fill-epochs.ts'
import type { CreateFillWay } from './fill-way.ts'

export const createReadGap: CreateFillWay = (source) => async (gap, signal, onStep) => {
  const from = await source.processor.firstReadable(gap, signal)
  if (from === undefined) return 'no node has the states'
  const readable = { from, until: segmentEnd(source.time, from, gap.until) }
  if (!(await source.processor.preparePast(readable, signal))) return undefined
  return fillUnlessNotFound(source, readable, signal, onStep)
}
