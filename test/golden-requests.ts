// Requests to group C that together use every parameter, for one network of a golden world. Which validators, days and dates
// they name follows from what the world is, never from what is stored.
import { effectivenessNumbers, type Network } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'

export interface RequestPlan {
  readonly network: Network
  readonly time: ChainTime
  /** Epochs that the chain has: bounds of requests lie within, across and outside of them. */
  readonly epochs: number
  /** Validators that exist, rising. */
  readonly everyone: readonly number[]
  /** A few of them that are asked about in every way; the first in most ways. */
  readonly few: readonly [number, number, ...number[]]
  /** Public keys of some validators that exist. */
  readonly pubkeys: readonly string[]
}

/** `pagesMax`: of the pages that `next` leads to, so many are asked for as well. */
export interface GoldenRequest {
  readonly network: Network
  readonly path: string
  readonly pagesMax?: number
  /** Asked in every run of the tests. */
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

function aggregatedRequests({ network, time, epochs, everyone, few, pubkeys }: RequestPlan): GoldenRequest[] {
  const ask = (query: Query, pagesMax = 0): GoldenRequest => ({
    network,
    path: withQuery('/v0/eth/validators/effectiveness', query),
    pagesMax,
  })
  const some = { indices: few.join() }
  const all = { indices: everyone.join() }
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
    { ...ask(some), isAlways: true },
    ...granularities.flatMap((granularity) => [
      ask({ ...some, granularity, size: 1000 }),
      ask({ ...some, granularity, groupBy: 'timeWindow', size: 1000 }),
      ask({ ...all, granularity, groupBy: 'timeWindow', size: 1000 }),
    ]),
    ...(['month', 'all'] as const).map((granularity) => ask({ ...all, granularity, size: 1000 })),
    { ...ask({ ...all, ...brief, size: 1000 }, 1), isAlways: true },
    ...bounds.flatMap((bound) => [
      ask({ ...some, ...bound, ...brief, size: 1000 }),
      ask({ ...all, ...bound, ...brief, groupBy: 'timeWindow', size: 1000 }),
      ask({ ...some, ...bound, ...brief, granularity: 'week', groupBy: 'timeWindow' }),
      ask({ ...some, ...bound, granularity: 'all', groupBy: 'timeWindow' }),
    ]),
    // Every page, with pages that end inside of a window.
    ask({ ...some, ...brief, size: 7 }, allPages),
    ask({ ...some, ...brief, size: 2, granularity: 'week' }, allPages),
    ask({ ...some, ...brief, size: 5, groupBy: 'timeWindow' }, allPages),
    ask({ ...some, ...brief, size: 4, filterType: 'hour', from: hours(0.8), to: hours(0.4) }, allPages),
    ask({ ...some, ...brief, size: 1, granularity: 'month', filterType: 'datetime' }, allPages),
    ask({ ...all, include: 'uptime', size: everyone.length - 1, from: days(0.9), to: days(0.6) }, allPages),
    ask({ ...all, size: 0 }),
    ask({ ...all, size: 0, groupBy: 'timeWindow', granularity: 'week' }),
    // Who is asked about.
    ask({ pubkeys: pubkeys.join(), size: 4 }, 2),
    ask({ pubkeys: pubkeys.map((key) => key.slice(2).toUpperCase()).join(), groupBy: 'timeWindow' }),
    ask({ pubkeys: [...pubkeys, unknownPubkey].join(), granularity: 'all' }),
    ask({ pubkeys: unknownPubkey }),
    ask({ indices: unknownIndex }),
    ask({ indices: [few[0], unknownIndex].join(), granularity: 'all' }),
    ask({ indices: [few[1], few[0], few[0]].join(), granularity: 'all' }),
    ...everyone.filter((_, at) => at % 16 === 5).map((index) => ask({ indices: index, granularity: 'quarter' })),
    // What is refused.
    ask({}),
    ask({ ...some, pubkeys: unknownPubkey }),
    ask({ ...some, from: 'yesterday' }),
    ask({ ...some, filterType: 'datetime', from: '2026-13-01' }),
    ask({ ...some, include: 'uptime,height' }),
    ask({ ...some, size: 1001 }),
    ask({ ...some, granularity: 'hour' }),
  ]
}

