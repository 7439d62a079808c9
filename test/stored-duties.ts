// Reads the whole duties database as plain rows, for tests that compare databases.
import { type Network, networks } from '#api/wire/validators.ts'
import { chainDays, type DayCalendar, type Epoch, utcDays } from '#core/chain-time.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { partsIn, plainTime } from '#validators/duties/layout.ts'
import { queryDuties } from '#validators/duties/store.ts'
import { type Measure, measures } from '#validators/ratings/measures.ts'
import type { TestContext } from './context.ts'

export type StoredRow = { readonly validator: number; readonly day: number; readonly hour: number } & Readonly<
  Record<Measure, number>
>

export type Grain = 'hours' | 'utcHours' | 'days' | 'utcDays'

/** Rows by validator, then time. `hour` is −1 in rows of days. */
export async function storedRows(
  context: Pick<TestContext, 'duties' | 'settings'>,
  network: Network,
  grain: Grain,
): Promise<StoredRow[]> {
  const time = plainTime(context.settings.validators.networks[network])
  const covered = await coveredEpochs(context.duties, network)
  const [from, until] = [covered[0]?.from, covered.at(-1)?.until]
  if (from === undefined || until === undefined) return []
  const isUtc = grain.startsWith('utc')
  const calendar: DayCalendar = isUtc ? utcDays(time) : chainDays(time)
  const days = { from: calendar.dayOf(from as Epoch), until: calendar.dayOf((until - 1) as Epoch) + 1 }
  const parts = partsIn(time, { from, until })
  const known = await Promise.all(
    parts.map(({ part }) => queryDuties(context.duties, 'validatorsIn', { network, part })),
  )
  const query = {
    ...{ network, time, isUtc, days, byValidator: true },
    validators: [...new Set(known.flatMap((list) => [...list]))].sort((a, b) => a - b),
    grain: /hours/i.test(grain) ? ('hours' as const) : ('days' as const),
    windowOf: Array.from({ length: days.until - days.from }, (_, at) => days.from + at),
  }
  const { window, validator, day, hour, sums } = await queryDuties(context.duties, 'sumRecords', {
    query,
    wanted: { measures, scores: [] },
  })
  const rows = Array.from(window, (_, at) => ({
    validator: validator[at] as number,
    day: day[at] as number,
    hour: hour[at] as number,
    ...(Object.fromEntries(measures.map((name) => [name, sums[name]?.[at] as number])) as Record<Measure, number>),
  }))
  return rows.sort((a, b) => a.validator - b.validator || a.day - b.day || a.hour - b.hour)
}

/** Deletes all rows. */
export async function emptyDuties({ duties, dutiesState }: Pick<TestContext, 'duties' | 'dutiesState'>): Promise<void> {
  const tables = Object.keys(await queryDuties(duties, 'countRows', undefined))
  await dutiesState.write(async (tx) => {
    for (const table of tables) await tx.run(`delete from ${table}`)
  })
}

/** Figures by day and hour, and the tables without packed data. */
export async function everythingStored(
  context: Pick<TestContext, 'duties' | 'settings'> & Pick<TestContext, 'dutiesState'>,
): Promise<object> {
  const tables = [
    'coverage',
    'duty_networks',
    'inactivity_scores',
    'reward_audits',
    'unexplained_balance_changes',
    'watch_ranges',
  ]
  const plain: Record<string, unknown> = {}
  for (const table of tables) {
    const rows = await context.dutiesState.all(`select * from ${table}`)
    plain[table] = rows.map((row) => JSON.stringify(row)).sort()
  }
  const figures: Record<string, unknown> = {}
  for (const network of networks)
    for (const grain of ['hours', 'utcHours', 'days', 'utcDays'] as const)
      figures[`${network} ${grain}`] = await storedRows(context, network, grain)
  return { ...plain, ...figures }
}
