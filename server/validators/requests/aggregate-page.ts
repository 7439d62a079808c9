// One page of 4.5: which records it has, their figures, and the link to the next page. Newest window first, then by
// validator.
import type { contract } from '#api/contract/contract.ts'
import type { Parsed } from '#api/contract/kit.ts'
import { type AggregateField, type AggregateRecord, aggregateFields } from '#api/contract/wire/validators.ts'
import {
  type ChainDay,
  type ChainTime,
  chainDays,
  type Epoch,
  type Epochs,
  epochStartMs,
  hourOf,
  overlap,
  wholeDays,
} from '#core/chain-time.ts'
import { holes, type Range } from '#core/ranges.ts'
import type { Duties } from '#storage/duties.ts'
import type { HourBounds, RecordKey } from '../duties/record-query.ts'
import { aggregateFigures, type Figure, type TimeField } from '../method/method.ts'
import type { PageParameters } from './page-links.ts'
import { listRecords, type RecordRequest, type Records, readRecords } from './records.ts'
import { clipToCovered, type RequestedEpochs } from './requested-epochs.ts'
import { type Windows, windowsIn, windowsOver } from './windows.ts'

export type AggregateQuery = Parsed<(typeof contract)['validators.aggregateEffectiveness']>

export interface AggregateRequest extends Pick<RecordRequest, 'validators' | 'figures' | 'signal'> {
  readonly query: AggregateQuery
  /** Path and query of another page of the same request. */
  readonly linkTo: (page: PageParameters) => string
  readonly time: ChainTime
  readonly requested: RequestedEpochs
  /** From the first to the last stored epoch of the requested ones. */
  readonly served: Epochs
  readonly covered: readonly Range[]
}

interface AggregatePlan extends AggregateRequest {
  readonly windows: Windows
  /** The records of `served`: of this page and later ones. */
  readonly wanted: RecordRequest
}

export function planAggregate(request: AggregateRequest): AggregatePlan {
  const { query, time, requested, served, validators, figures, signal } = request
  const calendar = chainDays(time)
  const newest = calendar.dayOf((served.until - 1) as Epoch)
  const days = { from: calendar.dayOf(served.from), until: newest + 1 }
  const windows = windowsOver(calendar, query.granularity ?? 'day', days)
  const byValidator = query.groupBy === 'validator'
  const wanted: RecordRequest = {
    network: query.network,
    time,
    validators,
    figures,
    signal,
    days,
    windows,
    byValidator,
    isUtc: false,
    ...(query.filterType === 'hour' && { hourBounds: toHourBounds(time, requested, served) }),
    ...(byValidator &&
      query.after !== undefined && { after: { window: windows.keyOf(newest), validator: query.after } }),
  }
  return { ...request, windows, wanted }
}

/** With bounds by hour, the first and the last day may be requested in part. */
const toHourBounds = (time: ChainTime, requested: Range, served: Epochs): HourBounds => ({
  hours: { from: hourOf(time, served.from), until: hourOf(time, (served.until - 1) as Epoch) + 1 },
  wholeDays: wholeDays(time, requested),
})

/** The requested epochs of days that are not requested completely. */
export function partialDays(time: ChainTime, requested: Range): Range[] {
  const { from, until } = wholeDays(time, requested)
  const { epochsOf } = chainDays(time)
  return holes([{ from: epochsOf(from as ChainDay).from, until: epochsOf(until as ChainDay).from }], requested)
}

export interface AggregatePage {
  readonly data: AggregateRecord[]
  readonly next: string | null
  readonly total: number
}
export const emptyPage: AggregatePage = { data: [], next: null, total: 0 }

