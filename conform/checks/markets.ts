// One market by its slug, spec 4.8.
import { type Check, claim, listOf, type Members, refusal, reply, Skipped, same } from '../check.ts'
import { slugOf } from '../samples.ts'
import type { Site } from '../site.ts'

const id = 'markets.bySlug'

/** Every field may be missing, but a market without an id is none. */
async function market(site: Site, input: Members = {}): Promise<Members> {
  const record = reply(id, await site.ask(id, { slug: await slugOf(site), ...input }, { key: null }))
  claim(typeof record.id === 'string', 'the market has no id')
  return record
}

export const marketChecks: readonly Check[] = [
  {
    id: 'markets.record',
    rule: 'spec 4.8',
    says: 'a market fits the contract and says who it is',
    async run(site) {
      const record = await market(site)
      for (const name of ['id', 'slug', 'question'])
        claim(typeof record[name] === 'string' && record[name] !== '', `${name} is missing`)
    },
  },
  {
    id: 'markets.slug',
    rule: 'spec 4.8',
    says: 'the market has the slug it was asked by, now or in the past',
    async run(site) {
      const slug = await slugOf(site)
      const { slug: present, pastSlugs } = await market(site)
      claim(present === slug || String(pastSlugs ?? '').includes(slug), `asked for ${slug}, got ${present}`)
    },
  },
  {
    id: 'markets.open',
    rule: 'spec 5',
    says: 'no key is asked for, and one that is shown does no harm',
    async run(site) {
      same(reply(id, await site.ask(id, { slug: await slugOf(site) })), await market(site), 'a key changes the answer')
    },
  },
  {
    id: 'markets.values',
    rule: 'decision 0040',
    says: 'fields without a value are left out',
    async run(site) {
      const empty = nulls(await market(site), 'reply')
      claim(empty.length === 0, `${empty.join(', ')}: null`)
    },
  },
  {
    id: 'markets.references',
    rule: 'decision 0041',
    says: 'markets inside an event, and events inside a series, are references',
    async run(site) {
      const events = listOf((await market(site)).events ?? [], 'events')
      for (const event of events) {
        for (const one of listOf(event.markets ?? [], 'markets'))
          claim(
            Object.keys(one).every((name) => ['id', 'slug', 'question'].includes(name)),
            'a market is no reference',
          )
        for (const series of listOf(event.series ?? [], 'series'))
          for (const one of listOf(series.events ?? [], 'events'))
            claim(
              Object.keys(one).every((name) => ['id', 'slug', 'title'].includes(name)),
              'an event is no reference',
            )
      }
    },
  },
  {
    id: 'markets.tags',
    rule: 'decision 0043',
    says: 'tags are there unless include_tag=false',
    async run(site) {
      const { tags, ...rest } = await market(site)
      same(await market(site, { include_tag: false }), rest, 'include_tag=false changes more than the tags')
      if (tags === undefined) throw new Skipped('the sample market has no tags')
      same((await market(site, { include_tag: true })).tags, tags, 'include_tag=true is not the default')
    },
  },
  {
    id: 'markets.unchanged',
    rule: 'decision 0111',
    says: 'etag and last-modified let a caller ask whether anything changed',
    async run(site) {
      const slug = await slugOf(site)
      const { headers } = await site.ask(id, { slug }, { key: null })
      const etag = headers.get('etag')
      const modified = headers.get('last-modified')
      claim(etag !== null && modified !== null, `etag is ${etag}, last-modified ${modified}`)
      claim(/max-age=\d+/.test(headers.get('cache-control') ?? ''), `cache-control is ${headers.get('cache-control')}`)
      for (const [name, value] of [
        ['if-none-match', etag],
        ['if-modified-since', modified],
      ] as const) {
        const again = await site.ask(id, { slug }, { key: null, headers: { [name]: value } })
        claim(again.status === 304 && again.text === '', `${name}: ${again.status} instead of 304`)
      }
      const other = await site.ask(id, { slug }, { key: null, headers: { 'if-none-match': '"another"' } })
      claim(other.status === 200, `another etag gives ${other.status}`)
    },
  },
  {
    id: 'markets.past-slugs',
    rule: 'decision 0042',
    says: 'a past slug answers the market and names its present path',
    async run(site) {
      const record = await market(site)
      const [past] = pastSlugsOf(record.pastSlugs)
      if (past === undefined) throw new Skipped('the sample market has no past slug')
      const answered = await site.ask(id, { slug: past }, { key: null })
      claim(reply(id, answered).id === record.id, 'another market is answered')
      const where = answered.headers.get('content-location') ?? ''
      claim(where.includes(`/markets/slug/${record.slug}`), `content-location is "${where}"`)
    },
  },
  {
    id: 'markets.unknown',
    rule: 'decision 0045',
    says: 'an unknown slug is a 404, a malformed one a 422; slugs are case-sensitive',
    async run(site) {
      const slug = await slugOf(site)
      refusal(id, await site.ask(id, { slug: 'no-such-market-anywhere-here' }), 'record.unknown')
      for (const malformed of ['a b', 'ä', 'a'.repeat(257), 'a/b'])
        refusal(id, await site.ask(id, { slug: malformed }), 'input.invalid')
      const upper = slug.toUpperCase()
      if (upper !== slug) refusal(id, await site.ask(id, { slug: upper }), 'record.unknown')
    },
  },
]

function nulls(value: unknown, at: string): string[] {
  if (value === null) return [at]
  if (typeof value !== 'object') return []
  return Object.entries(value as object).flatMap(([name, member]) => nulls(member, `${at}.${name}`))
}

/** JSON or words with commas between (decision 0042). */
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
