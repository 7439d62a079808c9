// The prices of one outcome over a period, from the stored versions of its market: one segment for each price, newest
// first (behaviour/markets.md#price-history). Reads back from the end of the period and undoes one version after another.
import type { StateReader } from '#storage/state.ts'
import { lastVersionAt, wasVanished } from '../../read/market-as-of.ts'
import { readRecordAfter } from '../../read/record-after.ts'
import { readHistoryStartMs, type VersionRow, versionColumns } from '../../read/versions.ts'
import { undoChanges } from '../../records/diff-records.ts'
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

/** Versions per query. */
const blockRows = 250

/**
 * `priceOf` finds the price in the fields of the market. `spend` is called with the rows of each query. A time without
 * a segment is a gap: no feed listed the market, it had no price, or its versions are not stored.
 */
export async function readPriceSegments(
  reader: StateReader,
  marketId: string,
  { fromMs, untilMs }: PricePeriod,
  priceOf: (fields: StoredRecord['fields']) => number | undefined,
  spend: (rows: number) => Promise<void>,
): Promise<PriceSegment[]> {
  const historyStartMs = await readHistoryStartMs(reader)
  const startMs = Math.max(fromMs, historyStartMs ?? Number.POSITIVE_INFINITY)
  if (startMs >= untilMs) return []
  const lastSeq = await lastVersionAt(reader, untilMs - 1)
  let record = await readRecordAfter(reader, 'market', marketId, lastSeq, spend)
  let isListed = !(await wasVanished(reader, marketId, lastSeq))
  let endMs = untilMs
  const segments: PriceSegment[] = []
  const addUntilEnd = (from: number) => {
    const price = record && isListed ? priceOf(record.fields) : undefined
    if (price !== undefined && from < endMs) addSegment(segments, { fromMs: from, untilMs: endMs, price })
    endMs = Math.min(endMs, from)
  }
  for (let seq = lastSeq; record; ) {
    const rows = await readVersionsBack(reader, marketId, seq)
    await spend(rows.length)
    for (const version of rows) {
      addUntilEnd(Math.max(version.atMs, startMs))
      if (version.atMs <= startMs) return segments
      if (version.changeType === 'vanished') isListed = true
      else if (version.changeType === 'returned') isListed = false
      else record = record && undoChanges('market', record, [version])
    }
    if (rows.length < blockRows) break
    seq = (rows.at(-1)?.seq ?? 0) - 1
  }
  // Earlier versions have been deleted; the record did not change between the start of the history and the oldest one.
  addUntilEnd(startMs)
  return segments
}

/** Most versions change something else than the price. */
function addSegment(segments: PriceSegment[], segment: PriceSegment): void {
  const later = segments.at(-1)
  if (later?.price === segment.price && later.fromMs === segment.untilMs)
    segments[segments.length - 1] = { ...later, fromMs: segment.fromMs }
  else segments.push(segment)
}

const readVersionsBack = (reader: StateReader, marketId: string, from: number) =>
  reader.all<VersionRow>(
    `select ${versionColumns} from market_versions v
     where v.kind = 'market' and v.id = ? and v.seq <= ? order by v.seq desc limit ?`,
    ...[marketId, from, blockRows],
  )
