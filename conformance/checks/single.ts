// Effectiveness of one validator over time, spec 4.6.
import { type Check, expect, expectReply, type Members, namesInput, refusal, Skipped, same, toList } from '../check.ts'
import { validatorsOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'validators.effectiveness'
const metadata = 'validators.metadata'
const pagesMax = 200

const resultsOf = (page: Members): readonly Members[] => toList(page.results, 'results')

async function fetchPage(site: ServerUnderTest, input: Members = {}): Promise<Members> {
  const [index] = await validatorsOf(site)
  return expectReply(id, await site.call(id, { validator_index_or_pubkey: index, ...input }))
}

/** The first days there are, as a closed question: only defaults are taken for granted. */
async function firstDays(site: ServerUnderTest): Promise<Members> {
  const first = resultsOf(await fetchPage(site))
  if (first.length < 2) throw new Skipped('the sample validator has fewer than two records')
  return { fromDay: first[0]?.day, toDay: first.at(-1)?.day }
}

export const singleChecks: readonly Check[] = [
  {
    id: 'validators.single.page',
    rule: 'spec 4.6',
    requirement: 'a page fits the contract, for every granularity',
    async run(site) {
      for (const granularity of ['hour', 'day', 'week', 'month', 'quarter', 'year', 'all'])
        resultsOf(await fetchPage(site, { granularity, limit: 3 }))
    },
  },
  {
    id: 'validators.single.defaults',
    rule: 'spec 4.6',
    requirement: 'limit is 10, offset 0, utc false, sortOrder asc, granularity day',
    async run(site) {
      const given = { limit: 10, offset: 0, utc: false, sortOrder: 'asc', granularity: 'day' }
      const [plain, full] = [await fetchPage(site), await fetchPage(site, given)]
      for (const name of ['results', 'pages']) same(plain[name], full[name], `${name} differs from the defaults`)
      expect(resultsOf(plain).length <= 10, 'there are more than 10 records')
    },
  },
  {
    id: 'validators.single.pages',
    rule: 'spec 4.6',
    requirement: 'pages put together are the whole; previous and next lead there and back, pages counts them',
    async run(site) {
      const question = await firstDays(site)
      const whole = resultsOf(await fetchPage(site, { ...question, limit: 1000 }))
      const found: Members[] = []
      let link: string | undefined
      let count = 0
      do {
        const [index] = await validatorsOf(site)
        const input = { validator_index_or_pubkey: index, ...question, limit: 3 }
        const page: Members = expectReply(id, await site.call(id, input, link === undefined ? {} : { link }))
        count += 1
        expect((page.previous === null) === (count === 1), `previous of page ${count} is ${page.previous}`)
        expect(page.pages === Math.ceil(whole.length / 3), `pages is ${page.pages} for ${whole.length} records`)
        expect(count <= pagesMax, `there are more than ${pagesMax} pages`)
        found.push(...resultsOf(page))
        link = page.next === null ? undefined : String(page.next)
      } while (link !== undefined)
      same(found, whole, 'pages of 3 give other records than one page')
    },
  },
  {
    id: 'validators.single.links',
    rule: 'behaviour/validators.md#records-of-one-validator',
    requirement: 'previous and next are absolute addresses and carry no key',
    async run(site) {
      const question = await firstDays(site)
      const { next, previous } = await fetchPage(site, { ...question, limit: 1, offset: 1 })
      for (const link of [next, previous]) {
        if (link === null) continue
        expect(URL.canParse(String(link)), `${link} is no absolute address`)
        expect(!String(link).includes(site.options.key), 'a link carries the key')
      }
    },
  },
  {
    id: 'validators.single.order',
    rule: 'spec 4.6',
    requirement: 'ascending unless asked otherwise; sortBy orders by any numeric field',
    async run(site) {
      const question = { ...(await firstDays(site)), limit: 1000 }
      const days = (page: Members) => resultsOf(page).map(({ day }) => Number(day))
      const up = days(await fetchPage(site, question))
      same(
        up,
        up.toSorted((a, b) => a - b),
        'days do not ascend',
      )
      const down = days(await fetchPage(site, { ...question, sortOrder: 'desc' }))
      same(down, up.toReversed(), 'desc is not the reverse of asc')
      // All of them: a validator without a fault has the same figures every day.
      for (const index of await validatorsOf(site)) {
        const input = { validator_index_or_pubkey: index, limit: 1000, sortBy: 'sumInclusionDelay' }
        const sums = resultsOf(await fetchPage(site, input)).map(({ sumInclusionDelay }) => sumInclusionDelay)
        const there = sums.filter((sum) => sum !== null)
        same(
          there,
          there.map(Number).toSorted((a, b) => a - b),
          'sortBy=sumInclusionDelay is not sorted',
        )
      }
    },
  },
  {
    id: 'validators.single.bounds',
    rule: 'behaviour/validators.md#records-of-one-validator',
    requirement: 'both bounds are included; a beginning after the end is refused',
    async run(site) {
      const { fromDay, toDay } = await firstDays(site)
      const both = resultsOf(await fetchPage(site, { fromDay, toDay, limit: 1000 })).map(({ day }) => day)
      expect(both[0] === fromDay, `the first day is ${both[0]}, not ${fromDay}`)
      expect(both.at(-1) === toDay, `the last day is ${both.at(-1)}, not ${toDay}`)
      const one = resultsOf(await fetchPage(site, { fromDay: toDay, toDay }))
      expect(one.length === 1 && one[0]?.day === toDay, 'one day asked for is not one day given')
      const [index] = await validatorsOf(site)
      const inverted = await site.call(id, { validator_index_or_pubkey: index, fromDay: 5, toDay: 4 })
      refusal(id, inverted, 'input.invalid')
      namesInput(inverted, 'fromDay')
    },
  },
  {
    id: 'validators.single.utc',
    rule: 'spec 4.6',
    requirement: 'utc=true counts UTC days: each begins with the first epoch after midnight',
    async run(site) {
      // The first day may have been read in part.
      for (const { date, startTimestamp, endTimestamp, startEpoch, endEpoch } of resultsOf(
        await fetchPage(site, { utc: true }),
      ).slice(1)) {
        const [startMs, endMs] = [Date.parse(String(startTimestamp)), Date.parse(String(endTimestamp))]
        const epochMs = (endMs - startMs) / (Number(endEpoch) - Number(startEpoch) + 1)
        const lateMs = startMs - Date.parse(`${date}T00:00:00Z`)
        expect(lateMs >= 0 && lateMs < epochMs, `day ${date} begins at ${startTimestamp}`)
      }
    },
  },
  {
    id: 'validators.single.inputs',
    rule: 'behaviour/validators.md#page-limits',
    requirement: 'limits, offsets, dates and fields outside their range are refused and named',
    async run(site) {
      const [index] = await validatorsOf(site)
      const wrong: readonly (readonly [string, unknown])[] = [
        ['limit', 0],
        ['limit', 1001],
        ['offset', -1],
        ['fromDate', '2026-02-30'],
        ['sortBy', 'date'],
        ['sortOrder', 'sideways'],
        ['granularity', 'decade'],
        ['utc', 'maybe'],
      ]
      for (const [name, value] of wrong) {
        const answered = await site.call(id, { validator_index_or_pubkey: index, [name]: value })
        refusal(id, answered, 'input.invalid')
        namesInput(answered, name)
      }
    },
  },
  {
    id: 'validators.single.who',
    rule: 'spec 4.6',
    requirement: 'a validator is named by index or by public key; an unknown one is not found',
    async run(site) {
      const [index] = await validatorsOf(site)
      const { validatorPubkey } = expectReply(metadata, await site.call(metadata, { validator_index_or_pubkey: index }))
      const question = { ...(await firstDays(site)), limit: 5 }
      const byKey = await fetchPage(site, { ...question, validator_index_or_pubkey: validatorPubkey })
      same(byKey.results, (await fetchPage(site, question)).results, 'the public key gives other records')
      refusal(id, await site.call(id, { validator_index_or_pubkey: '999999999999' }), 'record.unknown')
    },
  },
]
