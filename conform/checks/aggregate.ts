// Effectiveness over many validators, spec 4.5: shape, defaults, pages, groups, refusals.
import { aggregateFields } from '#api/wire/validators.ts'
import {
  type Check,
  claim,
  claimAll,
  listOf,
  type Members,
  membersOf,
  namesInput,
  refusal,
  reply,
  Skipped,
  same,
} from '../check.ts'
import { validatorsOf } from '../samples.ts'
import type { Site } from '../site.ts'

const id = 'validators.aggregateEffectiveness'
const pagesMax = 200

const asked = async (site: Site, input: Members): Promise<Members> => reply(id, await site.ask(id, input))
const dataOf = (page: Members): readonly Members[] => listOf(page.data, 'data')

/** The newest days of the sample validators, as a closed question: it stays the same while the chain goes on. */
async function span(site: Site): Promise<Members> {
  const indices = await validatorsOf(site)
  const newest = dataOf(await asked(site, { indices, groupBy: 'timeWindow' }))
  if (newest.length < 2) throw new Skipped('the sample validators have fewer than two days')
  return { indices, from: newest[0]?.day, to: newest.at(-1)?.day }
}

/** All pages by their links, each asked at the address under test (decision 0061). */
async function walk(site: Site, input: Members): Promise<readonly Members[]> {
  const pages: Members[] = []
  let link: string | undefined
  do {
    const page: Members = reply(id, await site.ask(id, input, link === undefined ? {} : { link }))
    pages.push(page)
    claim(pages.length <= pagesMax, `there are more than ${pagesMax} pages`)
    link = page.next === null ? undefined : String(page.next)
  } while (link !== undefined)
  return pages
}

const keyOf = ({ startDay, validatorIndex }: Members): string => `${startDay}/${validatorIndex}`

