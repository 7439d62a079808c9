// Spec 4.6: ratings of one validator over time, by chain days or UTC days.
import { contract } from '#api/contract/contract.ts'
import type { Parsed, Reply } from '#api/contract/kit.ts'
import { type EffectivenessRecord, effectivenessNumbers } from '#api/contract/wire/validators.ts'
import { dateAt, formatDate } from '#core/calendar.ts'
import {
  type ChainHour,
  type Epoch,
  type Epochs,
  epochStartMs,
  epochsOfHour,
  firstSlotOf,
  overlap,
} from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { createHandler, type HandlerResult, type RequestInfo } from '#http/handler.ts'
import type { Duties } from '#storage/duties.ts'
import type { ValidatorsContext } from '../context.ts'
import { aggregateFigures, figures, methodHeaders } from '../method/method.ts'
import { withStableCoverage } from '../requests/coverage.ts'
import { pageLinks } from '../requests/page-links.ts'
import { figuresAt, type RecordRequest, type Records, readRecords } from '../requests/records.ts'
import { clipToCovered, toConfidence, withFinality } from '../requests/requested-epochs.ts'
import { type ResolvedValidator, resolveValidator, toRecordRequest } from '../requests/resolve-validator.ts'
import { type Windows, windowsOver } from '../requests/windows.ts'

const endpoint = contract['validators.effectiveness']
type EffectivenessQuery = Parsed<typeof endpoint>

export const effectiveness = createHandler(endpoint, (query, context: ValidatorsContext, request) =>
  withStableCoverage(context, query.network, () => readEffectiveness(query, context, request)),
)

async function readEffectiveness(
  query: EffectivenessQuery,
  context: ValidatorsContext,
  request: RequestInfo,
): Promise<HandlerResult<Reply<typeof endpoint>>> {
  const resolved = await resolveValidator(query, context)
  if (resolved.index === undefined) return { is: 'nothing', confidence: resolved.confidence }
  const { total, results } = resolved.served
    ? await readEffectivenessPage(context.duties, planEffectiveness(query, resolved, resolved.served, request.signal))
    : { total: 0, results: [] }
  return {
    is: 'body',
    body: {
      ...pageLinks({ endpoint, input: query, query: request.query }, total, request.origin),
      pages: Math.ceil(total / query.limit),
      results,
    },
    headers: methodHeaders,
    confidence: withFinality(toConfidence(resolved.covered, resolved.requested, resolved.kept), {
      isFinal: resolved.provisional.length === 0,
    }),
  }
}

interface EffectivenessPlan extends Pick<ResolvedValidator, 'index' | 'time' | 'calendar' | 'covered'> {
  readonly query: EffectivenessQuery
  readonly served: Epochs
  readonly windows: Windows | undefined
  readonly wanted: RecordRequest
  /** Both are cached: formatting takes a microsecond, and records share most of their dates and times. */
  readonly moment: (atMs: number) => string
  readonly date: typeof formatDate
}

function planEffectiveness(
  query: EffectivenessQuery,
  resolved: ResolvedValidator,
  { epochs, days }: NonNullable<ResolvedValidator['served']>,
  signal: AbortSignal | undefined,
): EffectivenessPlan {
  const { index, time, calendar, covered } = resolved
  const windows = query.granularity === 'hour' ? undefined : windowsOver(calendar, query.granularity, days)
  const wanted = toRecordRequest(query, resolved, days, windows, signal)
  const date = memoize(formatDate)
  const timeOfDay = memoize((ofDayMs: number) => new Date(ofDayMs).toISOString().slice('1970-01-01'.length))
  const moment = (atMs: number) => date(dateAt(atMs)) + timeOfDay(atMs % 86_400_000)
  return { query, time, calendar, covered, served: epochs, index, windows, wanted, moment, date }
}

function memoize<K, V>(work: (key: K) => V): (key: K) => V {
  const values = new Map<K, V>()
  return (key) => values.getOrInsertComputed(key, work)
}

const recordFigures = { ...figures, sumInclusionDelay: aggregateFigures.sumInclusionDelay } as const
type EffectivenessRecords = Records<keyof typeof recordFigures>