/** Days, hours and moments at a share of the way through the chain. */
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

function effectivenessRequests({ network, time, epochs, few, pubkeys }: RequestPlan): GoldenRequest[] {
  const ask = (who: number | string, query: Query, pagesMax = 0): GoldenRequest => ({
    network,
    path: withQuery(`/v1/eth/validators/${who}/effectiveness`, query),
    pagesMax,
  })
  const [first] = few
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
    ask(first, {}),
    { ...ask(first, { granularity: 'hour', limit: 50 }), isAlways: true },
    { ...ask(few[1], { utc: true, limit: 50 }), isAlways: true },
    ...[false, true].flatMap((utc) => [
      ...few.flatMap((who) =>
        (['hour', ...granularities] as const).map((granularity) => ask(who, { granularity, utc, limit: 1000 })),
      ),
      ...bounds.flatMap((bound) => [
        ask(first, { ...bound, utc, limit: 1000 }),
        ask(first, { ...bound, utc, granularity: 'hour', limit: 40 }),
        ask(first, { ...bound, utc, granularity: 'week' }),
        ask(first, { ...bound, utc, granularity: 'all' }),
      ]),
      ...sorted.map((query) => ask(few[1], { ...query, utc })),
      ask(first, { utc, limit: 6 }, allPages),
      ask(first, { utc, limit: 11, granularity: 'hour', sortOrder: 'desc' }, allPages),
    ]),
    ask(first, { limit: 3, offset: 2 }),
    ask(first, { limit: 3, offset: 100_000 }),
    ...pubkeys.map((key) => ask(key, { granularity: 'week', limit: 3 })),
    ask(unknownIndex, {}),
    ask(unknownPubkey, {}),
    ask('somebody', {}),
    ask(first, { limit: 1001 }),
    ask(first, { sortBy: 'date' }),
  ]
}

function explainRequests({ network, time, epochs, few, pubkeys }: RequestPlan): GoldenRequest[] {
  const ask = (who: number | string, query: Query, pagesMax = 0): GoldenRequest => ({
    network,
    path: withQuery(`/v1/eth/validators/${who}/explain`, query),
    pagesMax,
  })
  const [first] = few
  const { days, dateAt } = daysAndHoursOf(time, epochs)
  return [
    ...few.map((who) => ({ ...ask(who, { limit: 50 }), isAlways: true as const })),
    ...few.flatMap((who) => [ask(who, { limit: 100 }), ask(who, { utc: true, limit: 100 })]),
    ask(first, { limit: 3 }, allPages),
    ask(first, { utc: true, limit: 4, fromDate: dateAt(0.2), toDate: dateAt(0.9) }, allPages),
    ask(first, { fromDay: days(0.4), toDay: days(0.6) }),
    ask(first, { fromDay: days(1) + 9 }),
    ask(first, { toDate: '2001-01-01' }),
    ask(first, { fromDay: 3, toDay: 1 }),
    ...pubkeys.slice(0, 1).map((key) => ask(key, { limit: 2, offset: 1 })),
    ask(unknownIndex, {}),
  ]
}

function metadataRequests({ network, everyone, pubkeys }: RequestPlan): GoldenRequest[] {
  const ask = (path: string, query: Query = {}, pagesMax = 0): GoldenRequest => ({
    network,
    path: withQuery(`/v0/eth/validators${path}`, query),
    pagesMax,
  })
  return [
    ...everyone.map((index) => ask(`/${index}`)),
    ...pubkeys.map((key) => ask(`/${key}`)),
    ask(`/${unknownIndex}`),
    ask(`/${unknownPubkey}`),
    ask(''),
    ask('', { index: everyone.at(-1) ?? 0 }),
    ...pubkeys.slice(0, 1).map((key) => ask('', { pubkey: key.slice(0, 9), limit: 5 }, allPages)),
  ]
}
