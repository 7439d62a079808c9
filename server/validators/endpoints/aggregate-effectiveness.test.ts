// Spec 4.5.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import type { Input } from '#api/contract/kit.ts'
import { aggregateFields, networks } from '#api/contract/wire/validators.ts'
import { Fault } from '#core/fault.ts'
import { complete } from '#core/schema-check.ts'
import type { RawQuery } from '#http/handler.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import {
  callHandler,
  type EpochRow,
  inputOfLink,
  invalidInputs,
  perfect,
  pubkeyOf,
  register,
  writeEpochs,
} from '#test/validators-world.ts'
import { aggregateEffectiveness } from './aggregate-effectiveness.ts'
import { effectiveness } from './effectiveness.ts'

// Chain time of mainnet: chain day 2114 starts on Tuesday 2026-09-15 at 12:00:23Z. Days 2114 to 2133 are stored, without
// day 2120 and the last three epochs. Validator 5 always has duties, 9 from epoch 30 of day 2118, 20 is unknown.
const day = (number: number) => number * 225
const [first, last] = [2114, 2133]
const readUntil = day(last + 1) - 3
const activation = day(2118) + 30
let context: TestContext

before(async () => {
  context = await openContext()
  await register(context, 'mainnet', [5, 9])
  const rows = (from: number, until: number): EpochRow[] =>
    Array.from({ length: until - from }, (_, at) => from + at).flatMap((epoch) => [
      { ...perfect, epoch, validator: 5, earnings: 10 },
      ...(epoch >= activation ? [{ ...perfect, epoch, validator: 9, earnings: 2 ** 44, execution_unknown: 1 }] : []),
    ])
  for (const [from, until] of [
    [day(first), day(2120)],
    [day(2121), readUntil],
  ] as const) {
    await writeEpochs(context, 'mainnet', { from, until }, rows(from, until))
  }
})
after(() => context[Symbol.asyncDispose]())

type AggregateInput = Input<typeof aggregateEffectiveness.endpoint>
const respond = (given: AggregateInput) => callHandler(aggregateEffectiveness, context, given)
const body = async (given: AggregateInput) => (await respond(given)).body

