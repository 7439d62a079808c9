// Sets of integers (blocks, epochs, seconds) as half-open ranges. A merged list is sorted, and its ranges neither overlap
// nor touch. `merge` creates one; the other functions expect one.

export interface Range {
  readonly from: number
  readonly until: number
}

/** Limits the length of the coverage header. */
const rangesShownMax = 20

export function merge(ranges: readonly Range[]): Range[] {
  const merged: Range[] = []
  for (const range of ranges.filter(({ from, until }) => from < until).sort((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last && range.from <= last.until) {
      merged[merged.length - 1] = { from: last.from, until: Math.max(last.until, range.until) }
    } else {
      merged.push({ from: range.from, until: range.until })
    }
  }
  return merged
}

/** The parts of `merged` inside `span`. */
export function within(merged: readonly Range[], span: Range): Range[] {
  return merged
    .map(({ from, until }) => ({ from: Math.max(from, span.from), until: Math.min(until, span.until) }))
    .filter(({ from, until }) => from < until)
}

/** The parts of `span` that are not in `merged`. */
export function holes(merged: readonly Range[], span: Range): Range[] {
  const missing: Range[] = []
  let from = span.from
  for (const range of within(merged, span)) {
    if (from < range.from) missing.push({ from, until: range.from })
    from = range.until
  }
  if (from < span.until) missing.push({ from, until: span.until })
  return missing
}

/** How many integers the ranges contain. */
export const countIn = (merged: readonly Range[]): number =>
  merged.reduce((sum, { from, until }) => sum + until - from, 0)

/** `complete`, `none`, or `100-199,300-399` with both ends included (behaviour/http.md#confidence-headers). */
export function describeCoverage(merged: readonly Range[], span: Range): string {
  if (holes(merged, span).length === 0) return 'complete'
  const there = within(merged, span)
  if (there.length === 0) return 'none'
  const shown = there.slice(0, rangesShownMax).map(({ from, until }) => {
    return until - from === 1 ? String(from) : `${from}-${until - 1}`
  })
  return there.length > rangesShownMax ? `${shown.join()},...` : shown.join()
}