export const aggregateChecks: readonly Check[] = [
  {
    id: 'validators.aggregate.page',
    rule: 'spec 4.5',
    says: 'a page fits the contract and tells how it was asked for',
    async run(site) {
      const indices = await validatorsOf(site)
      const page = await asked(site, { indices, size: 2, granularity: 'week' })
      same(page.page, { filterType: 'day', granularity: 'week', size: 2 }, 'page does not say what was asked')
      claim(dataOf(page).length <= 2, 'there are more records than asked for')
    },
  },
  {
    id: 'validators.aggregate.defaults',
    rule: 'spec 4.5',
    says: 'filterType is day, size 10, groupBy validator, the network mainnet',
    async run(site) {
      const indices = await validatorsOf(site)
      const plain = await asked(site, { indices })
      const given = { filterType: 'day', size: 10, groupBy: 'validator', network: 'mainnet' }
      const full = await asked(site, { indices, ...given })
      for (const name of ['data', 'page', 'total']) same(plain[name], full[name], `${name} differs from the defaults`)
      same(membersOf(plain.page, 'page').size, 10, 'size is not 10')
    },
  },
  {
    id: 'validators.aggregate.fields',
    rule: 'decision 0035',
    says: 'without include every field is there, null where it has no value',
    async run(site) {
      for (const record of dataOf(await asked(site, { indices: await validatorsOf(site), size: 3 })))
        claimAll(aggregateFields.filter((name) => !(name in record)).map((name) => `${name} is missing`))
    },
  },
  {
    id: 'validators.aggregate.signs',
    rule: 'spec 2.3',
    says: 'penalties are zero or negative, shares lie between 0 and 1, effectiveness between 0 and 100',
    async run(site) {
      for (const record of dataOf(await asked(site, { indices: await validatorsOf(site), size: 50 })))
        claimAll(Object.entries(record).flatMap(([name, value]) => outOfRange(name, value)))
    },
  },
  {
    id: 'validators.aggregate.include',
    rule: 'spec 4.5',
    says: 'include keeps the named fields and no others',
    async run(site) {
      const include = ['uptime', 'earnings', 'sumCorrectHead']
      const indices = await validatorsOf(site)
      for (const record of dataOf(await asked(site, { indices, include, size: 5 }))) {
        const names = Object.keys(record).filter((name) => name !== 'validatorIndex')
        same(names.toSorted(), include.toSorted(), `the record has ${names.join(', ')}`)
      }
      const answered = await site.ask(id, { indices, include: 'noSuchField' })
      refusal(id, answered, 'input.invalid')
    },
  },
  {
    id: 'validators.aggregate.pages',
    rule: 'spec 4.5',
    says: 'pages put together are the whole, without gaps or repetitions, and total counts them',
    async run(site) {
      const question = await span(site)
      const whole = await asked(site, { ...question, size: 1000 })
      claim(whole.next === null, 'everything fits on one page, but there is a next one')
      claim(dataOf(whole).length === whole.total, `total is ${whole.total}, there are ${dataOf(whole).length}`)
      for (const size of [1, 4]) {
        const pages = await walk(site, { ...question, size })
        same(pages.flatMap(dataOf), whole.data, `pages of ${size} give other records than one page`)
        const odd = pages.slice(0, -1).find((page) => dataOf(page).length !== size)
        claim(odd === undefined, `a page that is not the last is not full (size ${size})`)
      }
    },
  },
  {
    id: 'validators.aggregate.next',
    rule: 'spec 4.5',
    says: 'next is a relative path with the same filters, size and a from value',
    async run(site) {
      const question = await span(site)
      const page = await asked(site, { ...question, size: 1, include: ['uptime'], granularity: 'day' })
      if (page.next === null) throw new Skipped('there is one record only')
      const link = String(page.next)
      claim(link.startsWith('/v0/eth/validators/effectiveness?'), `next is ${link}`)
      const query = new URLSearchParams(link.split('?')[1])
      claim(query.get('size') === '1', `next has size ${query.get('size')}`)
      claim(query.get('from') !== null, 'next has no from')
      claim(query.getAll('include').join() === 'uptime', 'next has another include')
      claim(!/key/i.test([...query.keys()].join()), 'next carries a key')
    },
  },
  {
    id: 'validators.aggregate.newest-first',
    rule: 'decision 0033',
    says: 'the newest window comes first, and inside a window the lowest index; from and to may be swapped',
    async run(site) {
      const question = await span(site)
      const records = dataOf(await asked(site, { ...question, size: 1000 }))
      const sorted = records.toSorted(
        (a, b) => Number(b.startDay) - Number(a.startDay) || Number(a.validatorIndex) - Number(b.validatorIndex),
      )
      same(records.map(keyOf), sorted.map(keyOf), 'the order is another')
      const swapped = await asked(site, { ...question, from: question.to, to: question.from, size: 1000 })
      same(swapped.data, records, 'from and to swapped give other records')
    },
  },
  {
    id: 'validators.aggregate.size-zero',
    rule: 'decision 0030',
    says: 'size 0 gives the total and nothing else; sizes outside 0 to 1000 are refused',
    async run(site) {
      const question = await span(site)
      const none = await asked(site, { ...question, size: 0 })
      const whole = await asked(site, { ...question, size: 1000 })
      claim(dataOf(none).length === 0 && none.next === null, 'there are records')
      same(none.total, whole.total, 'the totals differ')
      for (const size of [-1, 1001, 'many']) {
        const answered = await site.ask(id, { ...question, size })
        refusal(id, answered, 'input.invalid')
        namesInput(answered, 'size')
      }
    },
  },
  {
    id: 'validators.aggregate.groups',
    rule: 'decision 0031',
    says: 'grouped by validator a record names its validator; grouped by time window their sums come together',
    async run(site) {
      const question = await span(site)
      const single = dataOf(await asked(site, { ...question, size: 1000 }))
      const folded = dataOf(await asked(site, { ...question, size: 1000, groupBy: 'timeWindow' }))
      claim(
        single.every((record) => typeof record.validatorIndex === 'number'),
        'a record names no validator',
      )
      for (const record of folded) {
        const parts = single.filter(({ startDay }) => startDay === record.startDay)
        for (const name of ['totalAttestations', 'sumCorrectHead', 'earnings', 'sumInclusionDelay'] as const) {
          const sum = parts.reduce((total, part) => total + BigInt(String(part[name] ?? 0)), 0n)
          claim(
            String(record[name] ?? 0) === String(sum),
            `day ${record.startDay}: ${name} is ${record[name]}, not ${sum}`,
          )
        }
      }
    },
  },
  {
    id: 'validators.aggregate.windows',
    rule: 'decision 0032',
    says: 'every granularity is answered, windows begin before they end, and longer ones hold the sums of days',
    async run(site) {
      const question = { ...(await span(site)), groupBy: 'timeWindow', size: 1000 }
      const total = async (granularity: string) => {
        const records = dataOf(await asked(site, { ...question, granularity }))
        for (const { startDay, endDay, startEpoch, endEpoch } of records)
          claim(
            Number(startDay) <= Number(endDay) && Number(startEpoch) <= Number(endEpoch),
            `${granularity}: a window ends before it begins`,
          )
        return records.reduce((sum, record) => sum + BigInt(String(record.totalAttestations ?? 0)), 0n)
      }
      const days = await total('day')
      for (const granularity of ['week', 'month', 'quarter', 'year', 'all'])
        claim((await total(granularity)) === days, `${granularity} sums up to something else than the days`)
    },
  },
  {
    id: 'validators.aggregate.who',
    rule: 'decision 0030',
    says: 'exactly one of pubkeys and indices is given; both spellings of a list mean the same',
    async run(site) {
      const [first, ...others] = await validatorsOf(site)
      const { validatorPubkey } = reply(
        'validators.metadata',
        await site.ask('validators.metadata', { validator_index_or_pubkey: first }),
      )
      refusal(id, await site.ask(id, {}), 'input.invalid')
      refusal(id, await site.ask(id, { indices: [first], pubkeys: [validatorPubkey] }), 'input.invalid')
      const byIndex = await asked(site, { indices: [first] })
      same((await asked(site, { pubkeys: [validatorPubkey] })).data, byIndex.data, 'the public key gives other records')
      const joined = await asked(site, { indices: [first, ...others] })
      const query = [first, ...others].map((index) => `indices=${index}`).join('&')
      same(reply(id, await site.ask(id, {}, { query })).data, joined.data, 'a repeated parameter gives other records')
    },
  },
  {
    id: 'validators.aggregate.network',
    rule: 'spec 4.5',
    says: 'the network is one of mainnet, hoodi and holesky',
    async run(site) {
      const indices = await validatorsOf(site)
      for (const network of ['hoodi', 'holesky']) reply(id, await site.ask(id, { indices, network }))
      refusal(id, await site.ask(id, { indices, network: 'elsewhere' }), 'input.invalid')
    },
  },
  {
    id: 'validators.aggregate.enums',
    rule: 'spec 4.5',
    says: 'filterType, granularity and groupBy are from their lists',
    async run(site) {
      const indices = await validatorsOf(site)
      for (const name of ['filterType', 'granularity', 'groupBy']) {
        const answered = await site.ask(id, { indices, [name]: 'nonsense' })
        refusal(id, answered, 'input.invalid')
        namesInput(answered, name)
      }
      for (const filterType of ['hour', 'day', 'datetime']) reply(id, await site.ask(id, { indices, filterType }))
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
