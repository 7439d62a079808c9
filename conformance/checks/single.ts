// Effectiveness of one validator over time, spec 4.6.
import { type Checks, expect, expectProblemWith, expectSame, type Members, Skipped, toList } from '../check.ts'
import { validatorOf, validatorsOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'validators.effectiveness'
const metadata = 'validators.metadata'

const resultsOf = (page: Members): readonly Members[] => toList(page.results, 'results')

const fetchPage = async (server: ServerUnderTest, input: Members = {}): Promise<Members> =>
  server.fetchReply(id, { ...(await validatorOf(server)), ...input })

/** The bounds of the first page of days, requested with defaults only. */
async function firstDays(server: ServerUnderTest): Promise<Members> {
  const first = resultsOf(await fetchPage(server))
  if (first.length < 2) throw new Skipped('the sample validator has fewer than two records')
  return { fromDay: first[0]?.day, toDay: first.at(-1)?.day }
}

export const singleChecks: Checks = {
  'validators.single.page': {
    rule: 'spec 4.6',
    requirement: 'a page matches the contract, for every granularity',
    async run(server) {
      for (const granularity of ['hour', 'day', 'week', 'month', 'quarter', 'year', 'all'])
        resultsOf(await fetchPage(server, { granularity, limit: 3 }))
    },
  },
  'validators.single.defaults': {
    rule: 'spec 4.6',
    requirement: 'defaults: limit 10, offset 0, utc false, sortOrder asc, granularity day',
    async run(server) {
      const defaults = { limit: 10, offset: 0, utc: false, sortOrder: 'asc', granularity: 'day' }
      const [plain, full] = [await fetchPage(server), await fetchPage(server, defaults)]
      for (const name of ['results', 'pages'])
        expectSame(plain[name], full[name], `${name} differs from that of a request with explicit defaults`)
      expect(resultsOf(plain).length <= 10, 'there are more than 10 records')
    },
  },
  'validators.single.pages': {
    rule: 'spec 4.6',
    requirement: 'all pages together contain every record once; previous, next and pages are correct',
    async run(server) {
      const query = await firstDays(server)
      const all = resultsOf(await fetchPage(server, { ...query, limit: 1000 }))
      const pages = await server.fetchPages(id, { ...(await validatorOf(server)), ...query, limit: 3 })
      for (const [at, page] of pages.entries()) {
        expect((page.previous === null) === (at === 0), `previous of page ${at + 1} is ${page.previous}`)
        expect(page.pages === Math.ceil(all.length / 3), `pages is ${page.pages} for ${all.length} records`)
      }
      expectSame(pages.flatMap(resultsOf), all, 'pages of 3 contain other records than one large page')
    },
  },
  'validators.single.links': {
    rule: 'behaviour/validators.md#records-of-one-validator',
    requirement: 'previous and next are absolute URLs without a key',
    async run(server) {
      const query = await firstDays(server)
      const { next, previous } = await fetchPage(server, { ...query, limit: 1, offset: 1 })
      for (const link of [next, previous]) {
        if (link === null) continue
        expect(URL.canParse(String(link)), `${link} is not an absolute URL`)
        expect(!String(link).includes(server.options.key), 'a link contains the key')
      }
    },
  },
  'validators.single.order': {
    rule: 'spec 4.6',
    requirement: 'ascending by default; sortBy orders by any numeric field',
    async run(server) {
      const query = { ...(await firstDays(server)), limit: 1000 }
      const days = (page: Members) => resultsOf(page).map(({ day }) => Number(day))
      const up = days(await fetchPage(server, query))
      const ascending = up.toSorted((a, b) => a - b)
      expectSame(up, ascending, 'days do not ascend')
      const down = days(await fetchPage(server, { ...query, sortOrder: 'desc' }))
      expectSame(down, up.toReversed(), 'desc is not the reverse of asc')
      // Check all samples: a validator without missed duties has the same figures every day.
      for (const index of await validatorsOf(server)) {
        const input = { validator_index_or_pubkey: index, limit: 1000, sortBy: 'sumInclusionDelay' }
        const sums = resultsOf(await fetchPage(server, input)).map(({ sumInclusionDelay }) => sumInclusionDelay)
        const values = sums.filter((sum) => sum !== null)
        const sorted = values.map(Number).toSorted((a, b) => a - b)
        expectSame(values, sorted, 'sortBy=sumInclusionDelay is not sorted')
      }
    },
  },
  'validators.single.bounds': {
    rule: 'behaviour/validators.md#records-of-one-validator',
    requirement: 'both bounds are inclusive; a start after the end is refused',
    async run(server) {
      const { fromDay, toDay } = await firstDays(server)
      const days = resultsOf(await fetchPage(server, { fromDay, toDay, limit: 1000 })).map(({ day }) => day)
      expect(days[0] === fromDay, `the first day is ${days[0]}, not ${fromDay}`)
      expect(days.at(-1) === toDay, `the last day is ${days.at(-1)}, not ${toDay}`)
      const oneDay = resultsOf(await fetchPage(server, { fromDay: toDay, toDay }))
      expect(oneDay.length === 1 && oneDay[0]?.day === toDay, 'a request for one day does not return one day')
      const inverted = { ...(await validatorOf(server)), fromDay: 5, toDay: 4 }
      expectProblemWith(await server.expectFailure(id, inverted, 'input.invalid'), 'fromDay')
    },
  },
  'validators.single.utc': {
    rule: 'spec 4.6',
    requirement: 'utc=true returns UTC days, which start with the first epoch after midnight',
    async run(server) {
      // Skip the first day: it may be incomplete.
      for (const { date, startTimestamp, endTimestamp, startEpoch, endEpoch } of resultsOf(
        await fetchPage(server, { utc: true }),
      ).slice(1)) {
        const [startMs, endMs] = [Date.parse(String(startTimestamp)), Date.parse(String(endTimestamp))]
        const epochMs = (endMs - startMs) / (Number(endEpoch) - Number(startEpoch) + 1)
        const lateMs = startMs - Date.parse(`${date}T00:00:00Z`)
        expect(lateMs >= 0 && lateMs < epochMs, `day ${date} starts at ${startTimestamp}`)
      }
    },
  },
  'validators.single.inputs': {
    rule: 'behaviour/validators.md#page-limits',
    requirement: 'invalid limits, offsets, dates and fields are refused, and the error names the parameter',
    async run(server) {
      const validator = await validatorOf(server)
      const invalid: readonly (readonly [string, unknown])[] = [
        ['limit', 0],
        ['limit', 1001],
        ['offset', -1],
        ['fromDate', '2026-02-30'],
        ['sortBy', 'date'],
        ['sortOrder', 'sideways'],
        ['granularity', 'decade'],
        ['utc', 'maybe'],
      ]
      for (const [name, value] of invalid) {
        const response = await server.expectFailure(id, { ...validator, [name]: value }, 'input.invalid')
        expectProblemWith(response, name)
      }
    },
  },
  'validators.single.selection': {
    rule: 'spec 4.6',
    requirement: 'a validator is selected by index or by public key; an unknown one is not found',
    async run(server) {
      const { validatorPubkey } = await server.fetchReply(metadata, await validatorOf(server))
      const query = { ...(await firstDays(server)), limit: 5 }
      const byKey = await fetchPage(server, { ...query, validator_index_or_pubkey: validatorPubkey })
      expectSame(byKey.results, (await fetchPage(server, query)).results, 'the public key returns other records')
      await server.expectFailure(id, { validator_index_or_pubkey: '999999999999' }, 'record.not_found')
    },
  },
}
