// The requests of the golden files, which together use every parameter of group C. Their validators, days and dates
// depend on the scenario only, never on stored data.
import { effectivenessNumbers, type Network } from '#api/contract/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'

export interface RequestPlan {
  readonly network: Network
  readonly time: ChainTime
  /** The number of epochs of the chain. Bounds of requests are inside, across and outside of them. */
  readonly epochs: number
  /** In ascending order. */
  readonly allValidators: readonly number[]
  /** Validators for most requests. The first one is used most. */
  readonly sampleValidators: readonly [number, number, ...number[]]
  /** Public keys of some existing validators. */
  readonly pubkeys: readonly string[]
}

/** `pagesMax`: the number of following pages (`next`) to request. */
export interface GoldenRequest {
  readonly network: Network
  readonly path: string
  readonly pagesMax?: number
  /** Sent in every run of the tests. */
  readonly isAlways?: true
}

type Query = Readonly<Record<string, string | number | boolean>>

const unknownIndex = 4_000_000
const unknownPubkey = `0x${'fe'.repeat(48)}`
const granularities = ['day', 'week', 'month', 'quarter', 'year', 'all'] as const
const allPages = 1000

export const requestsOf = (plan: RequestPlan): GoldenRequest[] => [
  ...aggregatedRequests(plan),
  ...effectivenessRequests(plan),
  ...explainRequests(plan),
  ...metadataRequests(plan),
]

const withQuery = (path: string, query: Query): string => {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}

function aggregatedRequests({
  network,
  time,
  epochs,
  allValidators,
  sampleValidators,
  pubkeys,
}: RequestPlan): GoldenRequest[] {
  const request = (query: Query, pagesMax = 0): GoldenRequest => ({
    network,
    path: withQuery('/v0/eth/validators/effectiveness', query),
    pagesMax,
  })
  const sample = { indices: sampleValidators.join() }
  const all = { indices: allValidators.join() }
  const { days, hours, dateAt, timeAt } = daysAndHoursOf(time, epochs)
  const bounds: Query[] = [
    { from: days(0.7), to: days(0.3) },
    { from: days(0.3), to: days(0.7) },
    { from: days(0.5) },
    { to: days(0.5) },
    { from: days(1) + 40, to: days(0.8) },
    { from: days(1) + 60, to: days(1) + 50 },
    { from: days(0.5), to: days(0.5) },
    ...[hours(0.7), hours(0.31)].map((from) => ({ filterType: 'hour', from, to: hours(0.3) })),
    { filterType: 'hour', from: hours(0.45) },
    { filterType: 'hour', to: hours(0.55) },
    { filterType: 'hour', from: hours(0.5), to: hours(0.5) },
    { filterType: 'hour', from: hours(1) + 900, to: hours(0.9) },
    { filterType: 'hour', from: hours(1) + 900, to: hours(1) + 800 },
    { filterType: 'datetime', from: timeAt(0.7), to: timeAt(0.3) },
    { filterType: 'datetime', from: dateAt(0.6), to: dateAt(0.4) },
    { filterType: 'datetime', from: dateAt(0.6) },
    { filterType: 'datetime', to: timeAt(0.4) },
    { filterType: 'datetime', from: '2001-01-01', to: timeAt(0.2) },
    { filterType: 'datetime', from: '2001-01-01', to: '2001-02-01' },
  ]
  const brief = { include: 'startEpoch,endEpoch,day,uptime,validatorEffectiveness,earnings,sumInclusionDelay' }
  return [
    { ...request(sample), isAlways: true },
    ...granularities.flatMap((granularity) => [
      request({ ...sample, granularity, size: 1000 }),
      request({ ...sample, granularity, groupBy: 'timeWindow', size: 1000 }),
      request({ ...all, granularity, groupBy: 'timeWindow', size: 1000 }),
    ]),
    ...(['month', 'all'] as const).map((granularity) => request({ ...all, granularity, size: 1000 })),
    { ...request({ ...all, ...brief, size: 1000 }, 1), isAlways: true },
    ...bounds.flatMap((bound) => [
      request({ ...sample, ...bound, ...brief, size: 1000 }),
      request({ ...all, ...bound, ...brief, groupBy: 'timeWindow', size: 1000 }),
      request({ ...sample, ...bound, ...brief, granularity: 'week', groupBy: 'timeWindow' }),
      request({ ...sample, ...bound, granularity: 'all', groupBy: 'timeWindow' }),
    ]),
    // All pages, some of which end inside a window.
    request({ ...sample, ...brief, size: 7 }, allPages),
    request({ ...sample, ...brief, size: 2, granularity: 'week' }, allPages),
    request({ ...sample, ...brief, size: 5, groupBy: 'timeWindow' }, allPages),
    request({ ...sample, ...brief, size: 4, filterType: 'hour', from: hours(0.8), to: hours(0.4) }, allPages),
    request({ ...sample, ...brief, size: 1, granularity: 'month', filterType: 'datetime' }, allPages),
    request({ ...all, include: 'uptime', size: allValidators.length - 1, from: days(0.9), to: days(0.6) }, allPages),
    request({ ...all, size: 0 }),
    request({ ...all, size: 0, groupBy: 'timeWindow', granularity: 'week' }),
    // Selection of validators.
    request({ pubkeys: pubkeys.join(), size: 4 }, 2),
    request({ pubkeys: pubkeys.map((key) => key.slice(2).toUpperCase()).join(), groupBy: 'timeWindow' }),
    request({ pubkeys: [...pubkeys, unknownPubkey].join(), granularity: 'all' }),
    request({ pubkeys: unknownPubkey }),
    request({ indices: unknownIndex }),
    request({ indices: [sampleValidators[0], unknownIndex].join(), granularity: 'all' }),
    request({ indices: [sampleValidators[1], sampleValidators[0], sampleValidators[0]].join(), granularity: 'all' }),
    ...allValidators
      .filter((_, at) => at % 16 === 5)
      .map((index) => request({ indices: index, granularity: 'quarter' })),
    // Invalid requests.
    request({}),
    request({ ...sample, pubkeys: unknownPubkey }),
    request({ ...sample, from: 'yesterday' }),
    request({ ...sample, filterType: 'datetime', from: '2026-13-01' }),
    request({ ...sample, include: 'uptime,height' }),
    request({ ...sample, size: 1001 }),
    request({ ...sample, granularity: 'hour' }),
  ]
}

