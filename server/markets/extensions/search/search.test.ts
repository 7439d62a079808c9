import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createClient } from '#api/client/client.ts'
import { extensions } from '#api/contract/extensions.ts'
import { MarketsFailure } from '#api/contract/wire/markets.ts'
import { checker } from '#core/schema-check.ts'
import type { Context } from '#http/context.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { openContext, settingsWith, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { listsOf } from '#test/lists-of.ts'
import type { MarketRecord } from '../../records/normalize.ts'
import { putMarkets } from '../../write/put-markets.ts'
import { splitAndCutWords } from '../../write/search-rows.ts'
import { findBestMatches, search, searchWords } from './search.ts'

const tag = (id: string, label: string): MarketRecord => ({
  kind: 'tag',
  id,
  fields: { id, label, slug: label.toLowerCase().replaceAll(' ', '-') },
  links: {},
})

const market = (id: string, question: string, more: object = {}, links: MarketRecord['links'] = {}): MarketRecord => ({
  kind: 'market',
  id,
  links,
  fields: { id, question, slug: splitAndCutWords(question).join('-'), active: true, closed: false, ...more },
})

const put = (context: Context, records: readonly MarketRecord[], nowMs = testNowMs) =>
  context.ingest.write((tx) => putMarkets(tx, records, nowMs))

const harbourMarkets = [
  tag('1', 'City Works'),
  tag('2', 'Élections'),
  { ...market('e', ''), kind: 'event', id: '9', fields: { id: '9', slug: 'e', title: 'E' }, links: { tags: ['2'] } },
  market('501', 'Will the harbour bridge open on time?', { volumeNum: 100 }, { tags: ['1'], events: ['9'] }),
  market('502', 'Will the harbour freeze?', { volumeNum: 900, closed: true }),
  market('503', 'Rain in the harbour on Friday?', { volumeNum: 50 }),
  market('504', 'Training day: São Paulo 10%', { volumeNum: 7 }),
  market('505', 'Bridge over the gorge', { volume: '250.75', archived: true }),
] as MarketRecord[]

async function idsOf(context: TestContext, q: string, limit = 50): Promise<string[]> {
  return findBestMatches(await listsOf(context), searchWords(q), limit)
}

describe('200', () => {
  test('every word matches the start of a word of question, slug or tags; open markets first, then by volume', async () => {
    await using context = await openContext()
    await put(context, harbourMarkets)
    const cases: readonly [q: string, ids: string[]][] = [
      ['harbour', ['501', '503', '502']],
      ['HARB will', ['501', '502']],
      ['bridge', ['501', '505']],
      // "train" contains "rain", but does not start with it
      ['rain', ['503']],
      ['works', ['501']],
      ['elections', ['501']],
      ['ÉLECTIONS bridge', ['501']],
      ['sao', ['504']],
      ['10%', ['504']],
      ['_ % \' "', ['501', '503', '504']],
      ['harbour nowhere', []],
    ]
    for (const [q, ids] of cases) assert.deepEqual(await idsOf(context, q), ids, q)
    assert.deepEqual(await idsOf(context, 'harbour', 1), ['501'])
  })

  test('without words: open markets by volume', async () => {
    await using context = await openContext()
    await put(context, harbourMarkets)
    assert.deepEqual(await idsOf(context, ''), ['501', '503', '504'])
    assert.deepEqual(await idsOf(context, '', 2), ['501', '503'])
  })

  test('a result has the fields to choose by', async () => {
    await using context = await openContext()
    await put(context, harbourMarkets)
    const outcome = await search.handle({ q: 'freeze', limit: 20 }, context, testRequestInfo())
    assert.deepEqual(outcome, {
      is: 'body',
      body: {
        markets: [
          {
            id: '502',
            slug: 'will-the-harbour-freeze',
            question: 'Will the harbour freeze?',
            open: false,
            volumeNum: 900,
          },
        ],
      },
      confidence: { coverage: 'complete' },
    })
  })

  test('a changed market is found by its new words and rank, and not by the old ones', async () => {
    await using context = await openContext()
    await put(context, harbourMarkets)
    await put(context, [market('503', 'Snow at the quay?', { volumeNum: 5000 }), tag('1', 'Town Works')], testNowMs + 1)
    assert.deepEqual(await idsOf(context, 'rain'), [])
    assert.deepEqual(await idsOf(context, 'snow quay'), ['503'])
    assert.deepEqual(await idsOf(context, 'town'), ['501'])
    assert.deepEqual(await idsOf(context, 'city'), [])
    assert.deepEqual(await idsOf(context, ''), ['503', '501', '504'])
    const rows = await context.ingest.all('select market_id from market_search')
    assert.equal(rows.length, 5)
  })

  test('very common words are searched by rank', async () => {
    await using context = await openContext()
    const many = Array.from({ length: 2500 }, (_, at) =>
      market(String(at), 'Will it?', { slug: `m-${at}`, volumeNum: at }),
    )
    await context.ingest.write((tx) => putMarkets(tx, [...many, market('x', 'Will it too?')], testNowMs))
    assert.deepEqual(await idsOf(context, 'will', 3), ['2499', '2498', '2497'])
    assert.deepEqual(await idsOf(context, 'will too'), ['x'])
    assert.deepEqual(await idsOf(context, 'will it', 2), ['2499', '2498'])
    assert.equal((await idsOf(context, 'wi', 50)).length, 50)
  })
})

