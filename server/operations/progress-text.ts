// How far a stream has been read, as text for `tetrad coverage`, the doctor and the log (behaviour/operations.md#progress).
// A line leaves out what is not known; a column of a table says that it is unknown.

import { ageText } from '#core/age.ts'
import type { StreamView } from '#shared/console-calls.ts'

/** Rounded down: 100 % means complete. */
export const shareText = ({ share }: Pick<StreamView, 'share'>): string =>
  share === null ? 'unknown' : `${(100 * share).toFixed(2)} %`

export const unitOf = ({ group }: Pick<StreamView, 'group'>): string => (group === 'explorer' ? 'blocks' : 'epochs')

export const rateText = (stream: Pick<StreamView, 'group' | 'perSecond'>): string => {
  const { perSecond } = stream
  if (perSecond === null) return 'unknown'
  // Networks at the head store an epoch every few minutes.
  const [rate, unit] = perSecond > 0 && perSecond < 1 ? [perSecond * 60, 'min'] : [perSecond, 's']
  return `${rate < 10 ? Number(rate.toFixed(1)) : Math.round(rate)} ${unitOf(stream)}/${unit}`
}

export const remainingText = ({ remainingSeconds }: Pick<StreamView, 'remainingSeconds'>): string =>
  remainingSeconds === null ? 'unknown' : ageText(remainingSeconds)

/** `24.10 % read, 12 blocks/s, 5.2 h left`, without what is not known. */
export function progressText(stream: StreamView): string {
  return [
    ...(stream.share === null ? [] : [`${shareText(stream)} read`]),
    ...(stream.perSecond === null ? [] : [rateText(stream)]),
    ...(stream.remainingSeconds === null ? [] : [`${remainingText(stream)} left`]),
  ].join(', ')
}
