// Spec 4.6.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import type { Input } from '#api/contract/kit.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { callHandler, invalidInputs, perfect, pubkeyOf, register, writeEpochs } from '#test/validators-world.ts'
import { effectiveness } from './effectiveness.ts'

// Chain day 2114 starts on Tuesday 2026-09-15 at 12:00:23Z; three days are stored. Validator 5 misses one vote in the
// first, two in the second, none in the third; it proposes once, in the second. Validator 9 is known and has no duties.
const day = (number: number) => number * 225
const missed = new Set([day(2114) + 100, day(2115), day(2115) + 1])
const proposes = day(2115) + 7
let context: TestContext

before(async () => {
  context = await openContext()
  await register(context, 'mainnet', [5, 9])
  const epochs = Array.from({ length: 3 * 225 }, (_, at) => day(2114) + at)
  await writeEpochs(
    context,
    'mainnet',
    { from: day(2114), until: day(2117) },
    epochs.map((epoch) => ({
      ...(missed.has(epoch) ? { assigned: 1 } : perfect),
      epoch,
      validator: 5,
      ...(epoch === proposes && { proposer_duties: 1, proposed: 1, proposed_empty: 1 }),
    })),
  )
})
after(() => context[Symbol.asyncDispose]())

type Given = Omit<Input<typeof effectiveness.endpoint>, 'validator_index_or_pubkey'>
const respond = (given: Given, validator = '5') =>
  callHandler(effectiveness, context, { ...given, validator_index_or_pubkey: validator })
const body = async (given: Given, validator?: string) => (await respond(given, validator)).body
const list = async <F extends string>(given: Given, field: F) =>
  (await body(given)).results.map((record) => record[field as 'day'])

