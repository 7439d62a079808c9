// The extension endpoints about pools, node operators and the network, compared with the figures of 4.5. Runs on SQLite
// and on PostgreSQL (test/on-postgres.test.ts).
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import type { Input } from '#api/contract/kit.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { callHandler, inputOfLink, invalidInputs, perfect, register, writeEpochs } from '#test/validators-world.ts'
import { plainTime } from '../../duties/layout.ts'
import { aggregateEffectiveness } from '../../endpoints/aggregate-effectiveness.ts'
import { importEntities } from '../../entities/import-entities.ts'
import { readSummaryEntities } from '../../ingest/write/read-summary-entities.ts'
import { networkOverview, networkStats } from '../network/network.ts'
import { operator } from './operator.ts'
import { operatorEffectiveness } from './operator-effectiveness.ts'
import { operatorSummary, operators } from './operators.ts'

const network = 'mainnet'
const settings = { validators: { networks: { mainnet: { epochsPerHour: 1, epochsPerDay: 3 } } } }
const pools = ['North', 'North', 'South', 'South', 'South', undefined, 'Idle']

/** Three epochs per day; days 0 to 39 are over. South misses every fourth vote, validator 5 every vote. */
const rows = Array.from({ length: 121 }, (_, epoch) =>
  [0, 1, 2, 3, 4, 5].map((validator) => {
    const isMissed = validator === 5 || (validator >= 2 && (epoch + validator) % 4 === 0)
    const blocks = epoch % 6 === validator ? { proposer_duties: 1, proposed: isMissed ? 0 : 1 } : {}
    const votes = isMissed ? { assigned: 1 } : perfect
    return { epoch, validator, ...votes, ...blocks, earnings: isMissed ? -500 : 1000 + epoch }
  }),
).flat()

async function openWorld() {
  const context = await openContext(settings)
  const indices = [...pools.keys()]
  await register(context, network, indices)
  const records = pools.map((pool, index) => ({
    at: index,
    record: { index, ...(pool && { pool }), nodeOperators: [index % 2 === 0 ? 'Even Ops' : 'South'] },
  }))
  await importEntities(context.ingest, network, records, 'test')
  return context
}

async function summarize(context: TestContext): Promise<void> {
  await writeEpochs(context, network, { from: 0, until: 121 }, rows)
  const time = plainTime(context.settings.validators.networks[network])
  const summaryEntities = await readSummaryEntities(context.ingest, network)
  await context.duties.update(
    'summarizeDays',
    { network, time, until: 121, entities: summaryEntities, daysMax: 100 },
    { signal: new AbortController().signal },
  )
}

let context: TestContext
before(async () => {
  context = await openWorld()
  await summarize(context)
})
after(() => context[Symbol.asyncDispose]())

const members = { North: [0, 1], South: [2, 3, 4] } as const

/** 4.5 about these validators. */
async function aggregate(indices: readonly number[], bounds: object) {
  const input: Input<typeof aggregateEffectiveness.endpoint> = {
    ...{ indices: [...indices], groupBy: 'timeWindow', size: 1000 },
    ...bounds,
  }
  return (await callHandler(aggregateEffectiveness, context, input)).body.data
}

const isNear = (actual: unknown, expected: unknown, what: string) =>
  assert.ok(Math.abs(Number(actual) - Number(expected)) < 1e-6, `${what}: ${actual}, not ${expected}`)

