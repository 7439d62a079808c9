// Reads the whole duties database as plain rows, for tests that compare databases.

import { type Network, networks } from '#api/contract/wire/validators.ts'
import { chainDays, type DayCalendar, type Epoch, utcDays } from '#core/chain-time.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { partsIn, plainTime } from '#validators/duties/layout.ts'
import { type Measure, measures } from '#validators/method/measures.ts'
import type { TestContext } from './context.ts'

export type StoredRow = { readonly validator: number; readonly day: number; readonly hour: number } & Readonly<
  Record<Measure, number>
>

export type Grain = 'hours' | 'utcHours' | 'days' | 'utcDays'

interface StoredSpan {
  readonly network: Network
  readonly time: ReturnType<typeof plainTime>
  /** From the first to the last covered epoch. */
  readonly from: Epoch
  readonly until: Epoch
  readonly validators: readonly number[]
}

type DutiesContext = Pick<TestContext, 'duties' | 'settings'>

/** Undefined if nothing is covered. */
async function readSpan({ duties, settings }: DutiesContext, network: Network): Promise<StoredSpan | undefined> {
  const time = plainTime(networkSettings(settings, network))
  const covered = await coveredEpochs(duties, network)
  const [from, until] = [covered[0]?.from, covered.at(-1)?.until]
  if (from === undefined || until === undefined) return undefined
  const parts = partsIn(time, { from, until })
  const known = await Promise.all(parts.map(({ number: part }) => duties.query('validatorsIn', { network, part })))
  const validators = [...new Set(known.flatMap((list) => [...list]))].sort((a, b) => a - b)
  return { network, time, from: from as Epoch, until: until as Epoch, validators }
}

/** `order`: the rows by validator, then time. */
async function readSums({ duties }: DutiesContext, { from, until, ...span }: StoredSpan, grain: Grain) {
  const isUtc = grain.startsWith('utc')
  const calendar: DayCalendar = isUtc ? utcDays(span.time) : chainDays(span.time)
  const days = { from: calendar.dayOf(from), until: calendar.dayOf((until - 1) as Epoch) + 1 }
  const query = {
    ...{ ...span, isUtc, days, byValidator: true },
    grain: /hours/i.test(grain) ? ('hours' as const) : ('days' as const),
    windowOfDay: Array.from({ length: days.until - days.from }, (_, at) => days.from + at),
  }
  const found = await duties.query('sumRecords', { query, wanted: { measures, scores: [] } })
  const { validator, day, hour } = found
  const difference = (column: ArrayLike<number>, a: number, b: number) => (column[a] as number) - (column[b] as number)
  const order = Array.from(validator.keys()).sort(
    (a, b) => difference(validator, a, b) || difference(day, a, b) || difference(hour, a, b),
  )
  return { ...found, order }
}

/** Rows by validator, then time. `hour` is −1 in rows of days. */
export async function storedRows(context: DutiesContext, network: Network, grain: Grain): Promise<StoredRow[]> {
  const span = await readSpan(context, network)
  if (!span) return []
  const { order, validator, day, hour, sums } = await readSums(context, span, grain)
  return order.map((at) => ({
    validator: validator[at] as number,
    day: day[at] as number,
    hour: hour[at] as number,
    ...(Object.fromEntries(measures.map((name) => [name, sums[name]?.[at] as number])) as Record<Measure, number>),
  }))
}

/** The same figures as columns, which are compared in a tenth of the time. */
async function storedColumns(context: DutiesContext, span: StoredSpan, grain: Grain): Promise<object> {
  const { order, validator, day, hour, sums } = await readSums(context, span, grain)
  const columns = Object.entries({ validator, day, hour, ...sums })
  return Object.fromEntries(
    columns.map(([name, column]) => [name, Float64Array.from(order, (at) => column[at] as number)]),
  )
}

/** Deletes all rows. */
export async function emptyDuties({ duties, dutiesState }: Pick<TestContext, 'duties' | 'dutiesState'>): Promise<void> {
  const tables = Object.keys(await duties.query('countRows', undefined))
  await dutiesState.write(async (tx) => {
    for (const table of tables) await tx.run(`delete from ${table}`)
  })
}

/** Figures by day and hour, and the tables without packed data. */
export async function everythingStored(context: DutiesContext & Pick<TestContext, 'dutiesState'>): Promise<object> {
  const tables = ['coverage', 'duty_networks', 'unexplained_balance_changes', 'watch_ranges']
  const plain: Record<string, unknown> = {}
  for (const table of tables) {
    const rows = await context.dutiesState.all(`select * from ${table}`)
    plain[table] = rows.map((row) => JSON.stringify(row)).sort()
  }
  const figures: Record<string, unknown> = {}
  for (const network of networks) {
    const span = await readSpan(context, network)
    for (const grain of ['hours', 'utcHours', 'days', 'utcDays'] as const)
      figures[`${network} ${grain}`] = span && (await storedColumns(context, span, grain))
  }
  return { ...plain, ...figures }
}
