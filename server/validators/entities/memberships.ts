// Stores which entity a validator belongs to, from a chain day until a chain day (behaviour/validators.md#entities).
//
// 1. The first value of a field holds from the activation of the validator on. A later one holds from the present day on,
//    unless it names its days.
// 2. Every write increases the version of the network if pools or operators of any day change, and stores these days
//    (entity_changes), so that only they are summarized again (../duties/daily-summaries.ts).
// 3. The tables that validators are found by (validator_operators, validator_pools) have the present period.
import type { Network } from '#api/contract/wire/validators.ts'
import { chainDayOf } from '#core/chain-time.ts'
import { merge, type Range } from '#core/ranges.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import { putRow } from '#storage/put-row.ts'
import type { Rows, StateReader, StateWriter } from '#storage/state.ts'
import {
  changedDays,
  type EntityField,
  type Evidence,
  type FieldValue,
  isSamePeriod,
  openEnd,
  type Period,
  presentPeriod,
  setPeriod,
} from './periods.ts'

/** The value of one field of a validator; null: it has none. */
export interface Membership {
  readonly index: number
  readonly field: EntityField
  readonly value: (FieldValue & Evidence) | null
  /** Undefined: as of rule 1. */
  readonly days: Range | undefined
}

const entitiesStream = (network: Network): string => `entities/${network}`

/** Increases with every change of pools and operators of the network. */
export const entitiesVersion = async (state: StateReader, network: Network): Promise<number> =>
  (await cursorOf(state, entitiesStream(network))) ?? 0

// ------------------------------------------------------------------------------------------------------------ present day

export interface EntityDays {
  readonly epochsPerDay: number
  /** The first chain day that is not over. */
  readonly currentDay: number
}

/** Undefined: no epoch of the network has been read yet. */
export const readEntityDays = (state: StateReader, network: Network): Promise<EntityDays | undefined> =>
  state.get<EntityDays>(
    'select epochs_per_day as "epochsPerDay", current_day as "currentDay" from entity_days where network = ?',
    network,
  )

export const putEntityDays = (tx: StateWriter, network: Network, days: EntityDays): Promise<void> =>
  putRow(tx, 'entity_days', ['network'], {
    network,
    epochs_per_day: days.epochsPerDay,
    current_day: days.currentDay,
  })

// ---------------------------------------------------------------------------------------------------------------- reading

interface PeriodRow {
  readonly validator_index: number
  readonly field: EntityField
  readonly from_day: number
  readonly until_day: number | null
  readonly name: string | null
  readonly subpool: string | null
  readonly operators: string
  readonly kind: Evidence['kind']
  readonly source: string
  readonly rule: string
}

const periodColumns = [
  ...['validator_index', 'field', 'from_day', 'until_day', 'name', 'subpool', 'operators', 'kind', 'source', 'rule'],
] as const

function toPeriod(row: PeriodRow): Period {
  const { from_day: from, until_day, name, subpool, operators, kind, source, rule } = row
  return { from, until: until_day ?? openEnd, name, subpool, operators: JSON.parse(operators), kind, source, rule }
}

/** All periods of these validators, in order, by validator and field. */
export async function readPeriods(
  state: StateReader,
  network: Network,
  indices: readonly number[],
): Promise<Map<number, Map<EntityField, Period[]>>> {
  const rows = await state.all<PeriodRow>(
    `select ${periodColumns.join(', ')} from validator_entities
     where network = ? and validator_index in (select value from json_each(?))
     order by validator_index, field, from_day`,
    network,
    JSON.stringify(indices),
  )
  const byValidator = new Map<number, Map<EntityField, Period[]>>()
  for (const row of rows) {
    const fields = byValidator.getOrInsertComputed(row.validator_index, () => new Map())
    fields.getOrInsertComputed(row.field, () => []).push(toPeriod(row))
  }
  return byValidator
}

// ---------------------------------------------------------------------------------------------------------------- writing

/** Writes what has changed, in order. Call it with the lock `registry`. Returns the validators that changed. */
export async function putMemberships(
  tx: StateWriter,
  network: Network,
  memberships: readonly Membership[],
): Promise<number[]> {
  const indices = [...new Set(memberships.map(({ index }) => index))]
  const days = await readEntityDays(tx, network)
  const before = await readPeriods(tx, network, indices)
  const firstDays = await readFirstDays(tx, network, indices, days)
  const after = new Map<number, Map<EntityField, readonly Period[]>>()
  for (const { index, field, value, days: named } of memberships) {
    const fields = after.getOrInsertComputed(index, () => new Map(before.get(index)))
    const periods = fields.get(field) ?? []
    if (named) fields.set(field, setPeriod(periods, named, value))
    else fields.set(field, withPresentValue(periods, value, firstDays.get(index) ?? 0, days?.currentDay ?? 0))
  }
  const changes = new MembershipChanges()
  for (const [index, fields] of after)
    for (const [field, periods] of fields) changes.add(index, field, before.get(index)?.get(field) ?? [], periods)
  await changes.write(tx, network)
  return [...changes.validators]
}

/** The days on which the first values begin. A validator that is not active yet begins with the present day. */
async function readFirstDays(
  tx: StateReader,
  network: Network,
  indices: readonly number[],
  days: EntityDays | undefined,
): Promise<Map<number, number>> {
  if (!days) return new Map()
  const rows = await tx.all<{ validator_index: number; activation_epoch: number | null }>(
    `select validator_index, activation_epoch from validators
     where network = ? and validator_index in (select value from json_each(?))`,
    network,
    JSON.stringify(indices),
  )
  const { epochsPerDay, currentDay } = days
  const firstDayOf = (epoch: number | null) =>
    epoch === null ? currentDay : Math.min(currentDay, chainDayOf({ epochsPerDay }, epoch))
  return new Map(rows.map((row) => [row.validator_index, firstDayOf(row.activation_epoch)]))
}

