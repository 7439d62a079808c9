// One market by its slug, spec 4.8.
import { type Checks, expect, expectReply, expectSame, type Members, Skipped, toList } from '../check.ts'
import { slugOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const id = 'markets.bySlug'

/** Every field is optional in the contract, but a market has an id. */
async function fetchMarket(server: ServerUnderTest, input: Members = {}): Promise<Members> {
  const record = await server.fetchReply(id, { slug: await slugOf(server), ...input }, { key: null })
  expect(typeof record.id === 'string', 'the market has no id')
  return record
}

export const marketChecks: Checks = {
  'markets.record': {
    rule: 'spec 4.8',
    requirement: 'a market matches the contract and has an id, a slug and a question',
    async run(server) {
      const record = await fetchMarket(server)
      for (const name of ['id', 'slug', 'question'])
        expect(typeof record[name] === 'string' && record[name] !== '', `${name} is missing`)
    },
  },
  'markets.slug': {
    rule: 'spec 4.8',
    requirement: 'the market has the requested slug, now or as a past slug',
    async run(server) {
      const slug = await slugOf(server)
      const { slug: currentSlug, pastSlugs } = await fetchMarket(server)
      expect(currentSlug === slug || String(pastSlugs ?? '').includes(slug), `requested ${slug}, got ${currentSlug}`)
    },
  },
  'markets.open': {
    rule: 'spec 5',
    requirement: 'no key is required, and a key changes nothing',
    async run(server) {
      const withKey = await server.fetchReply(id, { slug: await slugOf(server) })
      expectSame(withKey, await fetchMarket(server), 'a key changes the response')
    },
  },
  'markets.values': {
    rule: 'behaviour/markets.md#fields-without-a-value',
    requirement: 'fields without a value are omitted',
    async run(server) {
      const nulls = findNulls(await fetchMarket(server), 'reply')
      expect(nulls.length === 0, `${nulls.join(', ')}: null`)
    },
  },
  'markets.references': {
    rule: 'behaviour/markets.md#references',
    requirement: 'markets inside an event are references, and a series inside an event has no events',
    async run(server) {
      const events = toList((await fetchMarket(server)).events ?? [], 'events')
      for (const event of events) {
        for (const market of toList(event.markets ?? [], 'markets'))
          expect(hasOnly(market, ['id', 'slug', 'question']), 'a market inside an event has more than a reference')
        for (const series of toList(event.series ?? [], 'series'))
          expect(series.events === undefined, 'a series inside an event has events')
      }
    },
  },
  'markets.tags': {
    rule: 'behaviour/markets.md#tags',
    requirement: 'tags are included unless include_tag=false',
    async run(server) {
      const { tags, ...rest } = await fetchMarket(server)
      const withoutTags = await fetchMarket(server, { include_tag: false })
      expectSame(withoutTags, rest, 'include_tag=false changes more than the tags')
      if (tags === undefined) throw new Skipped('the sample market has no tags')
      expectSame((await fetchMarket(server, { include_tag: true })).tags, tags, 'include_tag=true is not the default')
    },
  },
  'markets.unchanged': {
    rule: 'behaviour/markets.md#caching',
    requirement: 'etag and last-modified support conditional requests',
    async run(server) {
      const slug = await slugOf(server)
      const { headers } = await server.call(id, { slug }, { key: null })
      const etag = headers.get('etag')
      const modified = headers.get('last-modified')
      expect(etag !== null && modified !== null, `etag is ${etag}, last-modified ${modified}`)
      expect(/max-age=\d+/.test(headers.get('cache-control') ?? ''), `cache-control is ${headers.get('cache-control')}`)
      for (const [name, value] of [
        ['if-none-match', etag],
        ['if-modified-since', modified],
      ] as const) {
        const again = await server.call(id, { slug }, { key: null, headers: { [name]: value } })
        expectSame([again.status, again.text], [304, ''], `${name}: ${again.status} instead of 304`)
      }
      const other = await server.call(id, { slug }, { key: null, headers: { 'if-none-match': '"another"' } })
      expect(other.status === 200, `a different etag returns ${other.status}`)
    },
  },
  'markets.past-slugs': {
    rule: 'behaviour/markets.md#past-slugs',
    requirement: 'a past slug returns the market, with its current path in content-location',
    async run(server) {
      const record = await fetchMarket(server)
      const [past] = pastSlugsOf(record.pastSlugs)
      if (past === undefined) throw new Skipped('the sample market has no past slug')
      const response = await server.call(id, { slug: past }, { key: null })
      expect(expectReply(id, response).id === record.id, 'the past slug returns another market')
      const location = response.headers.get('content-location') ?? ''
      expect(location.includes(`/markets/slug/${record.slug}`), `content-location is "${location}"`)
    },
  },
  'markets.unknown': {
    rule: 'behaviour/markets.md#errors',
    requirement: 'an unknown slug returns 404, a malformed one 422; slugs are case-sensitive',
    async run(server) {
      const slug = await slugOf(server)
      await server.expectFailure(id, { slug: 'no-such-market-anywhere-here' }, 'record.not_found')
      for (const malformed of ['a b', 'ä', 'a'.repeat(257), 'a/b'])
        await server.expectFailure(id, { slug: malformed }, 'input.invalid')
      const upper = slug.toUpperCase()
      if (upper !== slug) await server.expectFailure(id, { slug: upper }, 'record.not_found')
    },
  },
}

const hasOnly = (record: Members, names: readonly string[]): boolean =>
  Object.keys(record).every((name) => names.includes(name))

function findNulls(value: unknown, at: string): string[] {
  if (value === null) return [at]
  if (typeof value !== 'object') return []
  return Object.entries(value as object).flatMap(([name, member]) => findNulls(member, `${at}.${name}`))
}

/** A JSON array or a comma-separated list (behaviour/markets.md#past-slugs). */
function pastSlugsOf(text: unknown): string[] {
  if (typeof text !== 'string' || text === '') return []
  try {
    const list: unknown = JSON.parse(text)
    if (Array.isArray(list)) return list.map(String)
  } catch {
    // Not JSON: a comma-separated list.
  }
  return text.split(',').map((word) => word.trim())
}
