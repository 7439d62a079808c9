// Spec 4.5: many validators, folded over windows of time and, unless asked otherwise, one record per validator. Newest
// window first; a page that is not the last names the next one.
import { contract } from '#api/contract.ts'
import type { Parsed, Reply } from '#api/kit.ts'
import { type AggregateField, type AggregateRecord, aggregateFields } from '#api/wire/validators.ts'
import {
  type ChainDay,
  type ChainTime,
  chainDays,
  type Epoch,
  type Epochs,
  epochStartMs,
  hourOf,
  overlap,
} from '#core/chain-time.ts'
import { holes, type Range } from '#core/ranges.ts'
import { answer, type Outcome } from '#serve/answer.ts'
import type { Duties } from '#store/duties.ts'
import type { ValidatorsContext } from './context.ts'
import type { RecordKey } from './duties/record-query.ts'
import { pathTo } from './links.ts'
import { aggregateFigures, type Figure, methodHeaders, type PlaceField } from './method.ts'
import { listRecords, type Records, type RecordsWanted, readRecords } from './records.ts'
import { indicesOf } from './registry.ts'
import { shape } from './shape.ts'
import {
  type Asked,
  askedEpochs,
  chainTimeOf,
  confidenceOf,
  countedEpochs,
  cutToRead,
  refuse,
  servedEpochs,
} from './span.ts'
import { atOneCoverage, hourlyStandingOf, keptOf, rowStandingOf } from './standing.ts'
import { type Windows, windowsIn, windowsOver } from './windows.ts'

const endpoint = contract['validators.aggregateEffectiveness']
type Query = Parsed<typeof endpoint>

export const aggregateEffectiveness = answer(endpoint, shape, (query, context: ValidatorsContext, { signal }) =>
  atOneCoverage(context, query.network, () => aggregate(query, context, signal)),
)

async function aggregate(
  query: Query,
  context: ValidatorsContext,
  signal: AbortSignal | undefined,
): Promise<Outcome<Reply<typeof endpoint>>> {
  const { state, duties, settings } = context
  const granularity = query.granularity ?? 'day'
  const time = chainTimeOf(settings, query.network)
  refuseUnlessOneList(query)
  const asked = askedEpochs(time, { ...query, granularity })
  const counted = countedEpochs(time, asked, { ...query, granularity })
  const [{ who, mayLackSomebody }, standing] = await Promise.all([
    namedBy(state, query, settings.validators.networks[query.network].watch),
    query.filterType === 'hour'
      ? hourlyStandingOf(context, query.network, time, cutDays(time, asked))
      : rowStandingOf(context, query.network, time),
  ])
  const served = servedEpochs(standing.covered, asked)
  const countedServed = served && servedEpochs(standing.covered, counted)
  const page =
    countedServed && who.length > 0
      ? await readPage(
          duties,
          planOf({
            ...{ query, time, asked, served, covered: standing.covered, who, signal },
            counted: { asked: counted, served: countedServed },
          }),
        )
      : nothing
  const isLacking = standing.isWatched && mayLackSomebody
  const kept = isLacking ? [] : await keptOf(context, query.network, standing, who)
  return {
    is: 'body',
    body: { ...page, page: { filterType: query.filterType, granularity, size: query.size } },
    headers: methodHeaders,
    confidence: confidenceOf(standing.covered, asked, kept),
  }
}

function refuseUnlessOneList({ pubkeys, indices }: Query): void {
  if ((pubkeys === undefined) !== (indices === undefined)) return
  const says = pubkeys ? 'send either pubkeys or indices, not both' : 'name 1 to 10000 validators by pubkeys or indices'
  throw refuse(['pubkeys', 'indices'].map((name) => ({ at: ['query', name], says })))
}

interface Named {
  readonly who: readonly number[]
  /**
   * A key that was named is not in the registry. With a watch list it may belong to a validator who is not kept; unless it is on
   * that list, for then it would be in the registry if it were anybody's (decision 0189).
   */
  readonly mayLackSomebody: boolean
}