describe('200', () => {
  test('the example of the contract has the time fields that are computed for its day', async () => {
    const bounds = ['startDay', 'endDay', 'startEpoch', 'endEpoch', 'startSlot', 'endSlot'] as const
    const moments = ['startDate', 'endDate', 'date', 'startTimestamp', 'endTimestamp'] as const
    const [shown] = effectiveness.endpoint.example.reply.results
    const [record] = (await body({ fromDay: 2115, limit: 1 })).results
    for (const name of ['day', ...bounds, ...moments] as const) assert.equal(shown?.[name], record?.[name], name)
  })

  test('days are in ascending order, and all time fields agree', async () => {
    const { results, pages, previous, next } = await body({ limit: 1 })
    assert.deepEqual(results, [
      {
        validatorIndex: 5,
        hour: null,
        day: 2114,
        startDay: 2114,
        endDay: 2114,
        startEpoch: 475_650,
        endEpoch: 475_874,
        startSlot: 15_220_800,
        endSlot: 15_227_999,
        startDate: '2026-09-15',
        endDate: '2026-09-16',
        date: '2026-09-15',
        startTimestamp: '2026-09-15T12:00:23.000Z',
        endTimestamp: '2026-09-16T12:00:23.000Z',
        avgCorrectness: 1,
        avgInclusionDelay: 1,
        sumInclusionDelay: 224,
        // 224 of 225
        uptime: 0.9955555556,
        attesterEffectiveness: 99.5555555556,
        proposerEffectiveness: null,
        validatorEffectiveness: 99.5555555556,
      },
    ])
    assert.deepEqual([pages, previous], [3, null])
    assert.equal(next, 'http://127.0.0.1:8080/v1/eth/validators/5/effectiveness?limit=1&offset=1')
    assert.deepEqual(await list({}, 'day'), [2114, 2115, 2116])
  })

  test('an empty payload scores a quarter, and counts three eighths', async () => {
    const [record] = (await body({ fromDay: 2115, toDay: 2115 })).results
    // 223 of 225 votes: 99.111…; 3/8 · 25 + 5/8 · 99.111… = 9.375 + 61.944…
    assert.deepEqual(
      [record?.attesterEffectiveness, record?.proposerEffectiveness, record?.validatorEffectiveness],
      [99.1111111111, 25, 71.3194444444],
    )
  })

  test('fields that do not fit the granularity are null', async () => {
    const timeFieldsOf = async (granularity: NonNullable<Given['granularity']>) => {
      const [record] = (await body({ granularity, limit: 1 })).results
      return [record?.hour, record?.day, record?.date, record?.startDay, record?.endDay, record?.endDate]
    }
    assert.deepEqual(await timeFieldsOf('hour'), [52_850, 2114, '2026-09-15', 2114, 2114, '2026-09-15'])
    assert.deepEqual(await timeFieldsOf('day'), [null, 2114, '2026-09-15', 2114, 2114, '2026-09-16'])
    for (const granularity of ['week', 'month', 'quarter', 'year', 'all'] as const) {
      assert.deepEqual(await timeFieldsOf(granularity), [null, null, null, 2114, 2116, '2026-09-18'], granularity)
    }
  })

  test('UTC days are counted from the date of genesis and hold the epochs that start in them', async () => {
    const { results } = await body({ utc: true })
    assert.deepEqual(
      results.map((record) => [record.day, record.date, record.startDate, record.endDate, record.startTimestamp]),
      [
        [2114, '2026-09-15', '2026-09-15', '2026-09-15', '2026-09-15T12:00:23.000Z'],
        [2115, '2026-09-16', '2026-09-16', '2026-09-16', '2026-09-16T00:03:35.000Z'],
        [2116, '2026-09-17', '2026-09-17', '2026-09-17', '2026-09-17T00:03:35.000Z'],
        [2117, '2026-09-18', '2026-09-18', '2026-09-18', '2026-09-18T00:03:35.000Z'],
      ],
    )
    assert.deepEqual(
      results.map((record) => (record.endEpoch ?? 0) - (record.startEpoch ?? 0) + 1),
      [113, 225, 225, 112],
    )
  })

  test('a day that was not read to its end does not claim the epochs that are missing', async () => {
    await using partial = await openContext()
    await register(partial, 'mainnet', [5])
    for (const [from, until] of [
      [day(2114), day(2114) + 90],
      [day(2115) + 9, day(2116)],
    ] as const) {
      const epochs = Array.from({ length: until - from }, (_, at) => ({ ...perfect, epoch: from + at, validator: 5 }))
      await writeEpochs(partial, 'mainnet', { from, until }, epochs)
    }
    const { results } = (await callHandler(effectiveness, partial, { validator_index_or_pubkey: '5' })).body
    assert.deepEqual(
      results.map((record) => [record.day, record.startEpoch, record.endEpoch, record.endSlot]),
      [
        [2114, day(2114), day(2114) + 89, (day(2114) + 90) * 32 - 1],
        [2115, day(2115) + 9, day(2116) - 1, day(2116) * 32 - 1],
      ],
    )
  })

  test('an hour that crosses midnight is one record of the chain day and two of the UTC days', async () => {
    const hour = (given: Given) => body({ ...given, granularity: 'hour', limit: 1000 })
    assert.equal((await hour({ fromDay: 2114, toDay: 2114 })).results.length, 25)
    const utc = (await hour({ utc: true })).results.filter((record) => record.hour === 52_862)
    // Hour 52 862 has epochs 475 758–475 766; 475 763 is the first to start on the 16th.
    assert.deepEqual(
      utc.map((record) => [record.day, record.startEpoch, record.endEpoch, record.sumInclusionDelay]),
      [
        [2114, 475_758, 475_762, 5],
        [2115, 475_763, 475_766, 4],
      ],
    )
  })

  test('dates and days bound inclusively, and both together', async () => {
    assert.deepEqual(await list({ fromDate: '2026-09-16' }, 'day'), [2115, 2116])
    assert.deepEqual(await list({ toDate: '2026-09-16' }, 'day'), [2114, 2115])
    assert.deepEqual(await list({ fromDay: 2115, toDate: '2026-09-16' }, 'day'), [2115])
    assert.deepEqual(await list({ fromDate: '2020-01-01', fromDay: 2116 }, 'day'), [2116])
    assert.deepEqual(await list({ fromDate: '2026-09-16', toDate: '2026-09-16', utc: true }, 'day'), [2115])
    assert.deepEqual(await list({ toDate: '2000-01-01' }, 'day'), [])
    assert.deepEqual(await list({ fromDay: 2 ** 31 }, 'day'), [])
  })

  test('records can be sorted by any numeric field; those without a value are last in both orders', async () => {
    assert.deepEqual(await list({ sortOrder: 'desc' }, 'day'), [2116, 2115, 2114])
    assert.deepEqual(await list({ sortBy: 'uptime' }, 'day'), [2115, 2114, 2116])
    assert.deepEqual(await list({ sortBy: 'uptime', sortOrder: 'desc' }, 'day'), [2116, 2114, 2115])
    for (const sortOrder of ['asc', 'desc'] as const) {
      assert.deepEqual(await list({ sortBy: 'proposerEffectiveness', sortOrder }, 'day'), [2115, 2114, 2116])
      // The same for all, or null for all: by time.
      assert.deepEqual(await list({ sortBy: 'validatorIndex', sortOrder }, 'day'), [2114, 2115, 2116])
      assert.deepEqual(await list({ sortBy: 'hour', sortOrder }, 'day'), [2114, 2115, 2116])
    }
    assert.deepEqual(await list({ sortBy: 'endSlot', sortOrder: 'desc' }, 'day'), [2116, 2115, 2114])
  })

  test('links lead to the next and previous page with the same parameters', async () => {
    const base = 'http://127.0.0.1:8080/v1/eth/validators/5/effectiveness'
    const middle = await body({ limit: 1, offset: 1, utc: true, sortOrder: 'desc' })
    assert.equal(middle.previous, `${base}?limit=1&offset=0&utc=true&sortOrder=desc`)
    assert.equal(middle.next, `${base}?limit=1&offset=2&utc=true&sortOrder=desc`)
    const end = await body({ limit: 2, offset: 2 })
    assert.deepEqual([end.pages, end.next, end.results.length], [2, null, 1])
    const beyond = await body({ limit: 2, offset: 50 })
    assert.deepEqual([beyond.results, beyond.previous], [[], `${base}?limit=2&offset=1`])
  })

  test('a public key selects the same validator as its index', async () => {
    const byKey = await body({}, pubkeyOf(5).toUpperCase().replace('0X', ''))
    assert.deepEqual(byKey.results, (await body({})).results)
  })

  test('a known validator without duties has no records', async () => {
    assert.deepEqual(await body({}, '9'), { previous: null, next: null, pages: 0, results: [] })
  })

  test('the headers have the method, the last epoch and the coverage', async () => {
    const { confidence } = await respond({ fromDay: 2114, toDay: 2116 })
    assert.deepEqual(confidence, { asOf: day(2117) - 1, finality: 'finalized', coverage: 'complete' })
    const beyond = await respond({ fromDay: 2116, toDay: 2118 })
    assert.equal(beyond.confidence?.coverage, `${day(2116)}-${day(2117) - 1}`)
  })
})