describe('over HTTP', () => {
  test('200, 422 and 429: the client finds markets, and limits are enforced with a reason', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-search-'))
    const settings = settingsWith({ server: { port: 0, anonymousPerSecond: 10 } })
    // All calls are within one second, however slow the machine is.
    const clock = { ...systemClock, monotonicMs: () => 0 }
    const server = await startServer({ settings, dataDir: dir, log: silentLog, clock })
    try {
      await server.context.ingest.write((tx) => putMarkets(tx, harbourMarkets, testNowMs))
      const client = createClient({ baseUrl: server.url, retries: 0 })
      const { markets } = await client.markets.search({ q: 'harbour bridge' })
      assert.deepEqual(
        markets.map(({ id, open }) => [id, open]),
        [['501', true]],
      )
      assert.deepEqual(checker(extensions['markets.search'].reply)({ markets }), [])
      const request = (query: string) => fetch(`${server.url}/markets/search?${query}`)
      for (const query of ['limit=501', 'limit=0', `q=${'x'.repeat(201)}`]) {
        const refused = await request(query)
        assert.equal(refused.status, 422, query)
        assert.deepEqual(checker(MarketsFailure)(await refused.json()), [])
      }
      const many = await Promise.all(Array.from({ length: 12 }, () => request('q=rain')))
      assert.ok(many.filter(({ status }) => status === 429).length >= 2)
    } finally {
      await server.close()
      await rm(dir, { recursive: true, force: true })
    }
  })
})

test('a search gives the same result as comparing every market', async () => {
  const word = fc.constantFrom('harbour', 'harb', 'bridge', 'open', 'Rain', 'über', 'uber', '2026', 'x')
  const sentence = fc.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(' '))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ question: sentence, volumeNum: fc.nat(20), closed: fc.boolean() }), { maxLength: 25 }),
      sentence,
      async (markets, q) => {
        await using context = await openContext()
        const records = markets.map((one, at) => market(String(100 + at), one.question, { ...one, slug: `m${at}` }))
        await put(context, records)
        const wanted = splitAndCutWords(q)
        const expected = records
          .map(({ id, fields }) => ({ id, ...(fields as { question: string; volumeNum: number; closed: boolean }) }))
          .filter(({ question }) =>
            wanted.every((one) => splitAndCutWords(question).some((word) => word.startsWith(one))),
          )
          .toSorted(
            (a, b) => Number(a.closed) - Number(b.closed) || b.volumeNum - a.volumeNum || (a.id < b.id ? 1 : -1),
          )
          .map(({ id }) => id)
        assert.deepEqual(await idsOf(context, q), expected)
      },
    ),
    { numRuns: 15 },
  )
})
