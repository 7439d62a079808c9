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
import { createHandler, type HandlerResult } from '#http/handler.ts'
import type { Duties } from '#storage/duties.ts'
import type { ValidatorsContext } from '../context.ts'
import type { RecordKey } from '../duties/record-query.ts'
import { validatorsErrorFormat } from '../error-format.ts'
import { getHourlyCoverage, getKeptEpochs, getRowCoverage, withStableCoverage } from '../ratings/coverage.ts'
import { aggregateFigures, type Figure, methodHeaders, type TimeField } from '../ratings/method.ts'
import { toPath } from '../ratings/page-links.ts'
import { listRecords, type RecordRequest, type Records, readRecords } from '../ratings/records.ts'
import {
  chainTimeOf,
  clipToCovered,
  countedEpochs,
  invalidInput,
  type RequestedEpochs,
  requestedEpochs,
  servedEpochs,
  toConfidence,
} from '../ratings/requested-epochs.ts'
import { type Windows, windowsIn, windowsOver } from '../ratings/windows.ts'
import { indicesOf } from '../registry/registry.ts'

const endpoint = contract['validators.aggregateEffectiveness']
type AggregateQuery = Parsed<typeof endpoint>

export const aggregateEffectiveness = createHandler(
  endpoint,
  validatorsErrorFormat,
  (query, context: ValidatorsContext, { signal }) =>
    withStableCoverage(context, query.network, () => readAggregate(query, context, signal)),
)

async function readAggregate(
  query: AggregateQuery,
  context: ValidatorsContext,
  signal: AbortSignal | undefined,
): Promise<HandlerResult<Reply<typeof endpoint>>> {
  const { state, duties, settings } = context
  const granularity = query.granularity ?? 'day'
  const time = chainTimeOf(settings, query.network)
  requireOneList(query)
  const requested = requestedEpochs(time, { ...query, granularity })
  const counted = countedEpochs(time, requested, { ...query, granularity })
  const [{ who: validators, mayMissUnkept }, coverage] = await Promise.all([
    resolveValidators(state, query, settings.validators.networks[query.network].watch),
    query.filterType === 'hour'
      ? getHourlyCoverage(context, query.network, time, partialDays(time, requested))
      : getRowCoverage(context, query.network, time),
  ])
  const served = servedEpochs(coverage.covered, requested)
  const countedServed = served && servedEpochs(coverage.covered, counted)
  const page =
    countedServed && validators.length > 0
      ? await readAggregatePage(
          duties,
          planAggregate({
            ...{ query, time, asked: requested, served, covered: coverage.covered, who: validators, signal },
            counted: { asked: counted, served: countedServed },
          }),
        )
      : emptyPage
  const mayMissValidators = coverage.isWatched && mayMissUnkept
  const kept = mayMissValidators ? [] : await getKeptEpochs(context, query.network, coverage, validators)
  return {
    is: 'body',
    body: { ...page, page: { filterType: query.filterType, granularity, size: query.size } },
    headers: methodHeaders,
    confidence: toConfidence(coverage.covered, requested, kept),
  }
}

function requireOneList({ pubkeys, indices }: AggregateQuery): void {
  if ((pubkeys === undefined) !== (indices === undefined)) return
  const message = pubkeys
    ? 'send either pubkeys or indices, not both'
    : 'name 1 to 10000 validators by pubkeys or indices'
  throw invalidInput(['pubkeys', 'indices'].map((name) => ({ at: ['query', name], message })))
}

interface NamedValidators {
  readonly who: readonly number[]
  /**
   * A key that was named is not in the registry. With a watch list it may belong to a validator who is not kept; unless it is on
   * that list, for then it would be in the registry if it were anybody's (behaviour/validators.md#watch-lists).
   */
  readonly mayMissUnkept: boolean
}

/** Each once. Those that nobody knows are left out: they have no duties (behaviour/validators.md#time-bounds-of-the-aggregate). */
async function resolveValidators(
  state: ValidatorsContext['state'],
  { network, pubkeys, indices }: AggregateQuery,
  watch: readonly string[],
): Promise<NamedValidators> {
  if (!pubkeys) return { who: [...new Set(indices)], mayMissUnkept: false }
  const found = await indicesOf(state, network, pubkeys)
  const keys = new Set(pubkeys.map((key) => key.replace(/^0x/i, '').toLowerCase()))
  if (found.length === keys.size || watch.length === 0) return { who: found, mayMissUnkept: found.length < keys.size }
  const unlisted = [...keys.difference(new Set(watch.map((name) => name.slice(2).toLowerCase())))]
  return { who: found, mayMissUnkept: (await indicesOf(state, network, unlisted)).length < unlisted.length }
}

/**
 * An example. Days 1 to 8 have been read, and a caller asks from day 10 back to day 1, four at a time. The first page holds days 8
 * to 5; its `next` says from=4, to=1, newest=8. Before it is followed, day 9 is read as well. On the second page
 * - `asked` is days 1 to 4, by `from` and `to`, and `served` are those of them that have been read: here all four;
 * - `counted.asked` is days 1 to 8, by `to` and `newest`, and `counted.served` those of them that have been read. Day 9 is in
 *   neither, so that `total` is 8 on every page;
 * - `wanted` are the records of `served`, those on this page and behind it; `all` those of `counted.served`, which are counted.
 */
