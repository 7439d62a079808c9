// Sets of whole numbers (blocks, epochs, seconds) as ranges: what has been read completely, and what is missing.
// Ranges are half-open. A tidy list is sorted, and no two of its ranges touch; `merge` makes any list tidy, the other
// functions expect one.

export interface Range {
  readonly from: number
  readonly until: number
}

/** A header line must stay short even when the coverage is in shreds. */
const rangesShownMax = 20

export function merge(ranges: readonly Range[]): Range[] {
  const tidy: Range[] = []
  for (const range of ranges.filter(({ from, until }) => from < until).sort((a, b) => a.from - b.from)) {
    const last = tidy.at(-1)
    if (last && range.from <= last.until) {
      tidy[tidy.length - 1] = { from: last.from, until: Math.max(last.until, range.until) }
    } else {
      tidy.push({ from: range.from, until: range.until })
    }
  }
  return tidy
}

/** The parts of `tidy` that lie in `span`. */
export function within(tidy: readonly Range[], span: Range): Range[] {
  return tidy
    .map(({ from, until }) => ({ from: Math.max(from, span.from), until: Math.min(until, span.until) }))
    .filter(({ from, until }) => from < until)
}

/** The parts of `span` that `tidy` lacks. */
export function holes(tidy: readonly Range[], span: Range): Range[] {
  const missing: Range[] = []
  let from = span.from
  for (const range of within(tidy, span)) {
    if (from < range.from) missing.push({ from, until: range.from })
    from = range.until
  }
  if (from < span.until) missing.push({ from, until: span.until })
  return missing
}

/** For people and the x-tetrad-coverage header (behaviour/http.md#confidence-headers): `complete`, `none`, or `100-199,300-399` with both ends included. */
export function describeCoverage(tidy: readonly Range[], span: Range): string {
  if (holes(tidy, span).length === 0) return 'complete'
  const there = within(tidy, span)
  if (there.length === 0) return 'none'
  const shown = there.slice(0, rangesShownMax).map(({ from, until }) => {
    return until - from === 1 ? String(from) : `${from}-${until - 1}`
  })
  return there.length > rangesShownMax ? `${shown.join()},...` : shown.join()
}