describe('200', () => {
  test('records are sorted by newest day, then by index, and have every field', async () => {
    const { data, total, page } = await body({ indices: [9, 5], size: 3 })
    assert.deepEqual(
      data.map((record) => [record.day, record.validatorIndex]),
      [
        [2133, 5],
        [2133, 9],
        [2132, 5],
      ],
    )
    assert.deepEqual(Object.keys(data[0] ?? {}).sort(), ['validatorIndex', ...aggregateFields].sort())
    // Validator 5 has 19 days, 9 has those from 2118 on without 2120: 15.
    assert.equal(total, 34)
    assert.deepEqual(page, { filterType: 'day', granularity: 'day', size: 3 })
  })

  test('if a page ends inside a window, the next one starts after its last validator', async () => {
    const { next } = await body({ indices: [5, 9], size: 3 })
    assert.equal(next, '/v0/eth/validators/effectiveness?indices=5&indices=9&size=3&from=2132&after=5')
    const second = await body(inputOfLink(aggregateEffectiveness.endpoint, next ?? ''))
    assert.deepEqual(second.data[0]?.validatorIndex, 9)
    assert.deepEqual(second.data[0]?.day, 2132)
    // Of day 2133 there were two records, of day 2132 one.
    assert.equal(second.total, 31)
  })

  test('if a page ends with its window, the next one starts with the next window', async () => {
    const { next } = await body({ indices: [5, 9], size: 2, to: '2131' })
    assert.equal(next, '/v0/eth/validators/effectiveness?indices=5&indices=9&size=2&to=2131&from=2132')
    const end = await body(inputOfLink(aggregateEffectiveness.endpoint, next ?? ''))
    assert.deepEqual([end.data.length, end.total], [2, 4])
    assert.equal(end.next, next?.replace('from=2132', 'from=2131'))
  })

  test('bounds may be in either order; the next page of swapped ones has the older one as `to`', async () => {
    const one = await body({ indices: [5], from: '2130', to: '2125', size: 4, groupBy: 'timeWindow' })
    const two = await body({ indices: [5], from: '2125', to: '2130', size: 4, groupBy: 'timeWindow' })
    assert.deepEqual({ ...one, next: null }, { ...two, next: null })
    assert.deepEqual(
      one.data.map((record) => record.day),
      [2130, 2129, 2128, 2127],
    )
    for (const { next } of [one, two]) {
      assert.equal(next, '/v0/eth/validators/effectiveness?indices=5&from=2126&to=2125&size=4&groupBy=timeWindow')
    }
  })

  test('`next` has the parameters as the caller wrote them, and only `from` moves', async () => {
    const path = '/v0/eth/validators/effectiveness'
    const nextOf = async (query: RawQuery, given: AggregateInput) => {
      const { value } = complete(aggregateEffectiveness.endpoint.input, given)
      const result = await aggregateEffectiveness.handle(value as never, context, testRequestInfo({ query }))
      return result.is === 'body' && result.body.next
    }
    const given: AggregateInput = { indices: [5, 9], groupBy: 'timeWindow', granularity: 'month', size: 1 }
    const repeated = { indices: ['5', '9'], groupBy: 'timeWindow', granularity: 'month', size: '1', from: '2131' }
    assert.equal(
      await nextOf({ ...repeated, filterType: 'day' }, { ...given, from: '2131' }),
      `${path}?indices=5&indices=9&groupBy=timeWindow&granularity=month&size=1&from=2129&filterType=day`,
    )
    const listed = {
      indices: '9,5',
      granularity: 'month',
      unknown: 'a b',
      groupBy: 'timeWindow',
      include: 'day,uptime',
    }
    assert.equal(
      await nextOf(listed, { ...given, size: 1, include: ['day', 'uptime'] }),
      `${path}?indices=9,5&granularity=month&groupBy=timeWindow&include=day,uptime&size=1&from=2129`,
    )
    const dated = { indices: '5', filterType: 'datetime', from: '2026-10-02T00:00:00+02:00', size: '2' }
    assert.equal(
      await nextOf(dated, { indices: [5], filterType: 'datetime', from: dated.from, size: 2 }),
      `${path}?indices=5&filterType=datetime&from=2026-09-29T12%3A00%3A23.000Z&size=2`,
    )
  })

  test('epochs that are finalized between two pages change neither the records nor the total of the next one', async () => {
    const question: AggregateInput = { indices: [5], size: 2, groupBy: 'timeWindow', to: '2130' }
    await using later = await openContext()
    await register(later, 'mainnet', [5])
    const write = (from: number, until: number) =>
      writeEpochs(
        later,
        'mainnet',
        { from: from * 225, until: until * 225 },
        Array.from({ length: until - from }, (_, at) => ({ ...perfect, epoch: (from + at) * 225, validator: 5 })),
      )
    await write(2130, 2134)
    const one = (await callHandler(aggregateEffectiveness, later, question)).body
    await write(2134, 2136)
    const two = (
      await callHandler(aggregateEffectiveness, later, inputOfLink(aggregateEffectiveness.endpoint, one.next ?? ''))
    ).body
    assert.deepEqual([one.total, two.total, two.data.length, two.next], [4, 2, 2, null])
    assert.equal((await callHandler(aggregateEffectiveness, later, question)).body.total, 6)
  })

  test('without `to` the range starts with the first epoch, without `from` it ends with the newest', async () => {
    assert.equal((await body({ indices: [5], from: '2116', size: 0 })).total, 3)
    assert.equal((await body({ indices: [5], to: '2132', size: 0 })).total, 2)
  })

  test('size 0 gives only the total', async () => {
    const { data, next, total } = await body({ indices: [5], size: 0 })
    assert.deepEqual({ data, next, total }, { data: [], next: null, total: 19 })
  })

  test('windows are cut to the requested and stored epochs, both ends inclusive', async () => {
    const { data } = await body({ indices: [5], granularity: 'week', groupBy: 'timeWindow', from: '2130' })
    // Mondays: 2026-09-21 is day 2120, 09-28 is 2127. Day 2120 was not read, so the epochs of that week begin with day
    // 2121.
    assert.deepEqual(
      data.map((record) => [record.day, record.startDay, record.endDay, record.startEpoch, record.endEpoch]),
      [
        [undefined, 2127, 2130, day(2127), day(2131) - 1],
        [undefined, 2120, 2126, day(2121), day(2127) - 1],
        [undefined, 2114, 2119, day(2114), day(2120) - 1],
      ],
    )
    const [newest] = (await body({ indices: [5], size: 1 })).data
    assert.deepEqual([newest?.startEpoch, newest?.endEpoch], [day(2133), readUntil - 1])
  })

  test('a bound by hour includes only part of its day', async () => {
    // Hours 24 of day 2116 and 0–1 of day 2117, 9 epochs each.
    const hour = 2117 * 25
    const given: AggregateInput = { indices: [5], filterType: 'hour', from: String(hour + 1), to: String(hour - 1) }
    const { data, total } = await body({ ...given, include: ['day', 'startEpoch', 'endEpoch', 'earnings'] })
    assert.equal(total, 2)
    assert.deepEqual(data, [
      { validatorIndex: 5, day: 2117, startEpoch: day(2117), endEpoch: day(2117) + 17, earnings: 180 },
      { validatorIndex: 5, day: 2116, startEpoch: day(2117) - 9, endEpoch: day(2117) - 1, earnings: 90 },
    ])
    const { next } = await body({ ...given, size: 1 })
    assert.equal(inputOfLink(aggregateEffectiveness.endpoint, next ?? '').from, String(hour - 1))
  })

  test('a page that ends inside a partly requested day continues with the same hours', async () => {
    const given: AggregateInput = { indices: [5, 9], filterType: 'hour', from: String(2125 * 25 + 1), size: 1 }
    const { next } = await body(given)
    const [record] = (await body(inputOfLink(aggregateEffectiveness.endpoint, next ?? ''))).data
    assert.deepEqual([record?.validatorIndex, record?.day, record?.totalAttestationAssignments], [9, 2125, 18])
  })

  test('a time means the whole window that holds it', async () => {
    const daysOf = async (granularity: 'day' | 'week' | 'month' | 'all') => {
      const given: AggregateInput = {
        indices: [5],
        filterType: 'datetime',
        from: '2026-09-24T12:00:22Z',
        granularity,
        size: 1,
      }
      const [record] = (await body({ ...given, groupBy: 'timeWindow' })).data
      return [record?.startDay, record?.endDay]
    }
    // One second before day 2123 begins.
    assert.deepEqual(await daysOf('day'), [2122, 2122])
    assert.deepEqual(await daysOf('week'), [2120, 2126])
    assert.deepEqual(await daysOf('month'), [2114, 2129])
    assert.deepEqual(await daysOf('all'), [2114, 2122])
  })

  test('a date means the window of the day that starts on it, as in 4.6', async () => {
    // Day 2123 starts on 2026-09-24 at 12:00:23, day 2130 on 2026-10-01.
    const daysOf = async (date: string, granularity: 'day' | 'week' | 'month') => {
      const bounds = { filterType: 'datetime', from: date, to: date } as const
      const { data } = await body({ indices: [5], ...bounds, granularity, groupBy: 'timeWindow' })
      return data.map(({ startDay, endDay }) => [startDay, endDay])
    }
    assert.deepEqual(await daysOf('2026-09-24', 'day'), [[2123, 2123]])
    assert.deepEqual(await daysOf('2026-10-01', 'month'), [[2130, 2133]])
    assert.deepEqual(await daysOf('2026-09-21', 'week'), [[2120, 2126]])
    const given = { validator_index_or_pubkey: '5', fromDate: '2026-09-24', toDate: '2026-09-24' }
    const one = (await callHandler(effectiveness, context, given)).body
    assert.deepEqual(
      one.results.map(({ startDay, date }) => [startDay, date]),
      [[2123, '2026-09-24']],
    )
  })

  test('the window that contains genesis is found by any of its dates and times', async () => {
    for (const genesis of ['2026-10-13T00:00:00Z', '2026-10-13T12:00:23Z', '2026-11-17T23:59:59Z']) {
      await using young = await openContext({
        validators: { networks: { hoodi: { genesisUnix: Date.parse(genesis) / 1000 } } },
      })
      await register(young, 'hoodi', [5])
      const rows = Array.from({ length: 450 }, (_, epoch) => ({ ...perfect, epoch, validator: 5 }))
      await writeEpochs(young, 'hoodi', { from: 0, until: 450 }, rows)
      for (const granularity of ['year', 'quarter', 'month', 'week', 'day'] as const) {
        const isLong = granularity === 'year'
        const bounds = [genesis.slice(0, 10), genesis, '2001-01-01T00:00:00Z', ...(isLong ? ['2026-01-01'] : [])]
        for (const bound of bounds) {
          const given = { filterType: 'datetime', from: bound, to: bound, granularity } as const
          const reply = await callHandler(aggregateEffectiveness, young, { network: 'hoodi', indices: [5], ...given })
          const [record] = reply.body.data
          const label = `${genesis}, ${granularity}, ${bound}`
          assert.deepEqual([reply.body.total, record?.startDay], [1, 0], label)
          assert.equal(record?.endDay, granularity === 'day' ? 0 : 1, label)
        }
      }
      const before = { filterType: 'datetime', from: '2001-01-01', to: '2001-02-01' } as const
      const reply = await callHandler(aggregateEffectiveness, young, { network: 'hoodi', indices: [5], ...before })
      assert.deepEqual([reply.body.total, reply.confidence?.coverage], [0, 'complete'])
    }
  })

  test('the next page of a request by time has a time as bound', async () => {
    const given: AggregateInput = {
      indices: [5],
      filterType: 'datetime',
      to: '2026-09-20',
      granularity: 'week',
      size: 1,
    }
    const one = await body(given)
    // Weeks from 09-28, 09-21 and 09-14; the last day of the second one starts on 09-27.
    assert.equal(one.total, 3)
    assert.equal(inputOfLink(aggregateEffectiveness.endpoint, one.next ?? '').from, '2026-09-27T12:00:23.000Z')
    const two = await body(inputOfLink(aggregateEffectiveness.endpoint, one.next ?? ''))
    assert.deepEqual([two.data[0]?.startDay, two.data[0]?.endDay, two.total], [2120, 2126, 2])
  })

  test('keys in any case, with or without 0x, mean the same validators; each counts once', async () => {
    const keys = [pubkeyOf(5), pubkeyOf(5).slice(2).toUpperCase(), pubkeyOf(9)]
    const [byKey, byIndex] = [await body({ pubkeys: keys }), await body({ indices: [5, 9, 5] })]
    assert.deepEqual(byKey.data, byIndex.data)
    assert.equal(byKey.total, byIndex.total)
  })

  test('unknown validators are ignored', async () => {
    assert.equal((await body({ indices: [5, 20, 2 ** 40 - 1], size: 0 })).total, 19)
    assert.deepEqual(await body({ pubkeys: [pubkeyOf(20)] }), {
      data: [],
      next: null,
      total: 0,
      page: { filterType: 'day', granularity: 'day', size: 10 },
    })
  })

  test('include returns only the named fields, and always the validator index', async () => {
    for (const include of [['uptime', 'day'] as const, ['validatorIndex', 'uptime', 'day'] as const]) {
      const one = await body({ indices: [5], include: [...include], size: 1 })
      assert.deepEqual(one.data, [{ validatorIndex: 5, uptime: 1, day: 2133 }])
    }
    const only = await body({ indices: [5], include: ['validatorIndex'], size: 1 })
    assert.deepEqual(only.data, [{ validatorIndex: 5 }])
    // Records of several validators have no index.
    const window = await body({ indices: [5], include: ['validatorIndex', 'day'], groupBy: 'timeWindow', size: 1 })
    assert.deepEqual(window.data, [{ day: 2133 }])
    const all = await body({ indices: [5], include: ['endDay'], groupBy: 'timeWindow', granularity: 'all' })
    assert.deepEqual(all.data, [{ endDay: 2133 }])
  })

  test('a sum is exact, or an error if it is too large', async () => {
    const given: AggregateInput = { indices: [5, 9], granularity: 'all', groupBy: 'timeWindow' }
    const [record] = (await body({ ...given, from: '2133', to: '2133' })).data
    // 222 epochs of the last day have been read.
    assert.equal(record?.totalAttestationAssignments, 444)
    assert.equal(record?.earnings, 222 * 2 ** 44 + 2220)
    // Epochs read: 19 days × 225 − 3 = 4272 of validator 5; 15 days × 225 − 30 − 3 = 3342 of validator 9.
    await assert.rejects(body(given), /earnings: 587930857604\d+ is not an exact whole number/)
    const counted = (await body({ ...given, include: ['totalAttestationAssignments'] })).data[0]
    assert.equal(counted?.totalAttestationAssignments, 4272 + 3342)
  })

  test('execution amounts are omitted if no execution node was configured', async () => {
    const known = (await body({ indices: [5], size: 1 })).data[0]
    assert.deepEqual([known?.sumPriorityFees, known?.sumAllRewards], [0, 2220])
    for (const indices of [[9], [5, 9]]) {
      const [record] = (await body({ indices, size: 1, groupBy: 'timeWindow' })).data
      assert.deepEqual(
        ['sumPriorityFees', 'sumBaselineMev', 'sumAllRewards'].filter((name) => name in (record ?? {})),
        [],
      )
      assert.deepEqual(record?.sumConsensusBlockRewards, 0)
    }
  })

  test('the headers have the last epoch and the gap', async () => {
    const confidence = async (given: AggregateInput) => (await respond({ ...given, indices: [5] })).confidence
    const whole = { asOf: readUntil - 1, finality: 'finalized', coverage: 'complete' }
    assert.deepEqual(await confidence({ from: '2116', to: '2114' }), whole)
    assert.deepEqual((await confidence({ to: '2121' }))?.coverage, 'complete')
    const ends = [day(first), day(2120) - 1, day(2121), readUntil - 1]
    assert.equal((await confidence({}))?.coverage, `${ends[0]}-${ends[1]},${ends[2]}-${ends[3]}`)
    assert.equal((await confidence({ from: '2120', to: '2120' }))?.coverage, 'none')
    // The last day is not over: three of its epochs are missing.
    assert.equal((await confidence({ from: '2133', to: '2133' }))?.coverage, `${day(2133)}-${readUntil - 1}`)
  })

  test('a range without rows has no records: in the past, in the gap and in the future', async () => {
    for (const bound of ['0', '2120', '2134', '9999999999']) {
      const { data, next, total } = await body({ indices: [5], from: bound, to: bound })
      assert.deepEqual({ data, next, total }, { data: [], next: null, total: 0 }, bound)
    }
    const early = await body({ indices: [5], filterType: 'datetime', from: '0001-01-01', granularity: 'year' })
    assert.equal(early.total, 0)
    assert.equal((await body({ indices: [5], filterType: 'datetime', from: '9999-12-31', size: 0 })).total, 19)
  })

  test('a network of which no epoch has been read yet has the coverage none', async () => {
    await using young = await openContext({
      validators: { networks: { hoodi: { beacon: { urls: ['http://node.test'] } } } },
    })
    const { body, confidence } = await callHandler(aggregateEffectiveness, young, { indices: [5], network: 'hoodi' })
    assert.deepEqual([body.total, confidence?.coverage, confidence?.asOf], [0, 'none', undefined])
  })

  test('10 000 validators are accepted', async () => {
    const indices = Array.from({ length: 10_000 }, (_, at) => at)
    const { total, next } = await body({ indices, granularity: 'month', size: 1 })
    assert.equal(total, 4)
    assert.equal(inputOfLink(aggregateEffectiveness.endpoint, next ?? '').indices?.length, 10_000)
  })
})