/** Days, hours and times at a fraction of the chain. */
function daysAndHoursOf(
  { genesisUnix, slotSeconds, slotsPerEpoch, epochsPerHour, epochsPerDay }: ChainTime,
  epochs: number,
) {
  const epochAt = (share: number) => Math.floor((epochs - 1) * share)
  const timeAt = (share: number) =>
    new Date((genesisUnix + epochAt(share) * slotsPerEpoch * slotSeconds + 1) * 1000).toISOString()
  return {
    days: (share: number) => Math.floor(epochAt(share) / epochsPerDay),
    hours: (share: number) => Math.floor(epochAt(share) / epochsPerHour),
    timeAt,
    dateAt: (share: number) => timeAt(share).slice(0, 10),
  }
}

function effectivenessRequests({ network, time, epochs, sampleValidators, pubkeys }: RequestPlan): GoldenRequest[] {
  const request = (validator: number | string, query: Query, pagesMax = 0): GoldenRequest => ({
    network,
    path: withQuery(`/v1/eth/validators/${validator}/effectiveness`, query),
    pagesMax,
  })
  const [first] = sampleValidators
  const { days, dateAt } = daysAndHoursOf(time, epochs)
  const bounds: Query[] = [
    { fromDay: days(0.3), toDay: days(0.6) },
    { fromDay: days(0.5), toDay: days(0.5) },
    { fromDay: days(0.8) },
    { toDay: days(0.2) },
    { fromDay: days(1) + 30 },
    { fromDate: dateAt(0.3), toDate: dateAt(0.6) },
    { fromDate: dateAt(0.5), toDate: dateAt(0.5) },
    { fromDate: dateAt(0.8) },
    { toDate: '2001-01-01' },
    { fromDay: days(0.4), toDate: dateAt(0.5) },
    { fromDay: 3, toDay: 1 },
    { fromDate: dateAt(0.6), toDate: '2001-01-01' },
  ]
  const sorted: Query[] = [...effectivenessNumbers, 'startEpoch', 'endSlot'].flatMap((sortBy) => [
    { sortBy, limit: 30 },
    { sortBy, sortOrder: 'desc', limit: 12, granularity: 'hour' },
  ])
  return [
    request(first, {}),
    { ...request(first, { granularity: 'hour', limit: 50 }), isAlways: true },
    { ...request(sampleValidators[1], { utc: true, limit: 50 }), isAlways: true },
    ...[false, true].flatMap((utc) => [
      ...sampleValidators.flatMap((validator) =>
        (['hour', ...granularities] as const).map((granularity) =>
          request(validator, { granularity, utc, limit: 1000 }),
        ),
      ),
      ...bounds.flatMap((bound) => [
        request(first, { ...bound, utc, limit: 1000 }),
        request(first, { ...bound, utc, granularity: 'hour', limit: 40 }),
        request(first, { ...bound, utc, granularity: 'week' }),
        request(first, { ...bound, utc, granularity: 'all' }),
      ]),
      ...sorted.map((query) => request(sampleValidators[1], { ...query, utc })),
      request(first, { utc, limit: 6 }, allPages),
      request(first, { utc, limit: 11, granularity: 'hour', sortOrder: 'desc' }, allPages),
    ]),
    request(first, { limit: 3, offset: 2 }),
    request(first, { limit: 3, offset: 100_000 }),
    ...pubkeys.map((key) => request(key, { granularity: 'week', limit: 3 })),
    request(unknownIndex, {}),
    request(unknownPubkey, {}),
    request('somebody', {}),
    request(first, { limit: 1001 }),
    request(first, { sortBy: 'date' }),
  ]
}

