// Records of 4.5 and 4.6 from sums: asks the duties database for them and forms the figures.
import type { Network } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Duties } from '#store/duties.ts'
import { plainTime, validatorsMax } from './duties/layout.ts'
import type { RecordList } from './duties/list-records.ts'
import type { RecordQuery } from './duties/record-query.ts'
import { queryDuties } from './duties/store.ts'
import type { RecordSums } from './duties/sum-records.ts'
import type { Measure } from './measures.ts'
import { type Figure, neededFor, type Score } from './method.ts'
import { keysOf, type Windows } from './windows.ts'

/** What records are wanted. */
export interface RecordsWanted {
  readonly network: Network
  readonly time: ChainTime
  /** Distinct. */
  readonly who: readonly number[]
  readonly isUtc: boolean
  readonly days: Range
  /** Undefined: hours, each a record of its own. */
  readonly windows: Pick<Windows, 'keyOf'> | undefined
  readonly cut?: RecordQuery['cut']
  readonly byValidator: boolean
  /** Leaves out this window's validators up to this index. */
  readonly after?: { readonly window: number; readonly validator: number } | undefined
  /** Aborts when nobody waits for the records any more. */
  readonly signal?: AbortSignal | undefined
}

const queryOf = ({ network, time, who, isUtc, days, windows, cut, byValidator }: RecordsWanted): RecordQuery => ({
  network,
  time: plainTime(time),
  validators: who.filter((index) => index < validatorsMax).sort((a, b) => a - b),
  isUtc,
  days,
  grain: windows ? 'days' : 'hours',
  cut,
  windowOf: windows ? keysOf(windows, days) : [],
  byValidator,
})

/** One record: its window, its validator if there is one per validator, and its figures. Null: not known, or it does not exist. */
export type FigureRecord<F extends string> = {
  readonly key: number
  readonly validator: number
  /** The first day that it has figures of; and the hour, where it is one. */
  readonly day: number
  readonly hour: number | null
} & Readonly<Record<F, number | null>>

/** All records, in no particular order. */
export async function readRecords<F extends string>(
  duties: Duties,
  wanted: RecordsWanted,
  figures: Readonly<Record<F, Figure>>,
): Promise<FigureRecord<F>[]> {
  const list = Object.entries(figures) as [F, Figure][]
  const needed = neededFor(list.map(([, figure]) => figure))
  const sums = await queryDuties(duties, 'sumRecords', { query: queryOf(wanted), wanted: needed }, wanted.signal)
  return Array.from(sums.window, (key, at) => {
    const values = valuesOf(sums, at)
    const hour = sums.hour[at] as number
    return {
      key,
      validator: sums.validator[at] as number,
      day: sums.day[at] as number,
      hour: hour < 0 ? null : hour,
      ...(Object.fromEntries(list.map(([name, figure]) => [name, figure.of(values)])) as Record<F, number | null>),
    }
  })
}

const valuesOf = ({ sums, scores }: RecordSums, at: number) => ({
  sum: (measure: Measure) => sums[measure]?.[at] as number,
  score: (score: Score) => (scores[score]?.sums[at] as number) / (scores[score]?.counts[at] as number),
})

/** How many records there are, and the first of them: newest window first, then by validator. */
export const listRecords = (duties: Duties, wanted: RecordsWanted, count: number): Promise<RecordList> =>
  queryDuties(duties, 'listRecords', { query: queryOf(wanted), after: wanted.after, count }, wanted.signal)