describe('400', () => {
  test('from after to is refused, also for a date and a day', async () => {
    assert.deepEqual(await invalidInputs(body({ fromDay: 5, toDay: 4 })), ['query.fromDay'])
    assert.deepEqual(await invalidInputs(body({ fromDate: '2026-09-17', toDate: '2026-09-16' })), ['query.fromDate'])
    assert.deepEqual(await invalidInputs(body({ fromDay: 2116, toDate: '2026-09-16' })), ['query.fromDay'])
    assert.deepEqual(await invalidInputs(body({ fromDate: '2026-09-17', toDay: 2115 })), ['query.fromDate'])
  })
})

const given = { limit: 1, offset: 0, utc: false, sortOrder: 'asc', granularity: 'day' } as const

describe('404', () => {
  test('an unknown validator is not found', async () => {
    for (const who of ['6', pubkeyOf(6)]) {
      const input = { ...given, network: 'mainnet', validator_index_or_pubkey: who } as const
      assert.equal((await effectiveness.handle(input, context, testRequestInfo())).is, 'nothing')
    }
  })
})

describe('404 with an explanation', () => {
  test('on a network that is not read, an unknown validator may exist', async () => {
    const input = { ...given, network: 'hoodi', validator_index_or_pubkey: '5' } as const
    await assert.rejects(effectiveness.handle(input, context, testRequestInfo()), { code: 'validators.not_read' })
  })
})