export async function readAggregatePage(duties: Duties, plan: AggregatePlan): Promise<AggregatePage> {
  const { size, include } = plan.query
  const fields = include?.filter((name) => name !== 'validatorIndex') ?? aggregateFields
  const { wanted, windows } = plan
  // If the page has all records, reading them also gives their number.
  if (!wanted.byValidator && windowsIn(windows, wanted.days) <= size) {
    const records = await readRecords(duties, wanted, figuresOf(fields))
    return { data: toPage(plan, fields, records), next: null, total: records.window.length }
  }
  // Otherwise list the records of the page first, and read only their figures.
  const { first, total } = await listRecords(duties, wanted, size === 0 ? 0 : size + 1)
  const shown = first.slice(0, size)
  const [newest, oldest] = [shown[0], shown.at(-1)]
  if (!newest || !oldest) return { ...emptyPage, total }
  const narrow: RecordRequest = {
    ...wanted,
    days: { from: windows.daysOf(oldest.window).from, until: windows.daysOf(newest.window).until },
    ...(wanted.byValidator && { validators: [...new Set(shown.map(({ validator }) => validator))] }),
  }
  const isShown = new Set(shown.map(keyText))
  const records = await readRecords(duties, narrow, figuresOf(fields))
  return {
    data: toPage(plan, fields, records, (key) => isShown.has(keyText(key))),
    next: nextPath(plan, oldest, first[size]),
    total,
  }
}

const keyText = ({ window, validator }: RecordKey): string => `${window} ${validator}`

interface WindowBounds extends Record<TimeField, number | null> {
  readonly startDay: ChainDay
  readonly endDay: ChainDay
  readonly startEpoch: Epoch
  readonly endEpoch: Epoch
}

const isFigure = (field: AggregateField): field is Exclude<AggregateField, TimeField> => field in aggregateFigures

const figuresOf = (fields: readonly AggregateField[]): Record<string, Figure> =>
  Object.fromEntries(fields.filter(isFigure).map((field) => [field, aggregateFigures[field]]))

/**
 * Newest window first, then by validator. A record has the requested fields that are known
 * (behaviour/validators.md#unknown-values) and, with one record per validator, always the index.
 */
function toPage(
  plan: AggregatePlan,
  fields: readonly AggregateField[],
  { window, validator, figures }: Records<string>,
  isShown: (key: RecordKey) => boolean = () => true,
): AggregateRecord[] {
  const keyOf = (at: number): RecordKey => ({ window: window[at] as number, validator: validator[at] as number })
  const order = [...window.keys()]
    .filter((at) => isShown(keyOf(at)))
    .sort(
      (a, b) => (window[b] as number) - (window[a] as number) || (validator[a] as number) - (validator[b] as number),
    )
  return order.map((at) => {
    const bounds = windowBounds(plan, window[at] as number)
    const record: Partial<Record<keyof AggregateRecord, number>> = {}
    if (plan.wanted.byValidator) record.validatorIndex = validator[at] as number
    for (const field of fields) {
      const value = isFigure(field) ? (figures[field]?.[at] as number) : bounds[field]
      if (value !== null && !Number.isNaN(value)) record[field] = value
    }
    return record
  })
}

/**
 * The days and epochs of a window, cut to those that are served; both ends inclusive
 * (behaviour/validators.md#time-fields).
 */
function windowBounds({ query, time, served, covered, windows }: AggregatePlan, key: number): WindowBounds {
  const days = windows.daysOf(key)
  const calendar = chainDays(time)
  const [first, last] = [days.from as ChainDay, (days.until - 1) as ChainDay]
  const epochs = clipToCovered(
    covered,
    overlap({ from: calendar.epochsOf(first).from, until: calendar.epochsOf(last).until }, served),
  )
  return {
    day: (query.granularity ?? 'day') === 'day' ? first : null,
    startDay: first,
    endDay: last,
    startEpoch: epochs.from,
    endEpoch: (epochs.until - 1) as Epoch,
  }
}

/** `following`: the first record of the next page. That page begins at the newest epoch of the window of `following`. */
function nextPath(plan: AggregatePlan, last: RecordKey, following: RecordKey | undefined): string | null {
  if (!following) return null
  const { query, requested } = plan
  const { endDay, endEpoch } = windowBounds(plan, following.window)
  const after = following.window === last.window ? last.validator : undefined
  return plan.linkTo({ size: query.size, from: boundAt(plan, endDay, endEpoch), to: requested.older, after })
}

/** A bound in the form of `filterType`. */
const boundAt = ({ query, time }: AggregatePlan, day: ChainDay, epoch: Epoch): number | string =>
  ({
    day: () => day,
    hour: () => hourOf(time, epoch),
    datetime: () => new Date(epochStartMs(time, chainDays(time).epochsOf(day).from)).toISOString(),
  })[query.filterType]()
