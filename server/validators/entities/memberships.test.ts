// Membership with time: which pool a validator belongs to on which day, and which days are summarized again. Runs on SQLite
// and on PostgreSQL (test/on-postgres.test.ts).
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { perfect, pubkeyOf, writeEpochs } from '#test/validators-world.ts'
import { type DaySummary, readSummaries } from '../duties/daily-summaries.ts'
import { dutiesOnThisThread } from '../duties/store.ts'
import { summarizeDays } from '../ingest/write/summarize-days.ts'
import { putValidators, readEntities } from '../registry/registry.ts'
import { importEntities } from './import-entities.ts'
import { readEntityChanges, readPeriods } from './memberships.ts'
import type { EntityRecord } from './parse-rules.ts'
import { openEnd } from './periods.ts'
import { updateEntities } from './update-entities.ts'

const network = 'mainnet'
const epochsPerDay = 3
const { signal } = new AbortController()

/** Validators 0 to 3 are active from epoch 0 on, validator 4 from day 5 on, validator 5 is not active yet. */
const activations = [0, 0, 0, 0, 5 * epochsPerDay + 1, null]

/** Counts how often a day gets a summary. */
async function openDays() {
  const context = await openContext({ validators: { networks: { [network]: { epochsPerHour: 1, epochsPerDay } } } })
  const summarized: number[] = []
  const counting = stateWith(context.dutiesState, {
    write: (work, options) =>
      context.dutiesState.write(
        (tx) =>
          work({
            ...tx,
            run: (sql, ...values) => {
              if (sql.startsWith('insert into duty_summary_days')) summarized.push(values[1] as number)
              return tx.run(sql, ...values)
            },
          }),
        options,
      ),
  })
  const duties = dutiesOnThisThread(counting)
  await putValidators(
    context.ingest,
    network,
    activations.map((activationEpoch, index) => ({
      ...{ index, pubkey: pubkeyOf(index), activationEligibilityEpoch: null, activationEpoch },
      ...{ exitEpoch: null, withdrawableEpoch: null, withdrawalAddress: null },
    })),
  )
  const time = context.settings.validators.networks[network]
  const update = async (until: number) => {
    await updateEntities(context, { network, time, until })
    await summarizeDays({ context: { ingest: context.ingest, duties }, network, time }, until, signal)
  }
  const rowsOf = (epoch: number) =>
    activations.flatMap((activation, validator) =>
      activation !== null && activation <= epoch ? [{ epoch, validator, ...perfect }] : [],
    )
  return {
    ...{ context, summarized },
    update,
    /** Reads one day. It is summarized when the next one begins. */
    async readDay(day: number) {
      const epochs = { from: day * epochsPerDay, until: (day + 1) * epochsPerDay }
      const rows = Array.from({ length: epochsPerDay }, (_, at) => rowsOf(epochs.from + at)).flat()
      await writeEpochs(context, network, epochs, rows)
      await update(epochs.until)
    },
    import: (...records: EntityRecord[]) =>
      importEntities(
        context.ingest,
        network,
        records.map((record, at) => ({ at, record })),
        'test',
      ),
    [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
  }
}

const sizesOf = async ({ duties }: TestContext, pool: string): Promise<Record<number, number>> => {
  const query = { network, kind: 'pool', names: [pool], days: { from: 0, until: 1000 } } as const
  const summaries: DaySummary[] = await readSummaries(duties, query)
  return Object.fromEntries(summaries.map(({ day, validators }) => [day, validators]))
}
const days = (from: number, until: number) => Array.from({ length: until - from }, (_, at) => from + at)
const sizes = (...parts: readonly (readonly [number, number, number])[]) =>
  Object.fromEntries(parts.flatMap(([from, until, size]) => days(from, until).map((day) => [day, size])))

test('a validator that changes its pool on day 20 of 30: both pools are right on every day, and each day is summarized once', async () => {
  await using world = await openDays()
  await world.import({ index: 0, pool: 'North' }, { index: 1, pool: 'North' }, { index: 2, pool: 'South' })
  for (const day of days(0, 20)) await world.readDay(day)
  await world.import({ index: 1, pool: 'South' })
  for (const day of days(20, 30)) await world.readDay(day)
  assert.deepEqual(world.summarized, days(0, 30))
  assert.deepEqual(await sizesOf(world.context, 'North'), sizes([0, 20, 2], [20, 30, 1]))
  assert.deepEqual(await sizesOf(world.context, 'South'), sizes([0, 20, 1], [20, 30, 2]))
  assert.equal((await readEntities(world.context.ingest, network, [1])).get(1)?.pool, 'South')
})

test('the first entity of a validator holds from its activation on; only these days are summarized again', async () => {
  await using world = await openDays()
  for (const day of days(0, 8)) await world.readDay(day)
  world.summarized.splice(0)
  await world.import({ index: 4, pool: 'North' }, { index: 5, pool: 'North' })
  await world.update(8 * epochsPerDay)
  assert.deepEqual(world.summarized.toSorted(), [5, 6, 7])
  assert.deepEqual(await sizesOf(world.context, 'North'), sizes([5, 8, 1]))
  const periods = await readPeriods(world.context.ingest, network, [4, 5])
  assert.deepEqual(
    [4, 5].map((index) =>
      periods
        .get(index)
        ?.get('pool')
        ?.map(({ from, until }) => [from, until]),
    ),
    [[[5, openEnd]], [[8, openEnd]]],
    'a validator that is not active yet begins with the present day',
  )
})

test('a correction names its days, and only these are summarized again', async () => {
  await using world = await openDays()
  await world.import({ index: 0, pool: 'North' }, { index: 2, pool: 'South' })
  for (const day of days(0, 10)) await world.readDay(day)
  world.summarized.splice(0)
  await world.import({ index: 0, pool: 'South', fromDay: 3, untilDay: 5 })
  await world.update(10 * epochsPerDay)
  assert.deepEqual(world.summarized.toSorted(), [3, 4])
  assert.deepEqual(await sizesOf(world.context, 'North'), sizes([0, 3, 1], [5, 10, 1]))
  assert.deepEqual(await sizesOf(world.context, 'South'), sizes([0, 3, 1], [3, 5, 2], [5, 10, 1]))
  assert.equal((await readEntities(world.context.ingest, network, [0])).get(0)?.pool, 'North', 'the present stays')
  await world.update(10 * epochsPerDay)
  assert.equal(world.summarized.length, 2)
})

test('a validator can leave its pool without joining another one', async () => {
  await using world = await openDays()
  await world.import({ index: 0, pool: 'North', nodeOperators: ['A', 'B'] }, { index: 1, pool: 'North' })
  for (const day of days(0, 3)) await world.readDay(day)
  await world.import({ index: 0 })
  await world.readDay(3)
  assert.deepEqual(await sizesOf(world.context, 'North'), sizes([0, 3, 2], [3, 4, 1]))
  assert.equal((await readEntities(world.context.ingest, network, [0])).size, 0)
  assert.deepEqual(await world.context.ingest.all('select * from validator_operators'), [])
  assert.deepEqual(await world.context.ingest.all('select pool, validators from validator_pools'), [
    { pool: 'North', validators: 1 },
  ])
})

test('a subpool that becomes known later is no change of the pool', async () => {
  await using world = await openDays()
  await world.import({ index: 0, pool: 'North' })
  for (const day of days(0, 3)) await world.readDay(day)
  const changes = await readEntityChanges(world.context.ingest, network)
  await world.import({ index: 0, pool: 'North', subpool: 'Harbour' })
  assert.deepEqual(await readEntityChanges(world.context.ingest, network), changes)
  const periods = (await readPeriods(world.context.ingest, network, [0])).get(0)?.get('pool')
  assert.deepEqual(
    periods?.map(({ from, subpool }) => [from, subpool]),
    [[0, 'Harbour']],
  )
})

test('many changes leave few rows: a change that includes an older one replaces it', async () => {
  await using world = await openDays()
  for (const day of days(0, 6)) {
    await world.readDay(day)
    for (const pool of ['North', 'South', 'North']) await world.import({ index: 0, pool: `${pool} ${day}` })
  }
  const changes = await readEntityChanges(world.context.ingest, network)
  assert.deepEqual(
    changes.map(({ from, until }) => [from, until]),
    [0, 1, 2, 3, 4, 5, 6].map((from) => [from, openEnd]),
  )
})