describe('validators.operators', () => {
  test('200: pools are listed largest first, with the figures of 4.5 about their validators and days', async () => {
    for (const [window, to] of [
      ['1d', '39'],
      ['7d', '33'],
      ['30d', '10'],
    ] as const) {
      const { body, confidence } = await callHandler(operators, context, { window })
      assert.deepEqual(
        body.data.map(({ id, validatorCount }) => [id, validatorCount]),
        [
          ['South', 3],
          ['North', 2],
          ['Idle', null],
        ],
      )
      assert.deepEqual([body.total, body.next, confidence?.coverage], [3, null, 'complete'])
      for (const name of ['North', 'South'] as const) {
        const [expected = {}] = await aggregate(members[name], { from: '39', to, granularity: 'all' })
        const { body: summary } = await callHandler(operatorSummary, context, { operator_id: name, window })
        assert.deepEqual(
          body.data.find(({ id }) => id === name),
          summary,
        )
        assert.equal(summary.timeWindow, window)
        isNear(summary.avgValidatorEffectiveness, expected.validatorEffectiveness, 'effectiveness')
        isNear(summary.avgUptime, expected.uptime, 'uptime')
        isNear(summary.avgCorrectness, expected.avgCorrectness, 'correctness')
        isNear(summary.avgInclusionDelay, expected.avgInclusionDelay, 'delay')
        isNear(summary.networkPenetration, members[name].length / 6, 'penetration')
      }
    }
  })

  test('200: the links lead through every operator once', async () => {
    const page = async (input: Input<typeof operators.endpoint>) => {
      const { data, next } = (await callHandler(operators, context, input)).body
      return { ids: data.map(({ id }) => id), next }
    }
    const first = await page({ size: 2 })
    assert.deepEqual(first, { ids: ['South', 'North'], next: '/v0/eth/operators?size=2&window=30d&from=2' })
    const second = await page(inputOfLink(operators.endpoint, first.next ?? ''))
    assert.deepEqual(second, { ids: ['Idle'], next: null })
  })

  test('200: node operators are listed with idType', async () => {
    const { body } = await callHandler(operators, context, { idType: 'nodeOperator' })
    assert.deepEqual(
      body.data.map(({ id, idType }) => [id, idType]),
      [
        ['Even Ops', 'nodeOperator'],
        ['South', 'nodeOperator'],
      ],
    )
  })
})

describe('validators.operator', () => {
  const find = async (input: Input<typeof operator.endpoint>) =>
    (await callHandler(operator, context, input)).body.idType

  test('200: a name is a pool, or else a node operator; idType decides between them', async () => {
    assert.equal(await find({ operator_id: 'South' }), 'pool')
    assert.equal(await find({ operator_id: 'South', idType: 'nodeOperator' }), 'nodeOperator')
    assert.equal(await find({ operator_id: 'Even Ops' }), 'nodeOperator')
  })

  test('404: a name that the entities do not have, in all three endpoints', async () => {
    const isNothing = async (work: Promise<{ is: string }>) => assert.equal((await work).is, 'nothing')
    const named = { network, operator_id: 'south' } as const
    await isNothing(
      operator.handle({ ...named, operator_id: 'North', idType: 'nodeOperator' }, context, testRequestInfo()),
    )
    await isNothing(operator.handle(named, context, testRequestInfo()))
    await isNothing(operatorSummary.handle({ ...named, window: '7d' }, context, testRequestInfo()))
    const page = { size: 10, granularity: 'day', filterType: 'day' } as const
    await isNothing(operatorEffectiveness.handle({ ...named, ...page }, context, testRequestInfo()))
  })
})

describe('validators.operatorEffectiveness', () => {
  type Given = Omit<Input<typeof operatorEffectiveness.endpoint>, 'operator_id'>
  const read = async (given: Given, operator_id = 'South') =>
    (await callHandler(operatorEffectiveness, context, { operator_id, ...given })).body

  test('200: every window has the figures of 4.5 about the same validators and days', async () => {
    for (const bounds of [
      { size: 1000 },
      { size: 1000, from: '30', to: '5' },
      { size: 1000, granularity: 'week' },
      { size: 1000, granularity: 'month', from: '3', to: '33' },
      { size: 1000, granularity: 'all', to: '7' },
    ] as Given[]) {
      for (const name of ['North', 'South'] as const) {
        const { data } = await read(bounds, name)
        // Day 40 is not over.
        const expected = await aggregate(members[name], { from: '39', ...bounds })
        assert.equal(data.length, expected.length, JSON.stringify(bounds))
        for (const [at, record] of data.entries()) {
          const other = expected[at] ?? {}
          const { startDay, endDay, startEpoch, endEpoch } = record
          assert.deepEqual(
            { startDay, endDay, startEpoch, endEpoch, day: record.day ?? undefined },
            {
              startDay: other.startDay,
              endDay: other.endDay,
              startEpoch: other.startEpoch,
              endEpoch: other.endEpoch,
              day: other.day,
            },
          )
          assert.deepEqual(
            [record.sumEarnings, record.sumMissedAttestations, record.sumProposedCount, record.sumProposerDutiesCount],
            [other.earnings, other.sumMissedAttestations, other.proposedCount, other.proposerDutiesCount],
          )
          isNear(record.avgValidatorEffectiveness, other.validatorEffectiveness, 'effectiveness')
          isNear(record.avgAttesterEffectiveness, other.attesterEffectiveness, 'attester effectiveness')
          isNear(record.avgUptime, other.uptime, 'uptime')
          isNear(record.networkPenetration, members[name].length / 6, 'penetration')
          assert.equal(record.validatorCount, members[name].length)
        }
      }
    }
  })

  test('200: the links lead through every record once, by day and by time', async () => {
    for (const given of [{}, { from: '31', to: '9' }, { granularity: 'week' }, { filterType: 'datetime' }] as Given[]) {
      const whole = await read({ ...given, size: 1000 })
      const walked: unknown[] = []
      let input: Given | undefined = { ...given, size: 3 }
      while (input) {
        const { data, next, total }: Awaited<ReturnType<typeof read>> = await read(input)
        assert.equal(total, whole.total - walked.length)
        walked.push(...data)
        input = next === null ? undefined : inputOfLink(operatorEffectiveness.endpoint, next)
      }
      assert.deepEqual(walked, whole.data)
    }
  })

  test('200: size 0 returns only the total, and days without a summary have no record', async () => {
    const { data, total, next } = await read({ size: 0 })
    assert.deepEqual([data, total, next], [[], 40, null])
    assert.deepEqual((await read({ from: '40', to: '4000000000' })).data, [])
    assert.deepEqual((await read({}, 'Idle')).data, [])
  })

  test('400: a bound of another type', async () => {
    assert.deepEqual(await invalidInputs(read({ from: '2026-11-01' })), ['query.from'])
  })
})