function withPresentValue(
  periods: readonly Period[],
  value: (FieldValue & Evidence) | null,
  firstDay: number,
  currentDay: number,
): readonly Period[] {
  const last = presentPeriod(periods)
  if (value === null && !last) return periods
  // The subpool of a pool became known: that is no change of the pool.
  const isRefined = value !== null && last?.name === value.name && last?.subpool === null && value.name !== null
  const from = periods.length === 0 ? firstDay : isRefined ? last.from : Math.max(currentDay, last?.from ?? 0)
  return setPeriod(periods, { from, until: openEnd }, value)
}

/** Collects the rows of many validators, so that each table is written once. */
class MembershipChanges {
  readonly validators = new Set<number>()
  readonly #deleted: [number, EntityField, number][] = []
  readonly #inserted: [number, EntityField, Period][] = []
  readonly #changedDays: Range[] = []
  /** Change of the number of validators by pool. */
  readonly #poolSizes = new Map<string, number>()
  readonly #operators = { deleted: [] as [string, number][], inserted: [] as [string, number][] }

  add(index: number, field: EntityField, before: readonly Period[], after: readonly Period[]): void {
    const deleted = before.filter((period) => !after.some((other) => isSamePeriod(period, other)))
    const inserted = after.filter((period) => !before.some((other) => isSamePeriod(period, other)))
    if (deleted.length === 0 && inserted.length === 0) return
    this.validators.add(index)
    for (const { from } of deleted) this.#deleted.push([index, field, from])
    for (const period of inserted) this.#inserted.push([index, field, period])
    if (field !== 'dvt') this.#changedDays.push(...changedDays(before, after))
    this.#addPresent(index, field, presentPeriod(before), presentPeriod(after))
  }

  #addPresent(index: number, field: EntityField, before: Period | undefined, after: Period | undefined): void {
    if (field === 'pool' && before?.name !== after?.name) {
      if (before?.name) this.#poolSizes.set(before.name, (this.#poolSizes.get(before.name) ?? 0) - 1)
      if (after?.name) this.#poolSizes.set(after.name, (this.#poolSizes.get(after.name) ?? 0) + 1)
    }
    if (field !== 'operators') return
    const [old, now] = [new Set(before?.operators), new Set(after?.operators)]
    for (const name of old.difference(now)) this.#operators.deleted.push([name, index])
    for (const name of now.difference(old)) this.#operators.inserted.push([name, index])
  }

  async write(tx: StateWriter, network: Network): Promise<void> {
    const key = ['network', 'validator_index', 'field', 'from_day']
    await tx.deleteMany('validator_entities', key, withNetwork(network, this.#deleted))
    const rows = this.#inserted.map(([index, field, period]) => {
      const { from, until, name, subpool, operators, kind, source, rule } = period
      const untilDay = until === openEnd ? null : until
      return [index, field, from, untilDay, name, subpool, JSON.stringify(operators), kind, source, rule]
    })
    await tx.insertMany('validator_entities', ['network', ...periodColumns], withNetwork(network, rows))
    const { deleted, inserted } = this.#operators
    const operatorKey = ['network', 'operator', 'validator_index']
    await tx.deleteMany('validator_operators', operatorKey, withNetwork(network, deleted))
    await tx.insertMany('validator_operators', operatorKey, withNetwork(network, inserted))
    for (const [pool, difference] of this.#poolSizes)
      if (difference !== 0) await resizePool(tx, network, pool, difference)
    await putChangedDays(tx, network, merge(this.#changedDays))
  }
}

const withNetwork = (network: Network, rows: Rows): Rows => rows.map((row) => [network, ...row])

async function resizePool(tx: StateWriter, network: Network, pool: string, difference: number): Promise<void> {
  await tx.run(
    `insert into validator_pools (network, pool, validators) values (?, ?, ?)
     on conflict (network, pool) do update set validators = validator_pools.validators + excluded.validators`,
    network,
    pool,
    difference,
  )
  await tx.run('delete from validator_pools where network = ? and pool = ? and validators = 0', network, pool)
}

// ----------------------------------------------------------------------------------------------------------- changed days

/** Days whose pools or operators changed with this version. */
export interface EntityChange extends Range {
  readonly version: number
}

async function putChangedDays(tx: StateWriter, network: Network, changed: readonly Range[]): Promise<void> {
  if (changed.length === 0) return
  const version = (await entitiesVersion(tx, network)) + 1
  await moveCursor(tx, entitiesStream(network), version)
  for (const { from, until } of changed) {
    // The newer change includes them. So there are few rows.
    const included = 'delete from entity_changes where network = ? and from_day >= ? and until_day <= ?'
    await tx.run(included, network, from, until)
    const sql = 'insert into entity_changes (network, version, from_day, until_day) values (?, ?, ?, ?)'
    await tx.run(sql, network, version, from, until)
  }
}

export const readEntityChanges = (state: StateReader, network: Network): Promise<EntityChange[]> =>
  state.all<EntityChange>(
    'select version, from_day as "from", until_day as "until" from entity_changes where network = ? order by version',
    network,
  )