function explainRequests({ network, time, epochs, sampleValidators, pubkeys }: RequestPlan): GoldenRequest[] {
  const request = (validator: number | string, query: Query, pagesMax = 0): GoldenRequest => ({
    network,
    path: withQuery(`/v1/eth/validators/${validator}/explain`, query),
    pagesMax,
  })
  const [first] = sampleValidators
  const { days, dateAt } = daysAndHoursOf(time, epochs)
  return [
    ...sampleValidators.map((validator) => ({ ...request(validator, { limit: 50 }), isAlways: true as const })),
    ...sampleValidators.flatMap((validator) => [
      request(validator, { limit: 100 }),
      request(validator, { utc: true, limit: 100 }),
    ]),
    request(first, { limit: 3 }, allPages),
    request(first, { utc: true, limit: 4, fromDate: dateAt(0.2), toDate: dateAt(0.9) }, allPages),
    request(first, { fromDay: days(0.4), toDay: days(0.6) }),
    request(first, { fromDay: days(1) + 9 }),
    request(first, { toDate: '2001-01-01' }),
    request(first, { fromDay: 3, toDay: 1 }),
    ...pubkeys.slice(0, 1).map((key) => request(key, { limit: 2, offset: 1 })),
    request(unknownIndex, {}),
  ]
}

function metadataRequests({ network, allValidators, pubkeys }: RequestPlan): GoldenRequest[] {
  const request = (name: string | number): GoldenRequest => ({
    network,
    path: `/v0/eth/validators/${name}`,
    pagesMax: 0,
  })
  const find = (query: Query, pagesMax = 0): GoldenRequest => ({
    network,
    path: withQuery('/v1/eth/validators', query),
    pagesMax,
  })
  return [
    ...allValidators.map(request),
    ...pubkeys.map(request),
    request(unknownIndex),
    request(unknownPubkey),
    find({}),
    find({ index: allValidators.at(-1) ?? 0 }),
    ...pubkeys.slice(0, 1).map((key) => find({ pubkey: key.slice(0, 9), limit: 5 }, allPages)),
  ]
}
