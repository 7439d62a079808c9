// What bench/ratings.ts asks about: days of everybody on a network, made by DuckDB, and questions over them.
import { aggregateFields } from '#api/wire/validators.ts'
import { type ChainTime, chainDays } from '#core/chain-time.ts'
import { type Fold, foldRecords } from '#groups/validators/fold.ts'
import { aggregateSql, figures } from '#groups/validators/method.ts'
import { windowsOver } from '#groups/validators/windows.ts'
import { chance } from '#sim/chance.ts'
import type { Facts } from '#store/facts.ts'

/**
 * A day of everyone, or fewer epochs: mostly good, with the lapses and the luck of a real network. The columns of duty_days.
 */
export const daySql = (validators: number, day: number, epochs = 225): string => {
  const draw = (salt: number) => `(hash(i, ${day}, ${salt}) % 1000)::integer`
  const share = 225 / epochs
  return `select 'mainnet', validator, ${day}, ${epochs}, included + c % 9, included, included + c % 14, included, included - wrong, included - b % 7,
      late, 0, duties, duties - missed, 0, sync, 0, 0, 0,
      included * 9234 - b % 7 * 2394 + a * 3, sync * 410, (duties - missed) * 81000000 + duties * a * 1013, late * -2394, 0, wrong * -4446, 0,
      (${epochs} - included) * -6840, 0, (${epochs} - included) * 9234, 0, missed * 80000000, 0, (duties - missed) * 21000000 + duties * a * 331,
      (duties - missed) * 35000000 + duties * a * 771, 0, included * 9234 - b % 7 * 2394 + a * 3 + sync * 410
    from (select *, case when duties > 0 and c < 10 then 1 else 0 end as missed from (
      select i::integer as validator, a, b, c, ${epochs} - case when a < 1000 - 100 / ${share} then 0 when a < 1000 - 10 / ${share} then a % 4 else a % ${Math.floor((epochs * 8) / 9)} end as included,
        case when b < 50 / ${share} then 1 else 0 end as wrong, case when b < 30 / ${share} then 1 else 0 end as late,
        case when c < 70 and d < 280 / ${share} then 1 else 0 end as duties, case when d < 2 then ${24 * epochs} + c // 10 else 0 end as sync
      from (select i, ${draw(1)} as a, ${draw(2)} as b, ${draw(3)} as c, ${draw(4)} as d from range(${validators}) as t(i))))
    order by validator`
}

export interface Question {
  readonly name: string
  readonly who: readonly number[]
  readonly from: number
  readonly until: number
}

/** As many as one call may name. */
export const namedMax = 10_000

export function questionsOf(
  validators: number,
  days: number,
  many = Math.min(namedMax, validators / 10),
): readonly Question[] {
  const draws = chance('ratings')
  const some = (count: number) =>
    [...new Set(Array.from({ length: count * 3 }, () => draws.whole(0, validators)))].slice(0, count)
  /** A pool makes its deposits in batches, so its validators stand in runs. */
  const runs = [
    ...new Set(some(many / 100).flatMap((first) => Array.from({ length: 100 }, (_, at) => (first + at) % validators))),
  ]
  const all = Array.from({ length: validators }, (_, index) => index)
  return [
    { name: `one × ${days} days`, who: some(1), from: 0, until: days },
    { name: `100 random × ${days} days`, who: some(100), from: 0, until: days },
    { name: `${many} in runs × ${days} days`, who: runs, from: 0, until: days },
    { name: `${many} random × ${days} days`, who: some(many), from: 0, until: days },
    { name: 'all × one day long ago', who: all, from: days >> 2, until: (days >> 2) + 1 },
    { name: 'all × the last day', who: all, from: days - 1, until: days },
  ]
}

/** What the endpoints put to the engine for it: one statement for each call. */
export async function askEngine(facts: Facts, time: ChainTime, { who, from, until }: Question): Promise<void> {
  const span = { from, until }
  const windows = windowsOver(chainDays(time), 'day', span)
  const measured = aggregateFields.filter((field) => field in aggregateSql) as (keyof typeof aggregateSql)[]
  const many = Object.fromEntries(measured.map((field) => [field, aggregateSql[field]]))
  const one = { ...figures, sumInclusionDelay: 'inclusion_delay' }
  for (let at = 0; at < who.length; at += namedMax) {
    const named = who.slice(at, at + namedMax)
    const fold: Fold = { network: 'mainnet', who: named, grain: 'day', days: span, windows, byValidator: false }
    const order = { by: 'record_key desc', limit: until - from }
    const rows = await foldRecords(facts, fold, who.length === 1 ? one : many, order)
    if (rows.length !== until - from) throw new Error(`${rows.length} days`)
  }
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** Milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
