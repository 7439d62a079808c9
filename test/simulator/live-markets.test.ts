// Reads feeds that fail in every simulated way, and stops readers at random. At the end, every response must match the
// feed, and every earlier response must be available with `asOf`.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createMarketsCaches } from '#markets/context.ts'
import { readFeed } from '#markets/feeds/read-feed.ts'
import { marketAsOf } from '#markets/read/market-as-of.ts'
import { silentLog } from '#runtime/log.ts'
import type { MarketFeed } from '#runtime/settings/markets.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openIngest } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { seededRandom, settingsWith, testNowMs } from '../context.ts'
import { seedsOf } from '../long.ts'
import { ManualClock } from '../manual-clock.ts'
import { listDocuments } from '../market-documents.ts'
import { startFaultyFeed } from './faulty-feed.ts'
import { LiveMarkets } from './live-markets.ts'

const seeds = seedsOf(100, 6)

const styles: readonly object[] = [
  { paging: { kind: 'offset', size: 5, overlap: 1 }, recent: { since: 'updated_since', overlapMs: 60_000 } },
  { paging: { kind: 'offset', size: 4, overlap: 0 }, recent: { newestFirst: true, query: { order: 'newest' } } },
  {
    list: 'data',
    query: { style: 'wrapped' },
    paging: { kind: 'keyset', size: 5 },
    recent: { since: 'updated_since' },
  },
  { paging: { kind: 'keyset', size: 3, next: 'last.id' } },
]

const faults = {
  error: 0.1,
  busy: 0.05,
  garbage: 0.05,
  drop: 0.05,
  repeat: 0.1,
  unknown: 0.1,
  wrong: 0.05,
  nameless: 0.02,
  moving: 0.5,
  old: 0.1,
}

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tetrad-living-'))
})
after(() => rm(dir, { recursive: true, force: true }))

interface SeenResponse {
  readonly slug: string
  readonly atMs: number
  readonly body: string
}

async function live(seed: string): Promise<void> {
  const clock = new ManualClock(testNowMs)
  const draws = createSeededRandom(seed).fork('test')
  const world = new LiveMarkets(seed, () => clock.now(), { markets: draws.whole(3, 14), events: draws.whole(1, 5) })
  await using feed = await startFaultyFeed({ seed, listing: world, advance: () => world.step() })
  const settings = settingsWith({
    markets: {
      feeds: [{ id: 'simulated', url: feed.url, perSecond: 1000, fullEveryMs: 600_000, ...draws.pick(styles) }],
    },
  })
  const [source] = settings.markets.feeds as [MarketFeed]
  let state = await openIngest(join(dir, seed))
  const markets = createMarketsCaches(clock)
  const context = () => ({ ingest: state, settings, clock, random: seededRandom(seed), log: silentLog, markets })
  const seen: SeenResponse[] = []
  let holder = 0
  /** One pass, possibly stopped before its end, while the clock advances. */
  const pass = async (full: boolean, stopAfterPages = Number.POSITIVE_INFINITY) => {
    const stop = new AbortController()
    const onPage = ({ pages }: { pages: number }) => {
      if (pages >= stopAfterPages) stop.abort()
    }
    holder += 1
    const reading = readFeed(context(), source, { holder: String(holder), full, signal: stop.signal, onPage })
    const ended = reading.then(
      () => true,
      (error) => {
        if (calm && !stop.signal.aborted) throw error
        return false
      },
    )
    let over = false
    void ended.finally(() => (over = true)).catch(() => {})
    while (!over) {
      await turn()
      clock.advance(50)
    }
    return ended
  }
  let calm = false
  feed.setFaults(faults)
  for (let round = 0; round < 6; round++) {
    for (let steps = draws.whole(0, 8); steps > 0; steps--) world.step()
    clock.advance(draws.whole(1000, 400_000))
    await pass(false, draws.happens(0.4) ? draws.whole(1, 4) : undefined)
    await remember(state, clock.now(), seen)
    if (draws.happens(0.3)) {
      await state.close()
      state = await openIngest(join(dir, seed))
    }
  }
  calm = true
  feed.setFaults({})
  await pass(false)
  // Vanished markets are marked after `vanishAfter` full passes.
  for (let full = 0; full < 3; full++) {
    clock.advance(1000)
    await pass(true)
  }
  await compare(state, world)
  await recall(state, seen)
  const before = await state.get('select * from market_revision')
  clock.advance(1000)
  await pass(true)
  assert.deepEqual(await state.get('select * from market_revision'), before, 'the same again changes nothing')
  await state.close()
}

async function remember(state: State, atMs: number, seen: SeenResponse[]): Promise<void> {
  for (const { slug, text } of await listDocuments(state)) seen.push({ slug, atMs, body: text })
}

async function compare(state: State, world: LiveMarkets): Promise<void> {
  const truth = world.truth()
  for (const { slug, id, text, vanishedMs } of await listDocuments(state)) {
    const expected = truth.get(slug)
    // The last version of a delisted market may never have been listed.
    if (world.delisted.has(id)) assert.notEqual(vanishedMs, null, `${id} has vanished`)
    else {
      assert.equal(vanishedMs, null, `${id} is there`)
      assert.deepEqual(withoutDelisted(JSON.parse(text), world), withoutDelisted(expected, world))
    }
    truth.delete(slug)
  }
  const missing = [...truth.values()].filter(({ id }) => !world.delisted.has(String(id)))
  assert.deepEqual(missing, [], 'every listed market is known')
}

interface Referring {
  events?: { markets?: { id: string }[]; series?: { events?: { id: string }[] }[] }[]
}

/** Removes records that the feed does not list: the server has their last listed version, or none. */
function withoutDelisted(value: unknown, world: LiveMarkets): unknown {
  const copy = structuredClone(value) as Referring
  const listed = new Set(
    world.entries().flatMap((entry) => (entry.value.events as { id: string }[]).map(({ id }) => id)),
  )
  for (const event of copy.events ?? []) {
    event.markets = event.markets?.filter(({ id }) => !world.delisted.has(id)) ?? []
    for (const series of event.series ?? []) series.events = series.events?.filter(({ id }) => listed.has(id)) ?? []
  }
  return copy
}

async function recall(state: State, seen: readonly SeenResponse[]): Promise<void> {
  for (const { slug, atMs, body } of seen) {
    const past = await marketAsOf(state, slug, atMs)
    assert.equal(Buffer.from(past?.body ?? []).toString(), body, `${slug} as of ${new Date(atMs).toISOString()}`)
  }
}

test(`after any failures, responses match the feed and earlier responses are available with asOf, ${seeds.length} seeds`, async () => {
  for (const seed of seeds) {
    try {
      await live(`living-${seed}`)
    } catch (error) {
      throw new Error(`seed living-${seed} failed`, { cause: error })
    }
  }
})
