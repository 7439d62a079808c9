// When: the first epoch of the segment was computed from blocks, and the result contradicts the rest of the segment.
// Proves: the computation is wrong, not a node. The epoch counts as one without states again, and is skipped.
// Costs: a gap.
import type { ProcessWay } from '../segment-way.ts'

export const withoutComputedEpochs: ProcessWay = async (context, { request, contradiction }) => {
  if (!contradiction || !context.segmentProcessor.isComputed(request.from)) return { is: 'next' }
  const refusalOfComputed = contradiction.message
  return {
    is: 'no states',
    reason: `epoch ${request.from} was computed from blocks, but ${refusalOfComputed}`,
    refusalOfComputed,
  }
}
