// The history of one field of a validator's entity, as periods of chain days. Pure.
//
// 1. Periods of one field are in order and do not overlap. Days without a period have no value.
// 2. Neighbouring periods have different values: equal ones are joined, with the evidence of the later one.
import { holes, merge, type Range } from '#core/ranges.ts'

/** Each field has a history of its own. */
export const entityFields = ['pool', 'operators', 'dvt'] as const
export type EntityField = (typeof entityFields)[number]

/** What an entity's field says: a pool with its subpool, node operators, or a DVT network with its operators. */
export interface FieldValue {
  /** The pool or the DVT network; null for node operators. */
  readonly name: string | null
  readonly subpool: string | null
  readonly operators: readonly string[]
}

export const evidenceKinds = ['rule', 'registry', 'label'] as const

/** Why a validator has a value. */
export interface Evidence {
  readonly kind: (typeof evidenceKinds)[number]
  /** The configuration, the name of an import or the name of a registry. */
  readonly source: string
  /** What selected the validator, such as `withdrawalAddress`. */
  readonly rule: string
}

/** A period that has not ended is until `openEnd`. */
export interface Period extends Range, FieldValue, Evidence {}

/** Later than every chain day, and a 32-bit integer. */
export const openEnd = 2 ** 31 - 1

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, at) => name === b[at])

/** Daily summaries know pools and operators, but not subpools. */
const hasSameMembers = (a: FieldValue, b: FieldValue): boolean =>
  a.name === b.name && isSameList(a.operators, b.operators)

const isSameValue = (a: FieldValue, b: FieldValue): boolean => hasSameMembers(a, b) && a.subpool === b.subpool

export const isSamePeriod = (a: Period, b: Period): boolean =>
  isSameValue(a, b) &&
  a.from === b.from &&
  a.until === b.until &&
  a.kind === b.kind &&
  a.source === b.source &&
  a.rule === b.rule

/** Sets the value of these days; null: they have none. */
export function setPeriod(
  periods: readonly Period[],
  days: Range,
  value: (FieldValue & Evidence) | null,
): readonly Period[] {
  const kept = periods.flatMap((period) => holes([days], period).map((range) => ({ ...period, ...range })))
  const all = value === null ? kept : [...kept, { ...value, ...days }]
  const joined: Period[] = []
  for (const period of all.filter(({ from, until }) => from < until).sort((a, b) => a.from - b.from)) {
    const last = joined.at(-1)
    if (last && last.until === period.from && isSameValue(last, period))
      joined[joined.length - 1] = { ...period, from: last.from }
    else joined.push(period)
  }
  return joined
}

/** The days on which the validator belongs to other entities than before. */
export function changedDays(before: readonly Period[], after: readonly Period[]): Range[] {
  const same = before.flatMap((old) =>
    after
      .filter((now) => hasSameMembers(old, now))
      .map((now) => ({ from: Math.max(old.from, now.from), until: Math.min(old.until, now.until) })),
  )
  const unchanged = merge(same)
  return merge([...before, ...after]).flatMap((range) => holes(unchanged, range))
}

/** The period that has not ended. */
export const presentPeriod = (periods: readonly Period[]): Period | undefined =>
  periods.at(-1)?.until === openEnd ? periods.at(-1) : undefined
