// The extension endpoint validators.entities, compared with the figures of 4.5.
import { strict as assert } from 'node:assert'
import { after, before, test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { callHandler, perfect, writeEpochs } from '#test/validators-world.ts'
import { plainTime } from '../../duties/layout.ts'
import { aggregateEffectiveness } from '../../endpoints/aggregate-effectiveness.ts'
import { importEntities } from '../../entities/import-entities.ts'
import { readSummaryEntities } from '../../ingest/write/read-summary-entities.ts'
import { putValidators } from '../../registry/registry.ts'
import { entities } from './entities.ts'

const network = 'mainnet'
const pools = ['North Pool', 'North Pool', 'South Pool', 'South Pool', 'Idle Pool', undefined]

/** Three epochs per day; days 0 to 9 are over. South misses every third vote, validator 5 every vote. */
const rows = Array.from({ length: 31 }, (_, epoch) =>
  [0, 1, 2, 3, 5].map((validator) => {
    const isMissed = validator === 5 || (validator >= 2 && (epoch + validator) % 3 === 0)
    return { epoch, validator, ...(isMissed ? { assigned: 1 } : perfect), earnings: isMissed ? -500 : 1000 + epoch }
  }),
).flat()

let context: TestContext
before(async () => {
  context = await openContext({ validators: { networks: { mainnet: { epochsPerHour: 1, epochsPerDay: 3 } } } })
  const entry = { activationEligibilityEpoch: 0, activationEpoch: 0, exitEpoch: null, withdrawableEpoch: null }
  await putValidators(
    context.ingest,
    network,
    pools.map((_, index) => ({
      ...entry,
      index,
      pubkey: `0x${String(index).padStart(96, '0')}`,
      withdrawalAddress: null,
    })),
  )
  const records = pools.map((pool, index) => ({
    at: index,
    record: { index, ...(pool && { pool }), nodeOperators: [index % 2 === 0 ? 'Even Ops' : 'Odd Ops'] },
  }))
  await importEntities(context.ingest, network, records, 'test')
})
after(() => context[Symbol.asyncDispose]())

const call = (input = {}) => callHandler(entities, context, input)
const names = (body: { entities: readonly { name: string }[] }) => body.entities.map(({ name }) => name)

test('before the first day is over, entities have no figures', async () => {
  const { body } = await call()
  assert.deepEqual([body.startDay, body.endDay, body.network.distribution], [null, null, []])
  assert.deepEqual(names(body), ['Idle Pool', 'North Pool', 'South Pool'])
  assert(
    body.entities.every(
      ({ validators, uptime, earnings, history }) => !validators && !uptime && !earnings && history.length === 0,
    ),
  )
})

test('figures of an entity equal those of 4.5 about its validators and the same days', async () => {
  await writeEpochs(context, network, { from: 0, until: 31 }, rows)
  const time = plainTime(context.settings.validators.networks[network])
  const summaryEntities = await readSummaryEntities(context.ingest, network)
  const input = { network, time, until: 31, entities: summaryEntities, daysMax: 100 } as const
  await context.duties.update('summarizeDays', input, { signal: new AbortController().signal })

  const { body, confidence } = await call({ period: 'week' })
  assert.deepEqual([body.startDay, body.endDay, body.total], [3, 9, 3])
  assert.equal(confidence?.coverage, 'complete')
  for (const [name, indices] of [
    ['North Pool', [0, 1]],
    ['South Pool', [2, 3]],
  ] as const) {
    const { data } = (
      await callHandler(aggregateEffectiveness, context, {
        ...{ indices: [...indices], from: '9', to: '3', granularity: 'all', groupBy: 'timeWindow' },
      })
    ).body
    const entity = body.entities.find((one) => one.name === name)
    assert(entity && data[0])
    assert.equal(entity.validators, indices.length)
    for (const field of ['uptime', 'avgInclusionDelay', 'earnings', 'sumMissedAttestations'] as const)
      assert.equal(entity[field], data[0][field], `${field} of ${name}`)
    const effectiveness = data[0].validatorEffectiveness as number
    assert(Math.abs((entity.validatorEffectiveness as number) - effectiveness) < 1e-6)
    assert.equal(entity.earningsPerDay, Math.round((Number(data[0].earnings) / 14) * 1e6) / 1e6)
    assert.equal(entity.history.length, 7)
  }
  const idle = body.entities.find(({ name }) => name === 'Idle Pool')
  assert.deepEqual([idle?.validators, idle?.networkPercentile], [null, null])
  assert.equal(body.network.validators, 5)
  assert.deepEqual(
    body.network.distribution.map((scores) => scores?.length),
    Array(7).fill(body.network.percentiles.length),
  )
  const percentileOfPool = (name: string) => body.entities.find((one) => one.name === name)?.networkPercentile ?? 0
  assert(percentileOfPool('North Pool') > percentileOfPool('South Pool'))
})

test('the worst are first, and entities without figures last in either order', async () => {
  assert.deepEqual(names((await call()).body), ['South Pool', 'North Pool', 'Idle Pool'])
  assert.deepEqual(names((await call({ sortOrder: 'desc' })).body), ['North Pool', 'South Pool', 'Idle Pool'])
  assert.deepEqual(names((await call({ sort: 'name' })).body), ['Idle Pool', 'North Pool', 'South Pool'])
  const second = (await call({ limit: 1, offset: 1 })).body
  assert.deepEqual([names(second), second.total], [['North Pool'], 3])
})

test('names are found by a part of them, and operators are listed as well', async () => {
  assert.deepEqual(names((await call({ q: 'TH p' })).body), ['South Pool', 'North Pool'])
  assert.deepEqual(names((await call({ q: 'nothing' })).body), [])
  assert.deepEqual(names((await call({ kind: 'operator' })).body), ['Odd Ops', 'Even Ops'])
  assert.deepEqual(names((await call({ network: 'hoodi', kind: 'operator' })).body), [])
})
