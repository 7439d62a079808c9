// How much of a stream has been read, measured against its target and not against what was read, and how long the rest takes.
import type { StreamView } from '#shared/console-calls.ts'
import { formatCount, formatDuration } from '../../parts/format.ts'

/** Only blocks and epochs have a range. */
export const unitOf = ({ group }: Pick<StreamView, 'group'>): 'blocks' | 'epochs' =>
  group === 'explorer' ? 'blocks' : 'epochs'

/** Rounded down: 100 % is shown only if nothing is missing. */
const formatShare = (share: number): string => `${Math.floor(share * 10_000 + 1e-9) / 100} %`

export function coverageText(stream: StreamView): string {
  const { from, until, read, target, share, remaining } = stream
  if (from === null || until === null || read === null) return ''
  if (target === null || share === null || remaining === null)
    return `${formatCount(read)} ${unitOf(stream)} read. How many there are is not known.`
  const total = target - from
  return `${formatCount(total - remaining)} of ${formatCount(total)} ${unitOf(stream)} read (${formatShare(share)}).`
}

/** Empty if nothing is left to read, or the rate is not known. */
export function rateText(stream: StreamView): string {
  const { remaining, perSecond, remainingSeconds, progress } = stream
  // Without a node, nothing is meant to be read.
  if (stream.status === 'not syncing') return ''
  if (remaining !== null) {
    if (remaining === 0 || perSecond === null) return ''
    if (perSecond === 0) return `Nothing was read in the last 15 minutes.`
    const rest = remainingSeconds === null ? '' : `, about ${formatDuration(remainingSeconds)} remaining`
    return `${formatRate(perSecond)} ${unitOf(stream)}/s${rest}.`
  }
  // Feeds have no range. Their rate is known to the process that reads them.
  if (!progress || progress.done === 0) return ''
  return `${formatRate(progress.perSecond)} ${progress.unit}/s.`
}

const formatRate = (perSecond: number): string => perSecond.toFixed(perSecond < 10 ? 2 : 0)