/** Each once. Those that nobody knows are left out: they have no duties (decision 0033). */
async function namedBy(
  state: ValidatorsContext['state'],
  { network, pubkeys, indices }: Query,
  watch: readonly string[],
): Promise<Named> {
  if (!pubkeys) return { who: [...new Set(indices)], mayLackSomebody: false }
  const who = await indicesOf(state, network, pubkeys)
  const keys = new Set(pubkeys.map((key) => key.replace(/^0x/i, '').toLowerCase()))
  if (who.length === keys.size || watch.length === 0) return { who, mayLackSomebody: who.length < keys.size }
  const unlisted = [...keys.difference(new Set(watch.map((name) => name.slice(2).toLowerCase())))]
  return { who, mayLackSomebody: (await indicesOf(state, network, unlisted)).length < unlisted.length }
}

/**
 * An example. Days 1 to 8 have been read, and a caller asks from day 10 back to day 1, four at a time. The first page holds days 8
 * to 5; its `next` says from=4, to=1, newest=8. Before it is followed, day 9 is read as well. On the second page
 * - `asked` is days 1 to 4, by `from` and `to`, and `served` are those of them that have been read: here all four;
 * - `counted.asked` is days 1 to 8, by `to` and `newest`, and `counted.served` those of them that have been read. Day 9 is in
 *   neither, so that `total` is 8 on every page;
 * - `wanted` are the records of `served`, those on this page and behind it; `all` those of `counted.served`, which are counted.
 */
interface Question extends Pick<RecordsWanted, 'who' | 'signal'> {
  readonly query: Query
  readonly time: ChainTime
  readonly asked: Asked
  readonly served: Epochs
  readonly covered: readonly Range[]
  readonly counted: { readonly asked: Range; readonly served: Epochs }
}

interface Plan extends Question {
  readonly windows: Windows
  readonly wanted: RecordsWanted
  readonly all: RecordsWanted
}

function planOf(question: Question): Plan {
  const page = wantedOf(question)
  if (question.query.newest === undefined) return { ...question, ...page, all: page.wanted }
  const { after: _, ...query } = question.query
  return { ...question, ...page, all: wantedOf({ ...question, ...question.counted, query }).wanted }
}

function wantedOf({
  query,
  time,
  asked,
  served,
  who,
  signal,
}: Omit<Question, 'asked' | 'covered'> & { readonly asked: Range }): Pick<Plan, 'windows' | 'wanted'> {
  const line = chainDays(time)
  const newest = line.dayOf((served.until - 1) as Epoch)
  const days = { from: line.dayOf(served.from), until: newest + 1 }
  const windows = windowsOver(line, query.granularity ?? 'day', days)
  const byValidator = query.groupBy === 'validator'
  const wanted: RecordsWanted = {
    network: query.network,
    ...{ time, who, signal, days, windows, byValidator, isUtc: false },
    ...(query.filterType === 'hour' && { cut: cutOf(time, asked, served) }),
    ...(byValidator &&
      query.after !== undefined && { after: { window: windows.keyOf(newest), validator: query.after } }),
  }
  return { windows, wanted }
}

/** Hours cut into the first and the last day; the days between come whole. */
const cutOf = (time: ChainTime, asked: Range, served: Epochs): NonNullable<RecordsWanted['cut']> => ({
  hours: { from: hourOf(time, served.from), until: hourOf(time, (served.until - 1) as Epoch) + 1 },
  wholeDays: wholeDays(time, asked),
})

const wholeDays = ({ epochsPerDay }: ChainTime, { from, until }: Range): Range => ({
  from: Math.ceil(from / epochsPerDay),
  until: Math.floor(Math.min(until, Number.MAX_SAFE_INTEGER) / epochsPerDay),
})

/** The asked epochs of days that do not come whole. */
function cutDays(time: ChainTime, asked: Range): Range[] {
  const { from, until } = wholeDays(time, asked)
  return holes([{ from: from * time.epochsPerDay, until: until * time.epochsPerDay }], asked)
}

interface PageRead {
  readonly data: AggregateRecord[]
  readonly next: string | null
  readonly total: number
}
const nothing: PageRead = { data: [], next: null, total: 0 }

