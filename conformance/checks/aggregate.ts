// Effectiveness over many validators, spec 4.5: shape, defaults, pages, groups, refusals.
import { aggregateFields } from '#api/wire/validators.ts'
import {
  type Check,
  expect,
  expectNoProblems,
  expectReply,
  type Members,
  membersOf,
  namesInput,
  refusal,
  Skipped,
  same,
  toList,
} from '../check.ts'
import { validatorsOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'validators.aggregateEffectiveness'
const pagesMax = 200

const fetchPage = async (site: ServerUnderTest, input: Members): Promise<Members> =>
  expectReply(id, await site.call(id, input))
const dataOf = (page: Members): readonly Members[] => toList(page.data, 'data')

/** The newest days of the sample validators, as a closed question: it stays the same while the chain goes on. */
async function newestDays(site: ServerUnderTest): Promise<Members> {
  const indices = await validatorsOf(site)
  const newest = dataOf(await fetchPage(site, { indices, groupBy: 'timeWindow' }))
  if (newest.length < 2) throw new Skipped('the sample validators have fewer than two days')
  return { indices, from: newest[0]?.day, to: newest.at(-1)?.day }
}

/** All pages by their links, each asked at the address under test (behaviour/http.md#client-pages). */
async function fetchAllPages(site: ServerUnderTest, input: Members): Promise<readonly Members[]> {
  const pages: Members[] = []
  let link: string | undefined
  do {
    const page: Members = expectReply(id, await site.call(id, input, link === undefined ? {} : { link }))
    pages.push(page)
    expect(pages.length <= pagesMax, `there are more than ${pagesMax} pages`)
    link = page.next === null ? undefined : String(page.next)
  } while (link !== undefined)
  return pages
}

const keyOf = ({ startDay, validatorIndex }: Members): string => `${startDay}/${validatorIndex}`

export const aggregateChecks: readonly Check[] = [
  {
    id: 'validators.aggregate.page',
    rule: 'spec 4.5',
    requirement: 'a page fits the contract and tells how it was asked for',
    async run(site) {
      const indices = await validatorsOf(site)
      const page = await fetchPage(site, { indices, size: 2, granularity: 'week' })
      same(page.page, { filterType: 'day', granularity: 'week', size: 2 }, 'page does not say what was asked')
      expect(dataOf(page).length <= 2, 'there are more records than asked for')
    },
  },
  {
    id: 'validators.aggregate.defaults',
    rule: 'spec 4.5',
    requirement: 'filterType is day, size 10, groupBy validator, the network mainnet',
    async run(site) {
      const indices = await validatorsOf(site)
      const plain = await fetchPage(site, { indices })
      const given = { filterType: 'day', size: 10, groupBy: 'validator', network: 'mainnet' }
      const full = await fetchPage(site, { indices, ...given })
      for (const name of ['data', 'page', 'total']) same(plain[name], full[name], `${name} differs from the defaults`)
      same(membersOf(plain.page, 'page').size, 10, 'size is not 10')
    },
  },
  {
    id: 'validators.aggregate.fields',
    rule: 'behaviour/validators.md#unknown-values',
    requirement: 'without include every field is there, null where it has no value',
    async run(site) {
      for (const record of dataOf(await fetchPage(site, { indices: await validatorsOf(site), size: 3 })))
        expectNoProblems(aggregateFields.filter((name) => !(name in record)).map((name) => `${name} is missing`))
    },
  },
  {
    id: 'validators.aggregate.signs',
    rule: 'spec 2.3',
    requirement: 'penalties are zero or negative, shares lie between 0 and 1, effectiveness between 0 and 100',
    async run(site) {
      for (const record of dataOf(await fetchPage(site, { indices: await validatorsOf(site), size: 50 })))
        expectNoProblems(Object.entries(record).flatMap(([name, value]) => outOfRange(name, value)))
    },
  },
  {
    id: 'validators.aggregate.include',
    rule: 'spec 4.5',
    requirement: 'include keeps the named fields and no others',
    async run(site) {
      const include = ['uptime', 'earnings', 'sumCorrectHead']
      const indices = await validatorsOf(site)
      for (const record of dataOf(await fetchPage(site, { indices, include, size: 5 }))) {
        const names = Object.keys(record).filter((name) => name !== 'validatorIndex')
        same(names.toSorted(), include.toSorted(), `the record has ${names.join(', ')}`)
      }
      const answered = await site.call(id, { indices, include: 'noSuchField' })
      refusal(id, answered, 'input.invalid')
    },
  },
  {
    id: 'validators.aggregate.pages',
    rule: 'spec 4.5',
    requirement: 'pages put together are the whole, without gaps or repetitions, and total counts them',
    async run(site) {
      const question = await newestDays(site)
      const whole = await fetchPage(site, { ...question, size: 1000 })
      expect(whole.next === null, 'everything fits on one page, but there is a next one')
      expect(dataOf(whole).length === whole.total, `total is ${whole.total}, there are ${dataOf(whole).length}`)
      for (const size of [1, 4]) {
        const pages = await fetchAllPages(site, { ...question, size })
        same(pages.flatMap(dataOf), whole.data, `pages of ${size} give other records than one page`)
        const odd = pages.slice(0, -1).find((page) => dataOf(page).length !== size)
        expect(odd === undefined, `a page that is not the last is not full (size ${size})`)
      }
    },
  },
  {
    id: 'validators.aggregate.next',
    rule: 'spec 4.5',
    requirement: 'next is a relative path with the same filters, size and a from value',
    async run(site) {
      const question = await newestDays(site)
      const page = await fetchPage(site, { ...question, size: 1, include: ['uptime'], granularity: 'day' })
      if (page.next === null) throw new Skipped('there is one record only')
      const link = String(page.next)
      expect(link.startsWith('/v0/eth/validators/effectiveness?'), `next is ${link}`)
      const query = new URLSearchParams(link.split('?')[1])
      expect(query.get('size') === '1', `next has size ${query.get('size')}`)
      expect(query.get('from') !== null, 'next has no from')
      expect(query.getAll('include').join() === 'uptime', 'next has another include')
      expect(!/key/i.test([...query.keys()].join()), 'next carries a key')
    },
  },
  {
    id: 'validators.aggregate.newest-first',
    rule: 'behaviour/validators.md#time-bounds-of-the-aggregate',
    requirement: 'the newest window comes first, and inside a window the lowest index; from and to may be swapped',
    async run(site) {
      const question = await newestDays(site)
      const records = dataOf(await fetchPage(site, { ...question, size: 1000 }))
      const sorted = records.toSorted(
        (a, b) => Number(b.startDay) - Number(a.startDay) || Number(a.validatorIndex) - Number(b.validatorIndex),
      )
      same(records.map(keyOf), sorted.map(keyOf), 'the order is another')
      const swapped = await fetchPage(site, { ...question, from: question.to, to: question.from, size: 1000 })
      same(swapped.data, records, 'from and to swapped give other records')
    },
  },
  {
    id: 'validators.aggregate.size-zero',
    rule: 'behaviour/validators.md#page-limits',
    requirement: 'size 0 gives the total and nothing else; sizes outside 0 to 1000 are refused',
    async run(site) {
      const question = await newestDays(site)
      const none = await fetchPage(site, { ...question, size: 0 })
      const whole = await fetchPage(site, { ...question, size: 1000 })
      expect(dataOf(none).length === 0 && none.next === null, 'there are records')
      same(none.total, whole.total, 'the totals differ')
      for (const size of [-1, 1001, 'many']) {
        const answered = await site.call(id, { ...question, size })
        refusal(id, answered, 'input.invalid')
        namesInput(answered, 'size')
      }
    },
  },
  {
    id: 'validators.aggregate.groups',
    rule: 'behaviour/validators.md#paging-of-the-aggregate',
    requirement: 'grouped by validator a record names its validator; grouped by time window their sums come together',
    async run(site) {
      const question = await newestDays(site)
      const single = dataOf(await fetchPage(site, { ...question, size: 1000 }))
      const folded = dataOf(await fetchPage(site, { ...question, size: 1000, groupBy: 'timeWindow' }))
      expect(
        single.every((record) => typeof record.validatorIndex === 'number'),
        'a record names no validator',
      )
      for (const record of folded) {
        const parts = single.filter(({ startDay }) => startDay === record.startDay)
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
  {
    id: 'validators.aggregate.windows',
    rule: 'behaviour/validators.md#time-fields',
    requirement: 'every granularity is answered, windows begin before they end, and longer ones hold the sums of days',
    async run(site) {
      const question = { ...(await newestDays(site)), groupBy: 'timeWindow', size: 1000 }
      const total = async (granularity: string) => {
        const records = dataOf(await fetchPage(site, { ...question, granularity }))
        for (const { startDay, endDay, startEpoch, endEpoch } of records)
          expect(
            Number(startDay) <= Number(endDay) && Number(startEpoch) <= Number(endEpoch),
            `${granularity}: a window ends before it begins`,
          )
        return records.reduce((sum, record) => sum + BigInt(String(record.totalAttestations ?? 0)), 0n)
      }
      const days = await total('day')
      for (const granularity of ['week', 'month', 'quarter', 'year', 'all'])
        expect((await total(granularity)) === days, `${granularity} sums up to something else than the days`)
    },
  },
  {
    id: 'validators.aggregate.who',
    rule: 'behaviour/validators.md#page-limits',
    requirement: 'exactly one of pubkeys and indices is given; both spellings of a list mean the same',
    async run(site) {
      const [first, ...others] = await validatorsOf(site)
      const { validatorPubkey } = expectReply(
        'validators.metadata',
        await site.call('validators.metadata', { validator_index_or_pubkey: first }),
      )
      refusal(id, await site.call(id, {}), 'input.invalid')
      refusal(id, await site.call(id, { indices: [first], pubkeys: [validatorPubkey] }), 'input.invalid')
      const byIndex = await fetchPage(site, { indices: [first] })
      same(
        (await fetchPage(site, { pubkeys: [validatorPubkey] })).data,
        byIndex.data,
        'the public key gives other records',
      )
      const joined = await fetchPage(site, { indices: [first, ...others] })
      const query = [first, ...others].map((index) => `indices=${index}`).join('&')
      same(
        expectReply(id, await site.call(id, {}, { query })).data,
        joined.data,
        'a repeated parameter gives other records',
      )
    },
  },
  {
    id: 'validators.aggregate.network',
    rule: 'spec 4.5',
    requirement: 'the network is one of mainnet, hoodi and holesky',
    async run(site) {
      const indices = await validatorsOf(site)
      for (const network of ['hoodi', 'holesky']) expectReply(id, await site.call(id, { indices, network }))
      refusal(id, await site.call(id, { indices, network: 'elsewhere' }), 'input.invalid')
    },
  },
  {
    id: 'validators.aggregate.enums',
    rule: 'spec 4.5',
    requirement: 'filterType, granularity and groupBy are from their lists',
    async run(site) {
      const indices = await validatorsOf(site)
      for (const name of ['filterType', 'granularity', 'groupBy']) {
        const answered = await site.call(id, { indices, [name]: 'nonsense' })
        refusal(id, answered, 'input.invalid')
        namesInput(answered, name)
      }
      for (const filterType of ['hour', 'day', 'datetime'])
        expectReply(id, await site.call(id, { indices, filterType }))
    },
  },
]

function outOfRange(name: string, value: unknown): string[] {
  if (value === null) return []
  const number = Number(value)
  if (/Penalties$/.test(name) && number > 0) return [`${name} is ${value}, above zero`]
  if (/^(uptime|avgCorrectness)$/.test(name) && (number < 0 || number > 1)) return [`${name} is ${value}`]
  if (/Effectiveness$/.test(name) && (number < 0 || number > 100)) return [`${name} is ${value}`]
  return []
}