async function readEffectivenessPage(duties: Duties, plan: EffectivenessPlan) {
  const { limit, offset } = plan.query
  const records = await readRecords(duties, plan.wanted, recordFigures)
  const order = [...records.window.keys()].sort(rowOrder(plan.query, records))
  return {
    total: order.length,
    results: order.slice(offset, offset + limit).map((at) => toEffectivenessRecord(plan, records, at)),
  }
}

/**
 * By the requested field, records without a value last, equal ones by time
 * (behaviour/validators.md#records-of-one-validator).
 */
function rowOrder(
  { sortBy, sortOrder, granularity }: EffectivenessQuery,
  records: EffectivenessRecords,
): (a: number, b: number) => number {
  const { window, day, hour } = records
  const byTime = (a: number, b: number) => (window[a] as number) - (window[b] as number)
  const sign = sortOrder === 'desc' ? -1 : 1
  const by = (column: Float64Array) => (a: number, b: number) => {
    const [value, otherValue] = [column[a] as number, column[b] as number]
    const [isMissing, isOtherMissing] = [Number.isNaN(value), Number.isNaN(otherValue)]
    if (isMissing || isOtherMissing) return Number(isMissing) - Number(isOtherMissing) || byTime(a, b)
    return sign * (value - otherValue) || byTime(a, b)
  }
  const figure = effectivenessNumbers.find((name) => name === sortBy)
  if (figure) return by(records.figures[figure])
  if (sortBy === 'validatorIndex' || !hasField(granularity, sortBy ?? 'startDay')) return byTime
  // Hours share their day, and with UTC days both parts of an hour share its number.
  if (sortBy === 'hour') return by(hour)
  return by(granularity === 'hour' && /day$/i.test(sortBy ?? '') ? day : window)
}

/** A record of an hour has all fields, of a day no hour, of a longer window neither hour nor day nor date. */
const hasField = (granularity: EffectivenessQuery['granularity'], field: string): boolean =>
  granularity === 'hour' || (field === 'hour' ? false : granularity === 'day' || (field !== 'day' && field !== 'date'))

function toEffectivenessRecord(
  plan: EffectivenessPlan,
  records: EffectivenessRecords,
  at: number,
): EffectivenessRecord {
  const { query, time, calendar, index, moment, date } = plan
  const [window, recordDay, hour] = [
    records.window[at] as number,
    records.day[at] as number,
    records.hour[at] as number,
  ]
  const { days, epochs } = recordBounds(plan, window, recordDay, hour)
  const day = hasField(query.granularity, 'day') ? days.from : null
  const startMs = epochStartMs(time, epochs.from)
  return {
    validatorIndex: index,
    hour: hour < 0 ? null : hour,
    day,
    startDay: days.from,
    endDay: days.until - 1,
    startEpoch: epochs.from,
    endEpoch: epochs.until - 1,
    startSlot: firstSlotOf(time, epochs.from),
    endSlot: firstSlotOf(time, epochs.until) - 1,
    startDate: date(dateAt(startMs)),
    endDate: date(dateAt(epochStartMs(time, (epochs.until - 1) as Epoch))),
    date: day === null ? null : date(calendar.dateOf(day)),
    startTimestamp: moment(startMs),
    endTimestamp: moment(epochStartMs(time, epochs.until)),
    ...figuresAt(records, at),
  }
}

/** The days and epochs of a record, cut to those that are served. */
function recordBounds(
  { time, calendar, covered, served, windows }: EffectivenessPlan,
  window: number,
  day: number,
  hour: number,
): { days: Range; epochs: Epochs } {
  const days = windows ? windows.daysOf(window) : { from: day, until: day + 1 }
  const ofDays = { from: calendar.epochsOf(days.from).from, until: calendar.epochsOf(days.until - 1).until }
  const epochs = windows ? ofDays : overlap(ofDays, epochsOfHour(time, hour as ChainHour))
  return { days, epochs: clipToCovered(covered, overlap(epochs, served)) }
}
