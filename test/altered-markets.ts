// A market feed that alters one answer. Meanwhile, no listed market is reported as not found or vanished, and after the
// feed has recovered, the responses equal those of a server that read the feed only then.
import assert from 'node:assert/strict'
import { Fault } from '#core/fault.ts'
import type { MarketsContext } from '#markets/context.ts'
import { bySlug } from '#markets/endpoints/by-slug.ts'
import { readFeed } from '#markets/feeds/read-feed.ts'
import { createSeededRandom, type SeededRandom } from '#simulator/seeded-random.ts'
import type { AlterationReport } from './altered-answer.ts'
import type { AlteredRun } from './altered-seeds.ts'
import { type AnswerServer, serveAnswers } from './altering-proxy.ts'
import { openContext, settingsWith, testNowMs, testRequestInfo } from './context.ts'
import { JumpingClock } from './jumping-clock.ts'

export const marketWorlds = 20
const stepMs = 60_000

interface SimulatedMarket {
  readonly id: string
  readonly slug: string
  readonly question: string
  readonly active: boolean
  readonly volume: string
  readonly outcomePrices: string
  readonly tags: readonly object[]
  readonly updatedAt: string
}

const styles = [
  { paging: { kind: 'offset', size: 3, overlap: 1 } },
  { paging: { kind: 'offset', size: 4, overlap: 0 }, recent: { since: 'since' } },
  { paging: { kind: 'keyset', size: 3 }, list: 'data', recent: { since: 'since' } },
] as const

/** A few markets; some of them change with every step, and one is added. */
export class MarketWorld {
  readonly clock = new JumpingClock(testNowMs)
  readonly style: (typeof styles)[number]
  readonly #draws: SeededRandom
  readonly markets: SimulatedMarket[] = []
  /** When each market was listed first, by slug. */
  readonly listedMs = new Map<string, number>()
  #steps = 0

  constructor(number: number) {
    this.#draws = createSeededRandom(`market world ${number}`)
    this.style = styles[number % styles.length] as (typeof styles)[number]
    const count = this.#draws.whole(5, 10)
    while (this.markets.length < count) this.#add()
  }

  step(): void {
    this.#steps += 1
    this.clock.advance(stepMs)
    for (const [at, market] of this.markets.entries())
      if (this.#draws.happens(0.3)) this.markets[at] = { ...market, ...this.#changes() }
    this.#add()
  }

  answer(path: string): { body: string } {
    const query = new URL(path, 'http://feed').searchParams
    const since = Date.parse(query.get('since') ?? '')
    const cursor = query.get('cursor')
    const from = Number(query.get('offset') ?? 0)
    const listed = this.markets
      .filter(({ updatedAt }) => !(Date.parse(updatedAt) < since))
      .filter(({ id }) => cursor === null || Number(id) > Number(cursor))
    const page = listed.slice(from, from + Number(query.get('limit')))
    if (this.style.paging.kind === 'offset') return { body: JSON.stringify(page) }
    const next = page.length < listed.length ? page.at(-1)?.id : null
    return { body: JSON.stringify({ data: page, next_cursor: next }) }
  }

  #add(): void {
    const id = String(this.markets.length + 1)
    this.listedMs.set(`market-${id}`, this.clock.now())
    const tag = this.#draws.whole(1, 4)
    this.markets.push({
      ...{ id, slug: `market-${id}`, question: `Question ${id}?`, active: true },
      ...{ tags: [{ id: String(tag), slug: `tag-${tag}`, label: `Tag ${tag}` }] },
      ...this.#changes(),
    })
  }

  #changes(): Pick<SimulatedMarket, 'volume' | 'outcomePrices' | 'updatedAt'> {
    const price = this.#draws.whole(1, 100)
    return {
      volume: `${this.#draws.whole(1, 1_000_000)}.25`,
      outcomePrices: JSON.stringify([String(price / 100), String(1 - price / 100)]),
      // Not the clock, which moves while a page is retried.
      updatedAt: new Date(testNowMs + this.#steps * stepMs - 1000).toISOString(),
    }
  }
}

