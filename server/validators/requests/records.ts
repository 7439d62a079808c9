// Reads the records of spec 4.5 and 4.6: queries sums from the duties database and computes the figures.
import type { Duties } from '#storage/duties.ts'
import { plainTime, validatorsMax } from '../duties/layout.ts'
import type { RecordList } from '../duties/list-records.ts'
import type { DayQuery, QueriedValidators, RecordKey, RecordQuery } from '../duties/record-query.ts'
import type { ProvisionalRow, RecordSums } from '../duties/record-sums.ts'
import { type Figure, inputsFor, type RecordValues, type ScoreTotals } from '../method/method.ts'
import { keysOf, type Windows } from './windows.ts'

/** The validators are distinct and may have any order. */
export interface RecordRequest extends QueriedValidators, Pick<DayQuery, 'hourBounds'> {
  /** Undefined: one record per hour. */
  readonly windows: Pick<Windows, 'keyOf'> | undefined
  /** In this window and newer ones, skips validators up to this one. */
  readonly after?: RecordKey | undefined
  /** Figures of epochs that are not stored yet, to be added. */
  readonly provisional?: readonly ProvisionalRow[]
  /** The version of the figures to which the coverage of the response belongs (coverage.ts). */
  readonly figures?: string | undefined
  readonly signal?: AbortSignal | undefined
}

function toRecordQuery({
  network,
  time,
  validators,
  isUtc,
  days,
  windows,
  hourBounds,
  byValidator,
}: RecordRequest): RecordQuery {
  const queried: QueriedValidators = {
    network,
    time: plainTime(time),
    validators: validators.filter((index) => index < validatorsMax).sort((a, b) => a - b),
    isUtc,
    days,
    byValidator,
  }
  if (!windows) return { ...queried, grain: 'hours' }
  return { ...queried, grain: 'days', windowOfDay: keysOf(windows, days), hourBounds }
}

/** Records by column: entry n of each column belongs to record n. */
export interface Records<F extends string> extends Pick<RecordSums, 'window' | 'validator' | 'day' | 'hour'> {
  /** NaN: unknown, or it does not exist. */
  readonly figures: Readonly<Record<F, Float64Array>>
}

/** All records, in no particular order. */
export async function readRecords<F extends string>(
  duties: Duties,
  request: RecordRequest,
  figures: Readonly<Record<F, Figure>>,
): Promise<Records<F>> {
  const list = Object.entries(figures) as [F, Figure][]
  const { provisional = [] } = request
  const needed = inputsFor(list.map(([, figure]) => figure))
  const sums = await duties.query(
    'sumRecords',
    {
      query: toRecordQuery(request),
      wanted: needed,
      figures: request.figures,
      ...(provisional.length > 0 && { provisional }),
    },
    request.signal,
  )
  const { window, validator, day, hour } = sums
  const values = valuesOf(sums)
  const columns = Object.fromEntries(list.map(([name, figure]) => [name, figure.of(values)]))
  return { window, validator, day, hour, figures: columns as Record<F, Float64Array> }
}

/** The figures of one record. Null: unknown, or it does not exist. */
export function figuresAt<F extends string>({ figures }: Records<F>, at: number): Record<F, number | null> {
  const result = {} as Record<F, number | null>
  for (const name in figures) {
    const value = figures[name][at] as number
    result[name] = Number.isNaN(value) ? null : value
  }
  return result
}

export const valuesOf = ({ sums, scores }: Pick<RecordSums, 'sums' | 'scores'>): RecordValues => ({
  sum: (measure) => sums[measure] as Float64Array,
  score: (score) => {
    const { sums: scored, counts } = scores[score] as ScoreTotals
    return scored.map((sum, at) => sum / (counts[at] as number))
  },
})

/** The number of records, and the first `count` of them: newest window first, then by validator. */
export const listRecords = (duties: Duties, request: RecordRequest, count: number): Promise<RecordList> =>
  duties.query(
    'listRecords',
    { query: toRecordQuery(request), after: request.after, count, figures: request.figures },
    request.signal,
  )
