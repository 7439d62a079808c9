// When: the segment has several epochs.
// Proves: nothing yet. Its epochs are processed one by one, so that those before the missing state are stored.
// Costs: the epochs of the segment are read again.
import type { ContinueWay } from './continue-way.ts'

export const divideSegment: ContinueWay = async (context, { epochs, segmentEnd }) => {
  if (segmentEnd - epochs.from === 1) return undefined
  context.singleUntil = segmentEnd
  return epochs.from
}
