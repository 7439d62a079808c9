// Spec 4.6: one validator over time, oldest first, by chain days or UTC days.
import { contract } from '#api/contract.ts'
import type { Parsed, Reply } from '#api/kit.ts'
import { type EffectivenessRecord, effectivenessNumbers } from '#api/wire/validators.ts'
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
import { answer, type Outcome, type Visit } from '#serve/answer.ts'
import type { Duties } from '#store/duties.ts'
import type { ValidatorsContext } from './context.ts'
import { linksOf } from './links.ts'
import { aggregateFigures, figures, methodHeaders } from './method.ts'
import { type One, readOne } from './one.ts'
import { figuresAt, type Records, type RecordsWanted, readRecords } from './records.ts'
import { shape } from './shape.ts'
import { confidenceOf, cutToRead } from './span.ts'
import { atOneCoverage } from './standing.ts'
import { type Windows, windowsOver } from './windows.ts'

const endpoint = contract['validators.effectiveness']
type Query = Parsed<typeof endpoint>

export const effectiveness = answer(endpoint, shape, (query, context: ValidatorsContext, visit) =>
  atOneCoverage(context, query.network, () => read(query, context, visit)),
)

async function read(query: Query, context: ValidatorsContext, visit: Visit): Promise<Outcome<Reply<typeof endpoint>>> {
  const one = await readOne(query, context)
  if (one.index === undefined) return { is: 'nothing', confidence: one.confidence }
  const { total, results } = one.served
    ? await readPage(context.duties, planOf(query, one, one.served, visit.signal))
    : nothing
  return {
    is: 'body',
    body: { ...linksOf(endpoint, query, total, visit.origin), pages: Math.ceil(total / query.limit), results },
    headers: methodHeaders,
    confidence: confidenceOf(one.covered, one.asked, one.kept),
  }
}

interface Plan extends Pick<One, 'index' | 'time' | 'line' | 'covered'> {
  readonly query: Query
  readonly served: Epochs
  readonly windows: Windows | undefined
  readonly wanted: RecordsWanted
  /** Neighbours share most of their moments and dates, and writing one out takes a microsecond. */
  readonly moment: (atMs: number) => string
  readonly date: typeof formatDate
}

function planOf(
  query: Query,
  one: One,
  { epochs, days }: NonNullable<One['served']>,
  signal: AbortSignal | undefined,
): Plan {
  const { index, time, line, covered } = one
  const windows = query.granularity === 'hour' ? undefined : windowsOver(line, query.granularity, days)
  const wanted: RecordsWanted = {
    network: query.network,
    who: [index],
    ...{ time, days, windows, signal, isUtc: query.utc, byValidator: false },
  }
  const date = once(formatDate)
  const timeOfDay = once((ofDayMs: number) => new Date(ofDayMs).toISOString().slice('1970-01-01'.length))
  const moment = (atMs: number) => date(dateAt(atMs)) + timeOfDay(atMs % 86_400_000)
  return { query, time, line, covered, served: epochs, index, windows, wanted, moment, date }
}

function once<K, V>(work: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    const value = work(key)
    known.set(key, value)
    return value
  }
}

interface PageRead {
  readonly total: number
  readonly results: EffectivenessRecord[]
}
const nothing: PageRead = { total: 0, results: [] }

const recordFigures = { ...figures, sumInclusionDelay: aggregateFigures.sumInclusionDelay } as const
type Found = Records<keyof typeof recordFigures>

async function readPage(duties: Duties, plan: Plan): Promise<PageRead> {
  const { limit, offset } = plan.query
  const found = await readRecords(duties, plan.wanted, recordFigures)
  const order = [...found.window.keys()].sort(orderOf(plan.query, found))
  return { total: order.length, results: order.slice(offset, offset + limit).map((at) => toRecord(plan, found, at)) }
}

/** Figures as asked, records without one last, equal ones by time (decision 0037). Places in time grow with time. */
function orderOf({ sortBy, sortOrder, granularity }: Query, found: Found): (a: number, b: number) => number {
  const { window, day, hour } = found
  const byTime = (a: number, b: number) => (window[a] as number) - (window[b] as number)
  const sign = sortOrder === 'desc' ? -1 : 1
  const by = (column: Float64Array) => (a: number, b: number) => {
    const [one, other] = [column[a] as number, column[b] as number]
    const [isLacking, isOtherLacking] = [Number.isNaN(one), Number.isNaN(other)]
    if (isLacking || isOtherLacking) return Number(isLacking) - Number(isOtherLacking) || byTime(a, b)
    return sign * (one - other) || byTime(a, b)
  }
  const figure = effectivenessNumbers.find((name) => name === sortBy)
  if (figure) return by(found.figures[figure])
  if (sortBy === 'validatorIndex' || !fits(granularity, sortBy ?? 'startDay')) return byTime
  // Hours share their day, and with UTC days the two pieces of an hour share its number.
  if (sortBy === 'hour') return by(hour)
  return by(granularity === 'hour' && /day$/i.test(sortBy ?? '') ? day : window)
}

/** Decision 0032: an hour has all fields, a day no hour, a longer window neither hour nor a day of its own. */
const fits = (granularity: Query['granularity'], field: string): boolean =>
  granularity === 'hour' || (field === 'hour' ? false : granularity === 'day' || (field !== 'day' && field !== 'date'))

function toRecord(plan: Plan, found: Found, at: number): EffectivenessRecord {
  const { query, time, line, index, moment, date } = plan
  const [window, foundDay, hour] = [found.window[at] as number, found.day[at] as number, found.hour[at] as number]
  const { days, epochs } = placeOf(plan, window, foundDay, hour)
  const day = fits(query.granularity, 'day') ? days.from : null
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
    date: day === null ? null : date(line.dateOf(day)),
    startTimestamp: moment(startMs),
    endTimestamp: moment(epochStartMs(time, epochs.until)),
    ...figuresAt(found, at),
  }
}

/** Where a record lies, cut to what was asked for and is there. */
function placeOf(
  { time, line, covered, served, windows }: Plan,
  window: number,
  day: number,
  hour: number,
): { days: Range; epochs: Epochs } {
  const days = windows ? windows.daysOf(window) : { from: day, until: day + 1 }
  const ofDays = { from: line.epochsOf(days.from).from, until: line.epochsOf(days.until - 1).until }
  const epochs = windows ? ofDays : overlap(ofDays, epochsOfHour(time, hour as ChainHour))
  return { days, epochs: cutToRead(covered, overlap(epochs, served)) }
}