describe('network', () => {
  test('200: the last day, and means and medians of three windows', async () => {
    const all = [0, 1, 2, 3, 4, 5]
    const [day = {}] = await aggregate(all, { from: '39', to: '39' })
    const { body: stats } = await callHandler(networkStats, context, {})
    assert.deepEqual([stats.length, stats[0]?.day], [1, 39])
    isNear(stats[0]?.avgValidatorEffectiveness, day.validatorEffectiveness, 'effectiveness')

    const { body } = await callHandler(networkOverview, context, {})
    assert.deepEqual(
      body.map(({ timeWindow, startDay, endDay, latestEpoch, validatorCount }) => ({
        ...{ timeWindow, startDay, endDay, latestEpoch, validatorCount },
      })),
      [
        { timeWindow: '1d', startDay: 39, endDay: 39, latestEpoch: 119, validatorCount: 6 },
        { timeWindow: '7d', startDay: 33, endDay: 39, latestEpoch: 119, validatorCount: 6 },
        { timeWindow: '30d', startDay: 10, endDay: 39, latestEpoch: 119, validatorCount: 6 },
      ],
    )
    const [month = {}] = await aggregate(all, { from: '39', to: '10', granularity: 'all' })
    const overview = body[2] ?? assert.fail()
    isNear(overview.avgValidatorEffectiveness, month.validatorEffectiveness, 'effectiveness')
    isNear(overview.avgUptime, month.uptime, 'uptime')
    const missed = Number(month.proposerDutiesCount) - Number(month.proposedCount)
    assert.ok(missed > 0)
    assert.equal(overview.sumMissedSlots, missed)
    isNear(overview.missedSlotsPercentage, (100 * missed) / Number(month.proposerDutiesCount), 'missed slots')
    // The median is the third lowest of six validators, on each day.
    const medians: number[] = []
    for (let number = 10; number <= 39; number++) {
      const scores = (await aggregate(all, { groupBy: 'validator', from: String(number), to: String(number) })).map(
        ({ validatorEffectiveness }) => Number(validatorEffectiveness),
      )
      medians.push(scores.toSorted((a, b) => a - b)[2] as number)
    }
    isNear(overview.medianValidatorEffectiveness, medians.reduce((sum, one) => sum + one) / 30, 'median')
  })
})

test('before the first day is over, lists have no figures', async () => {
  await using empty = await openWorld()
  const { body } = await callHandler(operators, empty, {})
  assert.deepEqual(
    body.data.map(({ id, validatorCount, avgUptime, networkPenetration }) => [
      id,
      validatorCount,
      avgUptime,
      networkPenetration,
    ]),
    ['Idle', 'North', 'South'].map((name) => [name, null, null, null]),
  )
  assert.deepEqual((await callHandler(networkStats, empty, {})).body, [])
  assert.deepEqual((await callHandler(networkOverview, empty, {})).body, [])
  const records = await callHandler(operatorEffectiveness, empty, { operator_id: 'North' })
  assert.deepEqual([records.body.data, records.body.total, records.confidence?.coverage], [[], 0, 'none'])
})