interface AggregateRequest extends Pick<RecordRequest, 'who' | 'signal'> {
  readonly query: AggregateQuery
  readonly time: ChainTime
  readonly asked: RequestedEpochs
  readonly served: Epochs
  readonly covered: readonly Range[]
  readonly counted: { readonly asked: Range; readonly served: Epochs }
}

interface AggregatePlan extends AggregateRequest {
  readonly windows: Windows
  readonly wanted: RecordRequest
  readonly all: RecordRequest
}

function planAggregate(request: AggregateRequest): AggregatePlan {
  const page = toRecordRequest(request)
  if (request.query.newest === undefined) return { ...request, ...page, all: page.wanted }
  const { after: _, ...query } = request.query
  return { ...request, ...page, all: toRecordRequest({ ...request, ...request.counted, query }).wanted }
}

function toRecordRequest({
  query,
  time,
  asked: requested,
  served,
  who,
  signal,
}: Omit<AggregateRequest, 'asked' | 'covered'> & { readonly asked: Range }): Pick<AggregatePlan, 'windows' | 'wanted'> {
  const line = chainDays(time)
  const newest = line.dayOf((served.until - 1) as Epoch)
  const days = { from: line.dayOf(served.from), until: newest + 1 }
  const windows = windowsOver(line, query.granularity ?? 'day', days)
  const byValidator = query.groupBy === 'validator'
  const wanted: RecordRequest = {
    network: query.network,
    ...{ time, who, signal, days, windows, byValidator, isUtc: false },
    ...(query.filterType === 'hour' && { cut: toCut(time, requested, served) }),
    ...(byValidator &&
      query.after !== undefined && { after: { window: windows.keyOf(newest), validator: query.after } }),
  }
  return { windows, wanted }
}

/** Hours cut into the first and the last day; the days between come whole. */
const toCut = (time: ChainTime, requested: Range, served: Epochs): NonNullable<RecordRequest['cut']> => ({
  hours: { from: hourOf(time, served.from), until: hourOf(time, (served.until - 1) as Epoch) + 1 },
  wholeDays: wholeDays(time, requested),
})

const wholeDays = ({ epochsPerDay }: ChainTime, { from, until }: Range): Range => ({
  from: Math.ceil(from / epochsPerDay),
  until: Math.floor(Math.min(until, Number.MAX_SAFE_INTEGER) / epochsPerDay),
})

/** The asked epochs of days that do not come whole. */
function partialDays(time: ChainTime, requested: Range): Range[] {
  const { from, until } = wholeDays(time, requested)
  return holes([{ from: from * time.epochsPerDay, until: until * time.epochsPerDay }], requested)
}

interface AggregatePage {
  readonly data: AggregateRecord[]
  readonly next: string | null
  readonly total: number
}
const emptyPage: AggregatePage = { data: [], next: null, total: 0 }

async function readAggregatePage(duties: Duties, plan: AggregatePlan): Promise<AggregatePage> {
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
  if (!newest || !oldest) return { ...emptyPage, total }
  const narrow: RecordRequest = {
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
 * Newest window first, then by validator. The named fields that are known, and always the validator a record is about (behaviour/validators.md#unknown-values
 * and 0035).
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
    const place = windowBounds(plan, window[at] as number)
    const record: Partial<Record<keyof AggregateRecord, number>> = {}
    if (plan.wanted.byValidator) record.validatorIndex = validator[at] as number
    for (const field of fields) {
      const value = isFigure(field) ? (figures[field]?.[at] as number) : place[field]
      if (value !== null && !Number.isNaN(value)) record[field] = value
    }
    return record
  })
}

/** Where a window lies, cut to what was asked for and is there; both ends included, as on the wire (behaviour/validators.md#time-fields). */
function windowBounds({ query, time, served, covered, windows }: AggregatePlan, key: number): WindowBounds {
  const days = windows.daysOf(key)
  const line = chainDays(time)
  const [first, last] = [days.from as ChainDay, (days.until - 1) as ChainDay]
  const epochs = clipToCovered(
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
function nextPath(plan: AggregatePlan, last: RecordKey, following: RecordKey | undefined): string | null {
  if (!following) return null
  const { query, asked: requested, served } = plan
  const { endDay, endEpoch } = windowBounds(plan, following.window)
  const from = boundAt(plan, endDay, endEpoch)
  const [newestEpoch, line] = [(served.until - 1) as Epoch, chainDays(plan.time)]
  const newest = query.newest ?? boundAt(plan, line.dayOf(newestEpoch), newestEpoch)
  const after = following.window === last.window ? last.validator : undefined
  return toPath(endpoint, { ...query, from, to: requested.older, after, newest }, ['size'])
}

/** As a caller would write it. */
const boundAt = ({ query, time }: AggregatePlan, day: ChainDay, epoch: Epoch): number | string =>
  ({
    day: () => day,
    hour: () => hourOf(time, epoch),
    datetime: () => new Date(epochStartMs(time, chainDays(time).epochsOf(day).from)).toISOString(),
  })[query.filterType]()