async function openReader(server: AnswerServer, { clock, style }: MarketWorld) {
  const database = await openContext()
  const feed = { id: 'main', url: server.url, perSecond: 1000, fullEveryMs: 600_000, ...style }
  const settings = settingsWith({ markets: { feeds: [feed] } })
  const context: MarketsContext = { ...database, clock, settings }
  const [source = assert.fail()] = settings.markets.feeds
  return {
    pass: (full: boolean) => readFeed(context, source, { holder: 'test', full, signal: AbortSignal.timeout(60_000) }),
    /** The response; otherwise the code of the fault, or up to which time the feed did not list the market. */
    async ask(slug: string): Promise<string | number> {
      try {
        const outcome = await bySlug.handle({ slug, include_tag: true }, context, testRequestInfo())
        const { confidence } = outcome.is === 'nothing' ? outcome : {}
        if (outcome.is === 'nothing' && confidence?.coverage !== 'complete') return 'incomplete'
        if (outcome.is === 'nothing') return Date.parse(String(confidence?.asOf))
        return outcome.is === 'bytes' ? Buffer.from(outcome.bytes).toString() : outcome.is
      } catch (error) {
        if (error instanceof Fault) return error.code
        throw error
      }
    },
    documents: () =>
      database.ingest.all<{ id: string; slug: string; vanished: number | null }>(
        `select id, slug, vanished_ms as vanished from market_records where kind = 'market' order by id`,
      ),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

interface CleanResponses {
  readonly responses: readonly (readonly [slug: string, response: string | number])[]
  readonly documents: readonly object[]
}

export async function openAlteredMarkets(): Promise<AsyncDisposable & { readonly run: AlteredRun }> {
  let world = new MarketWorld(0)
  const server = await serveAnswers(({ path }) => world.answer(path))
  /** What a server responds that read the feed only at the end, by world. */
  const cleanResponses = new Map<number, Promise<CleanResponses>>()
  const run: AlteredRun = async (seed, alterer) => {
    world = new MarketWorld(seed % marketWorlds)
    server.alterer = alterer
    await using reader = await openReader(server, world)
    let refusals = 0
    for (const full of [false, false, true, false]) {
      const report = await reader.pass(full).catch((error: unknown) => {
        assert.ok(error instanceof Error && !(error instanceof assert.AssertionError))
        return undefined
      })
      if (!report || report.rejected > 0 || report.absent > 0) refusals += 1
      for (const [slug, listedMs] of world.listedMs) {
        const found = await reader.ask(slug)
        assert.ok(typeof found === 'string' || found < listedMs, `${slug} is not found, as of ${found}`)
      }
      const isListed = (id: string) => world.markets.some((market) => market.id === id)
      const vanished = (await reader.documents()).filter((row) => row.vanished !== null && isListed(row.id))
      assert.deepEqual(vanished, [], 'vanished')
      world.step()
    }
    alterer.stop()
    // A market that the feed does not list is marked after two full passes.
    for (let passes = 0; passes < 3; passes++) {
      await reader.pass(true)
      world.clock.advance(stepMs)
    }
    const expected = await cleanResponses.getOrInsertComputed(seed % marketWorlds, async () => {
      await using clean = await openReader(server, world)
      await clean.pass(true)
      const responses: (readonly [string, string | number])[] = []
      for (const { slug } of world.markets) responses.push([slug, await clean.ask(slug)])
      return { responses, documents: await clean.documents() }
    })
    for (const [slug, response] of expected.responses) assert.equal(await reader.ask(slug), response, slug)
    const listed = (await reader.documents()).filter(({ vanished }) => vanished === null)
    assert.deepEqual(listed, expected.documents, 'listed markets')
    return refusals > 0
  }
  return { run, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** What a single feed can state without contradicting itself (docs/security.md#trust-in-sources). */
export function isBelievedOfMarkets({ kind, question, path }: AlterationReport): boolean {
  const hasOverlap = /limit=3&offset/.test(question)
  // Another record, or another time of a record.
  if (/(^|\.)(id|slug|updatedAt)$/.test(path)) return true
  // A record inside another only adds fields.
  if (kind === 'unknown field' && /\.(tags|events|series)\.\d+$/.test(path)) return true
  // A page without overlap can be another one, or leave out records.
  if (hasOverlap) return false
  return (
    kind === 'stale answer' ||
    kind === 'answer to another question' ||
    /^(data)?(\.?\d+)?$/.test(path) ||
    path === 'next_cursor'
  )
}