describe('400', () => {
  test('a request without validators, or with keys and indices, is refused', async () => {
    const both = ['query.pubkeys', 'query.indices']
    assert.deepEqual(await invalidInputs(body({})), both)
    assert.deepEqual(await invalidInputs(body({ indices: [5], pubkeys: [pubkeyOf(5)] })), both)
  })

  test('a bound that does not match filterType is refused', async () => {
    const cases: [AggregateInput, string][] = [
      [{ from: '2026-10-01' }, 'query.from'],
      [{ to: '-1' }, 'query.to'],
      [{ filterType: 'hour', from: '1.5' }, 'query.from'],
      [{ filterType: 'datetime', from: '2114' }, 'query.from'],
      [{ filterType: 'datetime', to: '2026-02-30' }, 'query.to'],
      [{ filterType: 'datetime', to: '2026-02-03T25:00' }, 'query.to'],
    ]
    for (const [given, name] of cases) {
      assert.deepEqual(await invalidInputs(body({ indices: [5], ...given })), [name], JSON.stringify(given))
    }
  })
})

describe('404', () => {
  test('a network that this server does not read is refused, as in 4.7', async () => {
    for (const network of networks.slice(1)) {
      await assert.rejects(respond({ indices: [5], network }), {
        code: 'validators.not_read',
        status: 404,
        publicMessage: /^This server does not read this network/,
        headers: { 'x-tetrad-coverage': 'none' },
      })
    }
  })
})

describe('504', () => {
  test('an aborted request reads nothing from the database', async () => {
    const { value } = complete(aggregateEffectiveness.endpoint.input, { indices: [5] })
    const aborted = testRequestInfo({ signal: AbortSignal.abort(new Fault('server.timeout')) })
    await assert.rejects(aggregateEffectiveness.handle(value as never, context, aborted), { code: 'server.timeout' })
  })
})
