// The prices of one outcome over a period, from the stored versions of its market: one segment for each price, newest
// first (behaviour/markets.md#price-history). Reads back from the end of the period and undoes one version after another.
import type { StateReader } from '#storage/state.ts'
import { wasVanished } from '../../read/market-as-of.ts'
import { recordsAfter } from '../../read/record-after.ts'
import { lastVersionAt, readHistoryStartMs, readVersionsBack, type VersionedRecord } from '../../read/versions.ts'
import { type Diff, mayChangeOneOf } from '../../records/diff-records.ts'
import type { StoredRecord } from '../../records/documents.ts'

/** `fromMs` is included, `untilMs` is not. */
export interface PriceSegment {
  readonly fromMs: number
  readonly untilMs: number
  readonly price: number
}

export interface PricePeriod {
  readonly fromMs: number
  readonly untilMs: number
}

/** Versions per query: a pack has up to a day of them, and is read as a whole. */
const blockRows = 3000

/** Fields of a market from which its prices follow. */
export const priceFields = ['clobTokenIds', 'outcomePrices'] as const

/**
 * `priceOf` finds the price in the `priceFields` of the market. `spend` is called with the rows of each query. A time
 * without a segment is a gap: no feed listed the market, it had no price, or its versions are not stored.
 */
export async function readPriceSegments(
  reader: StateReader,
  market: VersionedRecord,
  { fromMs, untilMs }: PricePeriod,
  priceOf: (fields: StoredRecord['fields']) => number | undefined,
  spend: (rows: number) => Promise<void>,
): Promise<PriceSegment[]> {
  const historyStartMs = await readHistoryStartMs(reader)
  const startMs = Math.max(fromMs, historyStartMs ?? Number.POSITIVE_INFINITY)
  if (startMs >= untilMs) return []
  const lastSeq = await lastVersionAt(reader, untilMs - 1)
  const last = await recordsAfter(reader, lastSeq, spend)('market', market.id)
  if (!last) return []
  let isListed = !(await wasVanished(reader, market.id, lastSeq))
  const fields: Record<string, unknown> = Object.fromEntries(priceFields.map((name) => [name, last.fields[name]]))
  let price = priceOf(fields)
  let endMs = untilMs
  const segments: PriceSegment[] = []
  const addUntilEnd = (from: number) => {
    if (price !== undefined && isListed && from < endMs) addSegment(segments, { fromMs: from, untilMs: endMs, price })
    endMs = Math.min(endMs, from)
  }
  for (let seq = lastSeq; ; ) {
    const rows = await readVersionsBack(reader, market, seq, blockRows)
    await spend(rows.length)
    for (const { atMs, changeType, diff } of rows) {
      if (atMs <= startMs) {
        addUntilEnd(startMs)
        return segments
      }
      // Most versions change something else than the price.
      if (changeType === 'changed' && !mayChangeOneOf(diff, priceFields)) continue
      addUntilEnd(atMs)
      if (changeType === 'created') return segments
      if (changeType === 'vanished') isListed = true
      else if (changeType === 'returned') isListed = false
      else price = undoPrice(fields, diff) ? priceOf(fields) : price
    }
    if (rows.length < blockRows) break
    seq = (rows.at(-1)?.seq ?? 0) - 1
  }
  // Earlier versions have been deleted; the record did not change between the start of the history and the oldest one.
  addUntilEnd(startMs)
  return segments
}

/** Whether the change had one of the price fields, which get their earlier values. */
function undoPrice(fields: Record<string, unknown>, diff: string): boolean {
  // The price fields are texts, so integers of any size, which parseDiff looks for, do not matter.
  const changes = JSON.parse(diff) as Diff
  const changed = priceFields.filter((name) => name in changes)
  for (const name of changed) fields[name] = changes[name]?.[0] ?? undefined
  return changed.length > 0
}

/** Neighbours with the same price are one segment. */
function addSegment(segments: PriceSegment[], segment: PriceSegment): void {
  const later = segments.at(-1)
  if (later?.price === segment.price && later.fromMs === segment.untilMs)
    segments[segments.length - 1] = { ...later, fromMs: segment.fromMs }
  else segments.push(segment)
}
