// Turns segments of prices into the points of a response, and into the ranges that it covers. Pure.
import type { PricePeriod, PriceSegment } from './price-segments.ts'

export interface PricePoint {
  /** Unix seconds. */
  readonly t: number
  readonly p: number
}

/**
 * The price at every multiple of `stepMs`, and at the end of the period. There are no points in a gap. `segments` are
 * newest first.
 */
export function samplePrices(segments: readonly PriceSegment[], period: PricePeriod, stepMs: number): PricePoint[] {
  const points: PricePoint[] = []
  const lastMs = period.untilMs - 1000
  for (const { fromMs, untilMs, price } of segments.toReversed()) {
    for (let ms = Math.ceil(fromMs / stepMs) * stepMs; ms < untilMs; ms += stepMs)
      points.push({ t: ms / 1000, p: price })
    const isLast = fromMs <= lastMs && lastMs < untilMs
    if (isLast && points.at(-1)?.t !== lastMs / 1000) points.push({ t: lastMs / 1000, p: price })
  }
  return points
}

/** `complete`, `none`, or the ranges with a price, in Unix seconds, as `1763200000-1763203600`. */
export function describeCoverage(segments: readonly PriceSegment[], { fromMs, untilMs }: PricePeriod): string {
  const ranges: { fromMs: number; untilMs: number }[] = []
  for (const segment of segments.toReversed()) {
    const last = ranges.at(-1)
    if (last?.untilMs === segment.fromMs) last.untilMs = segment.untilMs
    else ranges.push({ fromMs: segment.fromMs, untilMs: segment.untilMs })
  }
  if (ranges.length === 0) return 'none'
  if (ranges[0]?.fromMs === fromMs && ranges[0].untilMs === untilMs) return 'complete'
  return ranges
    .map((range) => `${Math.floor(range.fromMs / 1000)}-${Math.floor(range.untilMs / 1000)}`)
    .slice(-rangesMax)
    .join()
}

/** A header has room for the newest of them. */
const rangesMax = 50
