// Reduces a processed segment to some of its validators.
import { type MissedField, missedFields } from '../duties/missed.ts'
import type { Watched } from '../duties/watch-ranges.ts'
import { type Measure, measures } from '../ratings/measures.ts'
import type { ProcessedSegment } from './epochs/processed-segment.ts'

export function pickValidators(segment: ProcessedSegment, isPicked: (validator: number) => boolean): ProcessedSegment {
  const { validator, sums, missed } = segment
  const pick = <C extends Float64Array | Int32Array>(column: C, validators: Int32Array): C =>
    column.filter((_, at) => isPicked(validators[at] as number)) as C
  return {
    ...segment,
    validator: pick(validator, validator),
    sums: Object.fromEntries(measures.map((name) => [name, pick(sums[name], validator)])) as Record<
      Measure,
      Float64Array
    >,
    missed: Object.fromEntries(missedFields.map((name) => [name, pick(missed[name], missed.validator)])) as Record<
      MissedField,
      Int32Array
    >,
  }
}

/** Whether the segment was read with a watch list that lacks validators that are stored in its epochs. */
export function omitsStored({ watched }: Pick<ProcessedSegment, 'watched'>, stored: Watched): boolean {
  if (!watched) return false
  if (stored === 'everyone') return true
  const now = new Set(watched.validators)
  return [...stored].some((index) => index < watched.count && !now.has(index))
}
