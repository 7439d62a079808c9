// One market by its slug, spec 4.8.
import { type Check, expect, expectReply, type Members, refusal, Skipped, same, toList } from '../check.ts'
import { slugOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'markets.bySlug'

/** Every field may be missing, but a market without an id is none. */
async function fetchMarket(site: ServerUnderTest, input: Members = {}): Promise<Members> {
  const record = expectReply(id, await site.call(id, { slug: await slugOf(site), ...input }, { key: null }))
  expect(typeof record.id === 'string', 'the market has no id')
  return record
}

export const marketChecks: readonly Check[] = [
  {
    id: 'markets.record',
    rule: 'spec 4.8',
    requirement: 'a market fits the contract and says who it is',
    async run(site) {
      const record = await fetchMarket(site)
      for (const name of ['id', 'slug', 'question'])
        expect(typeof record[name] === 'string' && record[name] !== '', `${name} is missing`)
    },
  },
  {
    id: 'markets.slug',
    rule: 'spec 4.8',
    requirement: 'the market has the slug it was asked by, now or in the past',
    async run(site) {
      const slug = await slugOf(site)
      const { slug: present, pastSlugs } = await fetchMarket(site)
      expect(present === slug || String(pastSlugs ?? '').includes(slug), `asked for ${slug}, got ${present}`)
    },
  },
  {
    id: 'markets.open',
    rule: 'spec 5',
    requirement: 'no key is asked for, and one that is shown does no harm',
    async run(site) {
      same(
        expectReply(id, await site.call(id, { slug: await slugOf(site) })),
        await fetchMarket(site),
        'a key changes the answer',
      )
    },
  },
  {
    id: 'markets.values',
    rule: 'behaviour/markets.md#fields-without-a-value',
    requirement: 'fields without a value are left out',
    async run(site) {
      const empty = nulls(await fetchMarket(site), 'reply')
      expect(empty.length === 0, `${empty.join(', ')}: null`)
    },
  },
  {
    id: 'markets.references',
    rule: 'behaviour/markets.md#references',
    requirement: 'markets inside an event, and events inside a series, are references',
    async run(site) {
      const events = toList((await fetchMarket(site)).events ?? [], 'events')
      for (const event of events) {
        for (const one of toList(event.markets ?? [], 'markets'))
          expect(
            Object.keys(one).every((name) => ['id', 'slug', 'question'].includes(name)),
            'a market is no reference',
          )
        for (const series of toList(event.series ?? [], 'series'))
          for (const one of toList(series.events ?? [], 'events'))
            expect(
              Object.keys(one).every((name) => ['id', 'slug', 'title'].includes(name)),
              'an event is no reference',
            )
      }
    },
  },
  {
    id: 'markets.tags',
    rule: 'behaviour/markets.md#tags',
    requirement: 'tags are there unless include_tag=false',
    async run(site) {
      const { tags, ...rest } = await fetchMarket(site)
      same(await fetchMarket(site, { include_tag: false }), rest, 'include_tag=false changes more than the tags')
      if (tags === undefined) throw new Skipped('the sample market has no tags')
      same((await fetchMarket(site, { include_tag: true })).tags, tags, 'include_tag=true is not the default')
    },
  },
  {
    id: 'markets.unchanged',
    rule: 'behaviour/markets.md#caching',
    requirement: 'etag and last-modified let a caller ask whether anything changed',
    async run(site) {
      const slug = await slugOf(site)
      const { headers } = await site.call(id, { slug }, { key: null })
      const etag = headers.get('etag')
      const modified = headers.get('last-modified')
      expect(etag !== null && modified !== null, `etag is ${etag}, last-modified ${modified}`)
      expect(/max-age=\d+/.test(headers.get('cache-control') ?? ''), `cache-control is ${headers.get('cache-control')}`)
      for (const [name, value] of [
        ['if-none-match', etag],
        ['if-modified-since', modified],
      ] as const) {
        const again = await site.call(id, { slug }, { key: null, headers: { [name]: value } })
        expect(again.status === 304 && again.text === '', `${name}: ${again.status} instead of 304`)
      }
      const other = await site.call(id, { slug }, { key: null, headers: { 'if-none-match': '"another"' } })
      expect(other.status === 200, `another etag gives ${other.status}`)
    },
  },
  {
    id: 'markets.past-slugs',
    rule: 'behaviour/markets.md#past-slugs',
    requirement: 'a past slug answers the market and names its present path',
    async run(site) {
      const record = await fetchMarket(site)
      const [past] = pastSlugsOf(record.pastSlugs)
      if (past === undefined) throw new Skipped('the sample market has no past slug')
      const answered = await site.call(id, { slug: past }, { key: null })
      expect(expectReply(id, answered).id === record.id, 'another market is answered')
      const where = answered.headers.get('content-location') ?? ''
      expect(where.includes(`/markets/slug/${record.slug}`), `content-location is "${where}"`)
    },
  },
  {
    id: 'markets.unknown',
    rule: 'behaviour/markets.md#errors',
    requirement: 'an unknown slug is a 404, a malformed one a 422; slugs are case-sensitive',
    async run(site) {
      const slug = await slugOf(site)
      refusal(id, await site.call(id, { slug: 'no-such-market-anywhere-here' }), 'record.unknown')
      for (const malformed of ['a b', 'ä', 'a'.repeat(257), 'a/b'])
        refusal(id, await site.call(id, { slug: malformed }), 'input.invalid')
      const upper = slug.toUpperCase()
      if (upper !== slug) refusal(id, await site.call(id, { slug: upper }), 'record.unknown')
    },
  },
]

function nulls(value: unknown, at: string): string[] {
  if (value === null) return [at]
  if (typeof value !== 'object') return []
  return Object.entries(value as object).flatMap(([name, member]) => nulls(member, `${at}.${name}`))
}

/** JSON or words with commas between (behaviour/markets.md#past-slugs). */
function pastSlugsOf(text: unknown): string[] {
  if (typeof text !== 'string' || text === '') return []
  try {
    const list: unknown = JSON.parse(text)
    if (Array.isArray(list)) return list.map(String)
  } catch {
    // Then it is the other form.
  }
  return text.split(',').map((word) => word.trim())
}
