// Effectiveness of several validators, spec 4.5: fields, defaults, pages, grouping, errors.
import { aggregateFields } from '#api/contract/wire/validators.ts'
import {
  type Checks,
  expect,
  expectFailure,
  expectNoProblems,
  expectProblemWith,
  expectReply,
  expectSame,
  type Members,
  membersOf,
  Skipped,
  toList,
} from '../check.ts'
import { validatorsOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'validators.aggregateEffectiveness'

const fetchPage = async (server: ServerUnderTest, input: Members): Promise<Members> =>
  await server.fetchReply(id, input)
const dataOf = (page: Members): readonly Members[] => toList(page.data, 'data')

/** The newest days of the sample validators, with both bounds: the result does not change while the chain grows. */
async function newestDays(server: ServerUnderTest): Promise<Members> {
  const indices = await validatorsOf(server)
  const newest = dataOf(await fetchPage(server, { indices, groupBy: 'timeWindow' }))
  if (newest.length < 2) throw new Skipped('the sample validators have fewer than two days')
  return { indices, from: newest[0]?.day, to: newest.at(-1)?.day }
}

/** Without those that are left out if there is no execution node. */
const knownFields = aggregateFields.filter((name) => !/^sum(All.*|BaselineMev|.*Execution.*|PriorityFees)$/.test(name))

const specified = ['pubkeys', 'indices', 'from', 'to', 'filterType', 'size', 'granularity', 'groupBy', 'include']

const keyOf = ({ startDay, validatorIndex }: Members): string => `${startDay}/${validatorIndex}`

export const aggregateChecks: Checks = {
  'validators.aggregate.page': {
    rule: 'spec 4.5',
    requirement: 'a page matches the contract and repeats the parameters of the request',
    async run(server) {
      const indices = await validatorsOf(server)
      const page = await fetchPage(server, { indices, size: 2, granularity: 'week' })
      expectSame(page.page, { filterType: 'day', granularity: 'week', size: 2 }, 'page does not repeat the parameters')
      expect(dataOf(page).length <= 2, 'there are more records than size')
    },
  },
  'validators.aggregate.defaults': {
    rule: 'spec 4.5',
    requirement: 'defaults: filterType day, size 10, groupBy validator, network mainnet',
    async run(server) {
      const indices = await validatorsOf(server)
      const plain = await fetchPage(server, { indices })
      const defaults = { filterType: 'day', size: 10, groupBy: 'validator', network: 'mainnet' }
      const full = await fetchPage(server, { indices, ...defaults })
      for (const name of ['data', 'page', 'total'])
        expectSame(plain[name], full[name], `${name} differs from that of a request with explicit defaults`)
      expectSame(membersOf(plain.page, 'page').size, 10, 'size is not 10')
    },
  },
  'validators.aggregate.fields': {
    rule: 'behaviour/validators.md#unknown-values',
    requirement: 'without include, every field is present, except execution sums that are unknown',
    async run(server) {
      for (const record of dataOf(await fetchPage(server, { indices: await validatorsOf(server), size: 3 })))
        expectNoProblems(knownFields.filter((name) => !(name in record)).map((name) => `${name} is missing`))
    },
  },
  'validators.aggregate.signs': {
    rule: 'spec 2.3',
    requirement: 'penalties are zero or negative, shares are between 0 and 1, effectiveness between 0 and 100',
    async run(server) {
      for (const record of dataOf(await fetchPage(server, { indices: await validatorsOf(server), size: 50 })))
        expectNoProblems(Object.entries(record).flatMap(([name, value]) => outOfRange(name, value)))
    },
  },
  'validators.aggregate.include': {
    rule: 'spec 4.5',
    requirement: 'include selects the fields',
    async run(server) {
      const include = ['validatorIndex', 'uptime', 'earnings', 'sumCorrectHead']
      const indices = await validatorsOf(server)
      for (const record of dataOf(await fetchPage(server, { indices, include, size: 5 }))) {
        const names = Object.keys(record)
        expectSame(names.toSorted(), include.toSorted(), `the record has ${names.join(', ')}`)
      }
      await server.expectFailure(id, { indices, include: 'noSuchField' }, 'input.invalid')
    },
  },
  'validators.aggregate.pages': {
    rule: 'spec 4.5',
    requirement: 'all pages together contain every record once, and total is their number',
    async run(server) {
      const query = await newestDays(server)
      const all = await fetchPage(server, { ...query, size: 1000 })
      expect(all.next === null, 'all records are on one page, but next is not null')
      expect(dataOf(all).length === all.total, `total is ${all.total}, there are ${dataOf(all).length}`)
      for (const size of [1, 4]) {
        const pages = await server.fetchPages(id, { ...query, size })
        expectSame(pages.flatMap(dataOf), all.data, `pages of ${size} contain other records than one large page`)
        const incomplete = pages.slice(0, -1).find((page) => dataOf(page).length !== size)
        expect(incomplete === undefined, `a page before the last is not full (size ${size})`)
      }
    },
  },
  'validators.aggregate.next': {
    rule: 'spec 4.5',
    requirement: 'next is a relative path with the same filters and size, and a from value',
    async run(server) {
      const query = await newestDays(server)
      const page = await fetchPage(server, { ...query, size: 1, include: ['uptime'], granularity: 'day' })
      if (page.next === null) throw new Skipped('there is only one record')
      const link = String(page.next)
      expect(link.startsWith('/v0/eth/validators/effectiveness?'), `next is ${link}`)
      const next = new URLSearchParams(link.split('?')[1])
      expect(next.get('size') === '1', `next has size ${next.get('size')}`)
      expect(next.get('from') !== null, 'next has no from')
      expect(next.getAll('include').join() === 'uptime', 'next has a different include')
      const unspecified = [...next.keys()].filter((name) => !specified.includes(name) && name !== 'after')
      expect(unspecified.length === 0, `next has parameters beyond the specification: ${unspecified.join()}`)
      expect(!/key/i.test([...next.keys()].join()), 'next contains a key')
    },
  },
  'validators.aggregate.newest-first': {
    rule: 'behaviour/validators.md#time-bounds-of-the-aggregate',
    requirement: 'newest window first, then lowest index; from and to may be swapped',
    async run(server) {
      const query = await newestDays(server)
      const records = dataOf(await fetchPage(server, { ...query, size: 1000 }))
      const sorted = records.toSorted(
        (a, b) => Number(b.startDay) - Number(a.startDay) || Number(a.validatorIndex) - Number(b.validatorIndex),
      )
      expectSame(records.map(keyOf), sorted.map(keyOf), 'the order is wrong')
      const swapped = await fetchPage(server, { ...query, from: query.to, to: query.from, size: 1000 })
      expectSame(swapped.data, records, 'swapping from and to changes the records')
    },
  },
  'validators.aggregate.size-zero': {
    rule: 'behaviour/validators.md#page-limits',
    requirement: 'size 0 returns only the total; sizes outside 0 to 1000 are refused',
    async run(server) {
      const query = await newestDays(server)
      const empty = await fetchPage(server, { ...query, size: 0 })
      const all = await fetchPage(server, { ...query, size: 1000 })
      expect(dataOf(empty).length === 0 && empty.next === null, 'there are records')
      expectSame(empty.total, all.total, 'the totals differ')
      for (const size of [-1, 1001, 'many']) {
        const response = await server.expectFailure(id, { ...query, size }, 'input.invalid')
        expectProblemWith(response, 'size')
      }
    },
  },
  'validators.aggregate.groups': {
    rule: 'behaviour/validators.md#paging-of-the-aggregate',
    requirement: 'records grouped by validator have an index; records grouped by time window contain the sums',
    async run(server) {
      const query = await newestDays(server)
      const byValidator = dataOf(await fetchPage(server, { ...query, size: 1000 }))
      const byWindow = dataOf(await fetchPage(server, { ...query, size: 1000, groupBy: 'timeWindow' }))
      expect(
        byValidator.every((record) => typeof record.validatorIndex === 'number'),
        'a record has no validatorIndex',
      )
      for (const record of byWindow) {
        const parts = byValidator.filter(({ startDay }) => startDay === record.startDay)
        for (const name of ['totalAttestations', 'sumCorrectHead', 'earnings', 'sumInclusionDelay'] as const) {
          const sum = parts.reduce((total, part) => total + BigInt(String(part[name] ?? 0)), 0n)
          expect(
            String(record[name] ?? 0) === String(sum),
            `day ${record.startDay}: ${name} is ${record[name]}, not ${sum}`,
          )
        }
      }
    },
  },
  'validators.aggregate.windows': {
    rule: 'behaviour/validators.md#time-fields',
    requirement:
      'every granularity is supported, windows start before they end, and longer windows are the sums of days',
    async run(server) {
      const query = { ...(await newestDays(server)), groupBy: 'timeWindow', size: 1000 }
      const total = async (granularity: string) => {
        const records = dataOf(await fetchPage(server, { ...query, granularity }))
        for (const { startDay, endDay, startEpoch, endEpoch } of records)
          expect(
            Number(startDay) <= Number(endDay) && Number(startEpoch) <= Number(endEpoch),
            `${granularity}: a window ends before it starts`,
          )
        return records.reduce((sum, record) => sum + BigInt(String(record.totalAttestations ?? 0)), 0n)
      }
      const days = await total('day')
      for (const granularity of ['week', 'month', 'quarter', 'year', 'all'])
        expect((await total(granularity)) === days, `the sum of ${granularity} windows differs from the sum of days`)
    },
  },
  'validators.aggregate.dates': {
    rule: 'behaviour/validators.md#time-bounds-of-the-aggregate',
    requirement: 'a date selects the day that has this date in spec 4.6',
    async run(server) {
      const [index] = await validatorsOf(server)
      const newest = { validator_index_or_pubkey: index, limit: 1, sortOrder: 'desc' }
      const [day] = toList(
        (await server.fetchReply('validators.effectiveness', newest)).results,
        'results',
      ) as Members[]
      if (!day) throw new Skipped('the sample validator has no day')
      const bounds = { filterType: 'datetime', from: day.date, to: day.date }
      const records = dataOf(await fetchPage(server, { indices: [index], ...bounds }))
      expectSame(
        records.map((record) => record.day),
        [day.day],
        `${day.date} selects other days`,
      )
    },
  },
  'validators.aggregate.selection': {
    rule: 'behaviour/validators.md#page-limits',
    requirement: 'exactly one of pubkeys and indices is required; lists may be comma-separated or repeated',
    async run(server) {
      const [first, ...others] = await validatorsOf(server)
      const { validatorPubkey } = await server.fetchReply('validators.metadata', { validator_index_or_pubkey: first })
      await server.expectFailure(id, {}, 'input.invalid')
      await server.expectFailure(id, { indices: [first], pubkeys: [validatorPubkey] }, 'input.invalid')
      const byIndex = await fetchPage(server, { indices: [first] })
      const byKey = await fetchPage(server, { pubkeys: [validatorPubkey] })
      expectSame(byKey.data, byIndex.data, 'the public key returns other records')
      const joined = await fetchPage(server, { indices: [first, ...others] })
      const repeated = [first, ...others].map((index) => `indices=${index}`).join('&')
      const byRepeated = await server.fetchReply(id, {}, { query: repeated })
      expectSame(byRepeated.data, joined.data, 'a repeated parameter returns other records')
    },
  },
  'validators.aggregate.network': {
    rule: 'behaviour/validators.md#unknown-validators',
    requirement: 'the network is mainnet, hoodi or holesky; one that the server does not read is a 404 that says so',
    async run(server) {
      const indices = await validatorsOf(server)
      for (const network of ['hoodi', 'holesky']) {
        const response = await server.call(id, { indices, network })
        if (response.status === 404) expectFailure(id, response, 'validators.not_read')
        else expectReply(id, response)
      }
      await server.expectFailure(id, { indices, network: 'elsewhere' }, 'input.invalid')
    },
  },
  'validators.aggregate.enums': {
    rule: 'spec 4.5',
    requirement: 'filterType, granularity and groupBy accept only listed values',
    async run(server) {
      const indices = await validatorsOf(server)
      for (const name of ['filterType', 'granularity', 'groupBy']) {
        const response = await server.expectFailure(id, { indices, [name]: 'nonsense' }, 'input.invalid')
        expectProblemWith(response, name)
      }
      for (const filterType of ['hour', 'day', 'datetime']) await server.fetchReply(id, { indices, filterType })
    },
  },
}

function outOfRange(name: string, value: unknown): string[] {
  if (value === null) return []
  const number = Number(value)
  if (/Penalties$/.test(name) && number > 0) return [`${name} is ${value}, above zero`]
  if (/^(uptime|avgCorrectness)$/.test(name) && (number < 0 || number > 1)) return [`${name} is ${value}`]
  if (/Effectiveness$/.test(name) && (number < 0 || number > 100)) return [`${name} is ${value}`]
  return []
}
