// Reduces a processed segment to some of its validators.
import { recordFrom } from '#core/record-from.ts'
import { missedFields } from '../../duties/missed.ts'
import type { Watched } from '../../duties/watch-ranges.ts'
import { measures } from '../../method/measures.ts'
import type { ProcessedSegment } from '../epochs/processed-segment.ts'

export function pickValidators(segment: ProcessedSegment, isPicked: (validator: number) => boolean): ProcessedSegment {
  const { validator, sums, missed } = segment
  const pick = <C extends Float64Array | Int32Array>(column: C, validators: Int32Array): C =>
    column.filter((_, at) => isPicked(validators[at] as number)) as C
  return {
    ...segment,
    validator: pick(validator, validator),
    sums: recordFrom(measures, (name) => pick(sums[name], validator)),
    missed: recordFrom(missedFields, (name) => pick(missed[name], missed.validator)),
  }
}

/** Whether the segment was read with a watch list that lacks validators that are stored in its epochs. */
export function omitsStored({ watched }: Pick<ProcessedSegment, 'watched'>, stored: Watched): boolean {
  if (!watched) return false
  if (stored === 'everyone') return true
  const now = new Set(watched.validators)
  return [...stored].some((index) => index < watched.count && !now.has(index))
}
