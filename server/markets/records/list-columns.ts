// The values by which lists filter and order markets, events, series and tags, and the search ranks markets
// (behaviour/markets.md#lists). Those of slow fields are in market_list. Those of fast fields are stored with the other fast
// values (ticks/README.md), so that no row of a list changes with a price.
import type { Diff } from './diff-records.ts'
import type { KindName } from './kinds.ts'
import { sourceMs } from './source-time.ts'

type Fields = Readonly<Record<string, unknown>>

/** Stands for a value that is absent. It is lower than any value. */
export const noValue = Number.MIN_SAFE_INTEGER

const amountMax = 9e15

/** Amounts are compared in thousandths. */
export const toThousandths = (amount: number): number =>
  Math.round(Math.min(Math.max(amount * 1000, -amountMax), amountMax))

const isTrue = (value: unknown): number => Number(value === true)
const timeOf = (value: unknown): number => sourceMs(value) ?? noValue

/** What is computed from a slow field. */
const slowReaders = {
  active: ['active', (value) => Number(value !== false)],
  closed: ['closed', isTrue],
  archived: ['archived', isTrue],
  featured: ['featured', isTrue],
  start_ms: ['startDate', timeOf],
  end_ms: ['endDate', timeOf],
  created_ms: ['createdAt', timeOf],
  closed_ms: ['closedTime', timeOf],
  event_start_ms: ['startTime', timeOf],
} as const satisfies Readonly<Record<string, readonly [field: string, read: (value: unknown) => number]>>

export type SlowColumn = keyof typeof slowReaders | 'tag_updated_ms'
/** The columns of market_list. A tag has no fast fields, so its `updatedAt` is one of them. */
export const slowColumns = [...Object.keys(slowReaders), 'tag_updated_ms'] as readonly SlowColumn[]

export const slowValues = (kind: KindName, fields: Fields): number[] => [
  ...Object.values(slowReaders).map(([name, read]) => read(fields[name])),
  kind === 'tag' ? timeOf(fields.updatedAt) : noValue,
]

/** False: none of the slow values has changed. */
export const maySlowValuesDiffer = (kind: KindName, old: Fields, next: Fields): boolean =>
  Object.values(slowReaders).some(([name]) => old[name] !== next[name]) ||
  (kind === 'tag' && old.updatedAt !== next.updatedAt)

/** An amount that is there, but no number. */
const invalidAmount = Number.NEGATIVE_INFINITY

function amountOf(value: unknown): number {
  const amount = value === '' ? Number.NaN : Number(value)
  return Number.isNaN(amount) ? invalidAmount : Math.max(amount, -Number.MAX_VALUE)
}

/** What is computed from a fast field that a record has. Without the field it is NaN. */
const fastReaders = {
  volumeNum: amountOf,
  volume: amountOf,
  liquidityNum: amountOf,
  liquidity: amountOf,
  volume24hr: amountOf,
  updatedAt: timeOf,
} as const satisfies Readonly<Record<string, (value: unknown) => number>>

export type FastColumn = keyof typeof fastReaders
export const fastColumns = Object.keys(fastReaders) as readonly FastColumn[]

const readFast = (name: FastColumn, value: unknown): number =>
  value === undefined || value === null ? Number.NaN : fastReaders[name](value)

export const fastValues = (fields: Fields): number[] => fastColumns.map((name) => readFast(name, fields[name]))

/** The values that a change has set. */
export const changedFastValues = (diff: Diff): (readonly [FastColumn, number])[] =>
  fastColumns.flatMap((name) => (diff[name] ? [[name, readFast(name, diff[name][1])] as const] : []))

/** The first of two amounts that the record has. */
export const firstAmount = (first: number, second: number): number => (Number.isNaN(first) ? second : first)

export const comparedAmount = (amount: number): number =>
  Number.isNaN(amount) || amount === invalidAmount ? noValue : toThousandths(amount)

/** Larger than any volume, and small enough that ranks are exact integers. */
export const openRank = 1e15

/** Open markets first, then by traded volume in whole units. */
export const rankOf = (isOpen: boolean, volume: number): number =>
  (isOpen ? openRank : 0) + (volume > 0 ? Math.min(Math.floor(volume), openRank - 1) : 0)

/** Ids that are no numbers below it get a number from their hash, above it. */
export const hashedFrom = 1e15