async function readPage(duties: Duties, plan: Plan): Promise<PageRead> {
  const { size, include } = plan.query
  const fields = include ?? aggregateFields
  const { wanted, windows } = plan
  // A pool's year: one record per day, all of them on the page. Reading them tells their number as well.
  if (!wanted.byValidator && windowsIn(windows, wanted.days) <= size) {
    const [records, counted] = await Promise.all([
      readRecords(duties, wanted, figuresOf(fields)),
      plan.all === wanted ? undefined : listRecords(duties, plan.all, 0),
    ])
    return { data: toPage(plan, fields, records), next: null, total: counted?.total ?? records.window.length }
  }
  // Otherwise it is found out first which records the page holds, and only their figures are read.
  const listed = await listRecords(duties, wanted, size === 0 ? 0 : size + 1)
  const { total } = plan.all === wanted ? listed : await listRecords(duties, plan.all, 0)
  const shown = listed.first.slice(0, size)
  const [newest, oldest] = [shown[0], shown.at(-1)]
  if (!newest || !oldest) return { ...nothing, total }
  const narrow: RecordsWanted = {
    ...wanted,
    days: { from: windows.daysOf(oldest.window).from, until: windows.daysOf(newest.window).until },
    ...(wanted.byValidator && { who: [...new Set(shown.map(({ validator }) => validator))] }),
  }
  const isShown = new Set(shown.map(keyText))
  const records = await readRecords(duties, narrow, figuresOf(fields))
  return {
    data: toPage(plan, fields, records, (key) => isShown.has(keyText(key))),
    next: nextPath(plan, oldest, listed.first[size]),
    total,
  }
}

const keyText = ({ window, validator }: RecordKey): string => `${window} ${validator}`

interface Place extends Record<PlaceField, number | null> {
  readonly startDay: ChainDay
  readonly endDay: ChainDay
  readonly startEpoch: Epoch
  readonly endEpoch: Epoch
}

const isFigure = (field: AggregateField): field is Exclude<AggregateField, PlaceField> => field in aggregateFigures

const figuresOf = (fields: readonly AggregateField[]): Record<string, Figure> =>
  Object.fromEntries(fields.filter(isFigure).map((field) => [field, aggregateFigures[field]]))

/**
 * Newest window first, then by validator. The named fields that are known, and always the validator a record is about (decisions 0031
 * and 0035).
 */
function toPage(
  plan: Plan,
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
    const place = placeOf(plan, window[at] as number)
    const record: Partial<Record<keyof AggregateRecord, number>> = {}
    if (plan.wanted.byValidator) record.validatorIndex = validator[at] as number
    for (const field of fields) {
      const value = isFigure(field) ? (figures[field]?.[at] as number) : place[field]
      if (value !== null && !Number.isNaN(value)) record[field] = value
    }
    return record
  })
}

/** Where a window lies, cut to what was asked for and is there; both ends included, as on the wire (decision 0032). */
function placeOf({ query, time, served, covered, windows }: Plan, key: number): Place {
  const days = windows.daysOf(key)
  const line = chainDays(time)
  const [first, last] = [days.from as ChainDay, (days.until - 1) as ChainDay]
  const epochs = cutToRead(
    covered,
    overlap({ from: line.epochsOf(first).from, until: line.epochsOf(last).until }, served),
  )
  return {
    day: (query.granularity ?? 'day') === 'day' ? first : null,
    startDay: first,
    endDay: last,
    startEpoch: epochs.from,
    endEpoch: (epochs.until - 1) as Epoch,
  }
}

/** `following` is the first record of the next page: where its window begins, going back, is where that page starts. */
function nextPath(plan: Plan, last: RecordKey, following: RecordKey | undefined): string | null {
  if (!following) return null
  const { query, asked, served } = plan
  const { endDay, endEpoch } = placeOf(plan, following.window)
  const from = boundAt(plan, endDay, endEpoch)
  const [newestEpoch, line] = [(served.until - 1) as Epoch, chainDays(plan.time)]
  const newest = query.newest ?? boundAt(plan, line.dayOf(newestEpoch), newestEpoch)
  const after = following.window === last.window ? last.validator : undefined
  return pathTo(endpoint, { ...query, from, to: asked.older, after, newest }, ['size'])
}

/** As a caller would write it. */
const boundAt = ({ query, time }: Plan, day: ChainDay, epoch: Epoch): number | string =>
  ({
    day: () => day,
    hour: () => hourOf(time, epoch),
    datetime: () => new Date(epochStartMs(time, chainDays(time).epochsOf(day).from)).toISOString(),
  })[query.filterType]()
