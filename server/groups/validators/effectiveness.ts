// Spec 4.6: one validator over time, oldest first, by chain days or UTC days.
import { contract } from '#api/contract.ts'
import type { Parsed } from '#api/kit.ts'
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
import { answer } from '#serve/answer.ts'
import type { Cell, Facts } from '#store/facts.ts'
import { countRecords, type Fold, foldAll, foldRecords } from './fold.ts'
import { linksOf } from './links.ts'
import { figures, methodHeaders } from './method.ts'
import { type One, readOne } from './one.ts'
import { shape } from './shape.ts'
import { confidenceOf, cutToRead } from './span.ts'
import { type Windows, windowsIn, windowsOver } from './windows.ts'

const endpoint = contract['validators.effectiveness']
type Query = Parsed<typeof endpoint>

export const effectiveness = answer(endpoint, shape, async (query, desk, visit) => {
  const one = await readOne(query, desk)
  if (one.index === undefined) return { is: 'nothing', confidence: one.confidence }
  const { total, results } = one.served
    ? await readPage(desk.facts, planOf(query, one, one.served, visit.signal))
    : nothing
  return {
    is: 'body',
    body: { ...linksOf(endpoint, query, total, visit.origin), pages: Math.ceil(total / query.limit), results },
    headers: methodHeaders,
    confidence: confidenceOf(one.covered, one.asked, one.kept),
  }
})

interface Plan extends Pick<One, 'index' | 'time' | 'line' | 'covered'> {
  readonly query: Query
  readonly served: Epochs
  readonly windows: Windows | undefined
  readonly fold: Fold
  /** Neighbours share most of their moments and dates, and writing one out takes a microsecond. */
  readonly moment: (atMs: number) => string
  readonly date: typeof formatDate
}

/** Hours are numbered on their own; hour plus day grows from each piece of an hour to the next, also over midnight. */
const hourlySql: Windows['sql'] = { key: 'hour + day', join: '', lists: {} }

function planOf(
  query: Query,
  one: One,
  { epochs, days }: NonNullable<One['served']>,
  signal: AbortSignal | undefined,
): Plan {
  const { index, time, line, covered } = one
  const windows = query.granularity === 'hour' ? undefined : windowsOver(line, query.granularity, days)
  const grain = query.utc ? (windows ? 'utcDay' : 'utcHour') : windows ? 'day' : 'hour'
  const fold: Fold = {
    network: query.network,
    who: [index],
    grain,
    days,
    windows: windows ?? { sql: hourlySql },
    byValidator: false,
    signal,
  }
  const moment = once((atMs: number) => new Date(atMs).toISOString())
  return { query, time, line, covered, served: epochs, index, windows, fold, moment, date: once(formatDate) }
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

const fieldsSql = { ...figures, sumInclusionDelay: 'inclusion_delay' } as const

async function readPage(facts: Facts, plan: Plan): Promise<PageRead> {
  const { limit, offset } = plan.query
  const places = { hourNumber: plan.windows ? 'null' : 'first_hour', dayNumber: 'first_day' }
  const fields = { ...fieldsSql, ...places }
  const by = orderOf(plan.query)
  // A page that can hold everything tells the number as well.
  const isAll = offset === 0 && plan.windows && windowsIn(plan.windows, plan.fold.days) <= limit
  if (isAll && /^record_key( asc)?$/.test(by)) {
    const rows = await foldAll(facts, { ...plan.fold, byValidator: false }, fields)
    return { total: rows.length, results: rows.reverse().map((row) => toRecord(plan, row)) }
  }
  const total = isAll ? limit : await countRecords(facts, plan.fold)
  if (offset >= total) return { total, results: [] }
  const rows = await foldRecords(facts, plan.fold, fields, { by, limit, offset })
  return { total: isAll ? rows.length : total, results: rows.map((row) => toRecord(plan, row)) }
}

/** Figures as asked, records without one last, equal ones by time (decision 0037). Places in time grow with time. */
function orderOf({ sortBy, sortOrder, granularity }: Query): string {
  const figure = effectivenessNumbers.find((name) => name === sortBy)
  if (figure) return `"${figure}" ${sortOrder} nulls last, record_key`
  if (sortBy === 'validatorIndex' || !fits(granularity, sortBy ?? 'startDay')) return 'record_key'
  // Hours share their day, and with UTC days the two pieces of an hour share its number.
  if (sortBy === 'hour') return `"hourNumber" ${sortOrder}, record_key`
  const isShared = granularity === 'hour' && /day$/i.test(sortBy ?? '')
  return isShared ? `"dayNumber" ${sortOrder}, record_key` : `record_key ${sortOrder}`
}

/** Decision 0032: an hour has all fields, a day no hour, a longer window neither hour nor a day of its own. */
const fits = (granularity: Query['granularity'], field: string): boolean =>
  granularity === 'hour' || (field === 'hour' ? false : granularity === 'day' || (field !== 'day' && field !== 'date'))

type Row = { readonly key: number } & Record<keyof typeof fieldsSql | 'hourNumber' | 'dayNumber', Cell>

function toRecord(plan: Plan, row: Row): EffectivenessRecord {
  const { query, time, line, index, moment, date } = plan
  const { days, epochs } = placeOf(plan, row)
  const day = fits(query.granularity, 'day') ? days.from : null
  const startMs = epochStartMs(time, epochs.from)
  return {
    validatorIndex: index,
    hour: row.hourNumber as number | null,
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
    ...(Object.fromEntries(effectivenessNumbers.map((name) => [name, row[name]])) as Figures),
  }
}

type Figures = Pick<EffectivenessRecord, (typeof effectivenessNumbers)[number]>

/** Where a record lies, cut to what was asked for and is there. */
function placeOf({ time, line, covered, served, windows }: Plan, row: Row): { days: Range; epochs: Epochs } {
  const day = row.dayNumber as number
  const days = windows ? windows.daysOf(row.key) : { from: day, until: day + 1 }
  const ofDays = { from: line.epochsOf(days.from).from, until: line.epochsOf(days.until - 1).until }
  const epochs = windows ? ofDays : overlap(ofDays, epochsOfHour(time, row.hourNumber as ChainHour))
  return { days, epochs: cutToRead(covered, overlap(epochs, served)) }
}
