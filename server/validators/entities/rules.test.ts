// Rules over time: validators that appear later, changed credentials and deposits, files that change, and days that begin.
// Runs on SQLite and on PostgreSQL (test/on-postgres.test.ts).
import { strict as assert } from 'node:assert'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { stateWith } from '#test/authorization.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { createValidatorsCaches } from '#validators/context.ts'
import { linkDepositsOf } from '../registry/link-deposits.ts'
import { putValidators, readEntities, toBytes } from '../registry/registry.ts'
import { applyRules } from './apply-rules.ts'
import { explainEntity } from './explain-entity.ts'
import { importEntities } from './import-entities.ts'
import { readPeriods } from './memberships.ts'
import { type EntityRecord, parseEntityRecords } from './parse-rules.ts'
import { markPending } from './rules.ts'
import { entityFindings, readSourceProblems } from './source-findings.ts'
import { updateEntities } from './update-entities.ts'

const network = 'mainnet'
const epochsPerDay = 10
const pubkeyOf = (index: number) => `0x${String(index).padStart(96, '0')}`
const [north, south, payer] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`) as [string, string, string]

const openRules = (entities: object = {}) =>
  openContext({ validators: { networks: { [network]: { epochsPerHour: 1, epochsPerDay, entities } } } })

const register = (context: TestContext, addresses: Readonly<Record<number, string | null>>, activationEpoch = 0) =>
  putValidators(
    context.ingest,
    network,
    Object.entries(addresses).map(([index, withdrawalAddress]) => ({
      ...{ index: Number(index), pubkey: pubkeyOf(Number(index)), activationEligibilityEpoch: 0, activationEpoch },
      ...{ exitEpoch: null, withdrawableEpoch: null, withdrawalAddress },
    })),
  )

/** The follower has read all days before this one. */
const reachDay = (context: TestContext, day: number) =>
  updateEntities(context, {
    ...{ network, time: context.settings.validators.networks[network], until: day * epochsPerDay },
  })

const importRecords = (context: TestContext, records: readonly EntityRecord[], source = 'test') =>
  importEntities(
    context.ingest,
    network,
    records.map((record, at) => ({ at, record })),
    source,
  )

const pools = async (context: TestContext, indices: readonly number[]) => {
  const entities = await readEntities(context.ingest, network, indices)
  return indices.map((index) => entities.get(index)?.pool)
}

const poolPeriods = async (context: TestContext, index: number) =>
  (await readPeriods(context.ingest, network, [index]))
    .get(index)
    ?.get('pool')
    ?.map(({ name, from, until }) => [name, from, until > 1000 ? null : until])

describe('a rule applies', () => {
  test('to validators that appear later, from the day on which they are active', async () => {
    await using context = await openRules({
      rules: [{ withdrawalAddress: north.toUpperCase().replace('0X', '0x'), pool: 'North' }],
    })
    await importRecords(context, [
      { indices: '5-6', pool: 'Range' },
      { pubkey: pubkeyOf(8), pool: 'Key' },
    ])
    await reachDay(context, 3)
    await register(context, { 1: north, 2: south })
    await reachDay(context, 3)
    await register(context, { 4: north, 5: south, 7: south, 8: null }, 35)
    await reachDay(context, 4)
    assert.deepEqual(await pools(context, [1, 2, 4, 5, 7, 8]), ['North', undefined, 'North', 'Range', undefined, 'Key'])
    assert.deepEqual(await poolPeriods(context, 4), [['North', 3, null]])
  })

  test('to a validator that gets a withdrawal address, and to one whose deposit is read later', async () => {
    await using context = await openRules()
    await importRecords(context, [
      { withdrawalAddress: north, pool: 'North' },
      { depositAddress: payer, pool: 'Paid' },
    ])
    await register(context, { 1: null, 2: south })
    await reachDay(context, 2)
    assert.deepEqual(await pools(context, [1, 2]), [undefined, undefined])
    await register(context, { 1: north })
    const key = toBytes(pubkeyOf(2))
    await context.ingest.write(async (tx) => {
      const sql = 'insert into deposit_senders (network, pubkey, address, deposit_index) values (?, ?, ?, 0)'
      await tx.run(sql, network, key, toBytes(payer))
      await linkDepositsOf(tx, network, [key])
    })
    await reachDay(context, 2)
    assert.deepEqual(await pools(context, [1, 2]), ['North', 'Paid'])
  })

  test('until it is removed: then the next rule names the validator, or none', async () => {
    await using context = await openRules()
    await register(context, { 1: north, 2: north })
    await reachDay(context, 0)
    await importRecords(context, [{ withdrawalAddress: north, pool: 'North' }], 'wide')
    await importRecords(context, [{ index: 1, pool: 'Exception' }], 'narrow')
    assert.deepEqual(await pools(context, [1, 2]), ['Exception', 'North'])
    await reachDay(context, 5)
    await importEntities(context.ingest, network, [], 'narrow', { replacesAll: true })
    assert.deepEqual(await poolPeriods(context, 1), [
      ['Exception', 0, 5],
      ['North', 5, null],
    ])
    await importEntities(context.ingest, network, [], 'wide', { replacesAll: true })
    assert.deepEqual(await pools(context, [1, 2]), [undefined, undefined])
  })
})

test('a rule with days applies on exactly these days, also if several of them are over at once', async () => {
  await using context = await openRules()
  await register(context, { 1: north })
  await reachDay(context, 1)
  await importRecords(context, [
    { index: 1, pool: 'North' },
    { index: 1, pool: 'Lent', fromDay: 4, untilDay: 6 },
  ])
  await reachDay(context, 3)
  assert.deepEqual(await poolPeriods(context, 1), [['North', 0, null]])
  await reachDay(context, 5)
  assert.deepEqual(await poolPeriods(context, 1), [
    ['North', 0, 4],
    ['Lent', 4, null],
  ])
  await reachDay(context, 9)
  assert.deepEqual(await poolPeriods(context, 1), [
    ['North', 0, 4],
    ['Lent', 4, 6],
    ['North', 6, null],
  ])
})

describe('the file of the configuration', () => {
  test('is read again when it changes; if it is wrong, the last valid version stays in force, also after a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tetrad-rules-'))
    const file = join(folder, 'pools.csv')
    const write = async (text: string) => {
      await writeFile(`${file}.new`, text)
      await rename(`${file}.new`, file)
    }
    try {
      const warnings: string[] = []
      await write('index,pool\n1,North\n2,North\n')
      await using opened = await openRules({ file })
      const log = { ...opened.log, warn: (fields: { reason: string }) => warnings.push(fields.reason) } as never
      const context = { ...opened, log }
      await register(context, { 1: null, 2: null })
      await reachDay(context, 0)
      assert.deepEqual(await pools(context, [1, 2]), ['North', 'North'])
      await write('index,pool\n1,South\n2,North\nx,North\n')
      await reachDay(context, 0)
      await reachDay(context, 0)
      assert.deepEqual(await pools(context, [1, 2]), ['North', 'North'], 'no record of a wrong file applies')
      assert.deepEqual(warnings, [`${file}, line 4: index is invalid`])
      const problems = await readSourceProblems(context.ingest, network)
      assert.match(problems[0]?.message ?? '', /last valid version stay in force: .*line 4/)
      assert.deepEqual(
        (await entityFindings(context)).map(({ name, ok, required }) => [name, ok, required]),
        [[`entities ${network}`, false, false]],
      )
      const restarted = { ...context, validators: createValidatorsCaches() }
      await reachDay(restarted, 0)
      assert.deepEqual(await pools(context, [1, 2]), ['North', 'North'])
      await write('index,pool\n1,South\n')
      await reachDay(restarted, 0)
      assert.deepEqual(await pools(context, [1, 2]), ['South', undefined])
      assert.deepEqual(await readSourceProblems(context.ingest, network), [])
      const without = { ...(await openRules()), ingest: context.ingest }
      await reachDay(without, 0)
      assert.deepEqual(await pools(context, [1, 2]), [undefined, undefined], 'the configuration names no file any more')
      await without[Symbol.asyncDispose]()
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

test('after an interruption, the validators that are left follow', async () => {
  await using context = await openRules()
  const indices = Array.from({ length: 1200 }, (_, index) => index)
  await register(context, Object.fromEntries(indices.map((index) => [index, north])))
  const killed = new Error('killed')
  let writes = 0
  const failing = stateWith(context.ingest, {
    write: (work, options) => {
      if (++writes === 3) return Promise.reject(killed)
      return context.ingest.write(work, options)
    },
  })
  const records = parseEntityRecords(`withdrawalAddress,pool\n${north},North\n`)
  await assert.rejects(importEntities(failing, network, records, 'test'), killed)
  const named = async () => (await pools(context, indices)).filter((pool) => pool === 'North').length
  assert.equal(await named(), 500, 'one of three batches')
  assert.equal(await applyRules(context.ingest, network), 700)
  assert.equal(await named(), 1200)
  assert.deepEqual(await context.ingest.all('select pool, validators from validator_pools'), [
    { pool: 'North', validators: 1200 },
  ])
})

test('a validator costs the same statements with ten rules and with ten thousand', async () => {
  const countFor = async (rules: number) => {
    await using context = await openRules()
    const lines = Array.from({ length: rules }, (_, at) => `${pubkeyOf(at)},Pool ${at % 7}\n`)
    await importEntities(context.ingest, network, parseEntityRecords(`pubkey,pool\n${lines.join('')}`), 'keys.csv')
    await register(context, { 3: north })
    let statements = 0
    const counting = stateWith(context.ingest, {
      write: (work, options) =>
        context.ingest.write((tx) => {
          const counted =
            (run: (...values: never[]) => Promise<unknown>) =>
            (...values: never[]) => {
              statements += 1
              return run(...values)
            }
          return work({
            ...tx,
            get: counted(tx.get) as never,
            all: counted(tx.all) as never,
            run: counted(tx.run) as never,
          })
        }, options),
    })
    assert.equal(await applyRules(counting, network), 1)
    assert.deepEqual(await pools(context, [3]), ['Pool 3'])
    return statements
  }
  assert.equal(await countFor(10_000), await countFor(10))
})

test('an explanation has the periods, and every rule that selects the validator, with what it decides', async () => {
  await using context = await openRules({ rules: [{ withdrawalAddress: north, pool: 'North', dvtNetwork: 'Braid' }] })
  await register(context, { 1: north })
  await reachDay(context, 2)
  await importRecords(context, [{ index: 1, pool: 'Own', nodeOperators: ['A', 'B'] }], 'mine.csv')
  const entity = await explainEntity(context.ingest, network, pubkeyOf(1))
  assert.deepEqual(
    entity?.periods.pool.map(({ name, fromDay, untilDay, source, rule }) => [name, fromDay, untilDay, source, rule]),
    [
      ['Own', 2, null, 'mine.csv', 'index'],
      ['North', 0, 2, 'configuration', 'withdrawalAddress'],
    ],
  )
  assert.deepEqual(entity?.periods.dvt[0]?.name, 'Braid')
  assert.deepEqual(
    entity?.rules.map(({ selector, value, source, names }) => [selector, value, source, names]),
    [
      ['index', '1', 'mine.csv', ['pool', 'operators']],
      ['withdrawalAddress', north, 'configuration', ['dvt']],
    ],
  )
  assert.equal(await explainEntity(context.ingest, network, '99'), undefined)
})

test('marking validators twice is no error', async () => {
  await using context = await openRules()
  await register(context, { 1: north })
  const rule = {
    ...({ selector: 'withdrawalAddress', value: north, days: undefined, pool: 'North', subpool: null } as const),
    ...{ nodeOperators: null, dvtNetwork: null, dvtOperators: null },
  }
  for (const _ of [1, 2]) await context.ingest.write((tx) => markPending(tx, network, [rule]))
  assert.equal((await context.ingest.all('select * from entity_pending')).length, 1)
})
