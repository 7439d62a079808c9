import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { checker } from '#core/schema-check.ts'
import { bySlug } from '#markets/endpoints/by-slug.ts'
import { systemClock } from '#runtime/clock.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { loadDemoMarkets } from '#test/load-demo.ts'
import { listDocuments } from '#test/market-documents.ts'
import { demoSeed } from './demo-seed.ts'
import { DemoDates } from './markets/dates.ts'
import { startDemoFeed } from './markets/demo-feed.ts'
import { createDemoListing, createMarketRecords } from './markets/listing.ts'
import { createEventPlans } from './markets/plan.ts'

interface Schema {
  readonly type?: string
  readonly properties?: Record<string, Schema>
  readonly items?: Schema
}

/** The path of every field of the contract: `events[].series[].title`. */
function* fieldsOf(schema: Schema, path = ''): Generator<string> {
  if (schema.items) yield* fieldsOf(schema.items, `${path}[]`)
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const memberPath = path === '' ? name : `${path}.${name}`
    yield memberPath
    yield* fieldsOf(member, memberPath)
  }
}

/** The paths that have a value in this response. */
function* valuesIn(value: unknown, path = ''): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* valuesIn(item, `${path}[]`)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const memberPath = path === '' ? name : `${path}.${name}`
      yield memberPath
      yield* valuesIn(member, memberPath)
    }
  }
}

const dates = new DemoDates(systemClock.now())

async function loadDocuments() {
  await using opened = await openContext()
  // Reading a feed waits between two requests.
  const context = { ...opened, clock: systemClock }
  const sample = await loadDemoMarkets(context, 'test')
  const past = await bySlug.handle({ slug: sample.pastSlug, include_tag: true }, context, testRequestInfo())
  return { sample, past, documents: await listDocuments(context.ingest) }
}

let loading: ReturnType<typeof loadDocuments> | undefined

/** Loaded once for all tests, which only read them. */
const loadOnce = () => {
  loading ??= loadDocuments()
  return loading
}

test('every field of the contract has a value in some response', async () => {
  const { documents } = await loadOnce()
  const seen = new Set(documents.flatMap(({ text }) => [...valuesIn(JSON.parse(text))]))
  const wanted = [...fieldsOf(contract['markets.bySlug'].reply as Schema)]
  assert.ok(wanted.length > 500, `${wanted.length} fields`)
  assert.deepEqual(
    wanted.filter((field) => !seen.has(field)),
    [],
  )
  assert.deepEqual(
    [...seen].filter((field) => !wanted.includes(field)),
    [],
  )
})

test('every response matches the contract', async () => {
  const { documents } = await loadOnce()
  const check = checker(contract['markets.bySlug'].reply)
  assert.ok(documents.length >= 38 && documents.length <= 44, `${documents.length} markets`)
  for (const { slug, text } of documents) assert.deepEqual(check(JSON.parse(text)), [], slug)
})

test('the sample market has many fields, is the one of the contract, and has a past slug', async () => {
  const { sample, past, documents } = await loadOnce()
  assert.equal(sample.slug, contract['markets.bySlug'].example.input.slug)
  const text = documents.find(({ slug }) => slug === sample.slug)?.text ?? ''
  assert.ok(text.length > 6000, `${text.length} characters`)
  assert.ok(past.is === 'bytes')
  assert.equal(Buffer.from(past.bytes).toString(), text)
})

interface DemoMarket {
  readonly slug: string
  readonly question: string
  readonly groupItemTitle: string
  readonly outcomePrices: string
  readonly active: boolean
  readonly closed: boolean
  readonly createdAt: string
  readonly startDate: string
  readonly endDate: string
  readonly closedTime?: string
  readonly lastTradePrice: number
  readonly bestBid: number
  readonly bestAsk: number
  readonly volumeNum: number
  readonly volumeClob: number
  readonly volumeAmm: number
  readonly volume24hr: number
  readonly oneDayPriceChange: number
  readonly liquidityNum: number
  readonly events: readonly { readonly title: string; readonly volume: number; readonly createdAt: string }[]
}

const marketsOf = (documents: readonly { text: string }[]) =>
  documents.map(({ text }) => JSON.parse(text) as DemoMarket)
const yesOf = ({ outcomePrices }: DemoMarket): number => Number((JSON.parse(outcomePrices) as string[])[0])
const plans = new Map(
  createEventPlans(dates).flatMap((event) => event.markets.map((market) => [market.question, { event, market }])),
)
const planOf = ({ question }: DemoMarket) => plans.get(question) ?? assert.fail(question)

test('prices add up to one, venues to the total volume, and markets to their event', async () => {
  const markets = marketsOf((await loadOnce()).documents)
  for (const market of markets) {
    const [yes = 0, no = 0] = JSON.parse(market.outcomePrices).map(Number)
    assert.ok(Math.abs(yes + no - 1) < 1e-9)
    assert.ok(Math.abs(market.volumeClob + market.volumeAmm - market.volumeNum) < 0.01)
    assert.ok(market.bestBid <= market.lastTradePrice && market.lastTradePrice <= market.bestAsk)
  }
  for (const [title, members] of Map.groupBy(markets, ({ events }) => events[0]?.title ?? '')) {
    const total = members.reduce((sum, { volumeNum }) => sum + volumeNum, 0)
    assert.ok(Math.abs(total - (members[0]?.events[0]?.volume ?? 0)) < 0.01, title)
  }
})

test('at any time, prices of exclusive outcomes add up to about one, and thresholds and deadlines are monotone', async () => {
  await using context = await openContext()
  const listing = createDemoListing(demoSeed, dates, () => context.clock.now())
  for (let reading = 0; reading < 200; reading++) {
    const markets = listing.entries().map(({ value }) => value as unknown as DemoMarket)
    for (const [title, members] of Map.groupBy(markets, ({ events }) => events[0]?.title ?? '')) {
      const related = (relation: string) => members.filter((market) => planOf(market).market.relation === relation)
      const exclusive = related('exclusive')
      const sum = exclusive.reduce((total, market) => total + yesOf(market), 0)
      assert.ok(exclusive.length === 0 || (sum >= 0.97 && sum <= 1.03), `${title}: ${sum}`)
      const nested = related('nested').sort((a, b) => oddsOf(b) - oddsOf(a))
      for (const [at, market] of nested.entries()) {
        const wider = nested[at - 1]
        assert.ok(!wider || yesOf(market) <= yesOf(wider), market.question)
        assert.ok(!wider || !(thresholdOf(market) <= thresholdOf(wider)), 'a higher threshold is less likely')
      }
    }
    context.clock.advance(7 * 3_600_000 + 13_000)
  }
})

const oddsOf = (market: DemoMarket): number => planOf(market).market.odds
/** NaN: the question names none. */
const thresholdOf = ({ question }: DemoMarket): number => Number(/more than (\d+(\.\d+)?)/.exec(question)?.[1])

test('a market whose price has changed has a larger volume, and daily figures are differences of two days', async () => {
  const clock = { nowMs: dates.startMs }
  const listing = createDemoListing(demoSeed, dates, () => clock.nowMs)
  const readAll = () => listing.entries().map(({ value }) => value as unknown as DemoMarket)
  let before = readAll()
  let changes = 0
  for (let reading = 0; reading < 100; reading++) {
    clock.nowMs += 20_000
    const after = readAll()
    for (const [at, market] of after.entries()) {
      if (yesOf(market) === yesOf(before[at] as DemoMarket)) continue
      changes += 1
      assert.ok(market.volumeNum > (before[at] as DemoMarket).volumeNum, market.question)
    }
    before = after
  }
  assert.ok(changes > 100, `${changes} changes`)
  clock.nowMs += 24 * 3_600_000
  for (const [at, market] of readAll().entries()) {
    const yesterday = before[at] as DemoMarket
    if (planOf(market).event.state === 'over') continue
    assert.ok(Math.abs(market.volumeNum - yesterday.volumeNum - market.volume24hr) < 0.01, market.question)
    assert.ok(Math.abs(yesOf(market) - yesOf(yesterday) - market.oneDayPriceChange) < 1e-9, market.question)
    assert.ok(market.liquidityNum <= market.volumeNum / 2, 'liquidity is plausible')
  }
})

test('a market does not change without its time of change', () => {
  const clock = { nowMs: dates.startMs }
  const listing = createDemoListing(demoSeed, dates, () => clock.nowMs)
  const valueAt = new Map<string, unknown>()
  for (let reading = 0; reading < 100; reading++) {
    for (const { id, value, updatedMs } of listing.entries()) {
      const name = `${id} at ${updatedMs}`
      assert.deepEqual(value, valueAt.get(name) ?? value, name)
      valueAt.set(name, value)
    }
    clock.nowMs += 7_000
  }
  assert.ok(valueAt.size > 150, `${valueAt.size} versions`)
})

test('closed markets have the prices 0 and 1 and no orders; planned ones have no volume', async () => {
  const markets = marketsOf((await loadOnce()).documents)
  const [closed, planned] = [markets.filter((one) => one.closed), markets.filter((one) => !one.active)]
  assert.ok(closed.length > 5 && planned.length > 5)
  for (const market of closed) {
    assert.ok([0, 1].includes(yesOf(market)), market.question)
    assert.equal(market.liquidityNum, 0)
    assert.ok(market.volumeNum > 0)
  }
  for (const market of planned) assert.deepEqual([market.volumeNum, market.liquidityNum], [0, 0], market.question)
})

/** Ordinary days, ends of months and years, and a leap day. */
const firstDays = ['2026-11-16', '2026-12-31', '2027-01-01', '2027-07-30', '2028-02-29', '2031-08-31']

test('whenever the demo is created, the dates of a market agree with its question, its event and its state', () => {
  const markets = firstDays.flatMap((day) => {
    const startMs = Date.parse(day)
    const listing = createDemoListing(demoSeed, new DemoDates(startMs + 40_000_000), () => startMs)
    return listing.entries().map(({ value }) => ({ market: value as unknown as DemoMarket, startMs }))
  })
  for (const { market, startMs } of markets) {
    const { question, createdAt, startDate, endDate, closedTime, closed } = market
    assert.match(question, /^(Will|Which) .+\?$/)
    assert.ok(question.length <= 90 && !question.includes('  '), question)
    assert.match(market.groupItemTitle, /^[A-Z0-9][^?]{1,24}$/)
    assert.ok(createdAt < startDate && startDate < endDate, question)
    assert.ok((market.events[0]?.createdAt ?? '') <= createdAt, question)
    assert.equal(Date.parse(endDate) < startMs, closed, question)
    if (closed) assert.ok(Date.parse(closedTime ?? '') > Date.parse(endDate), question)
    const named = /\b(\d+ [A-Z][a-z]+ 20\d\d)\b/.exec(question)?.[1]
    if (named) assert.equal(Math.abs(Date.parse(`${named} UTC`) - Date.parse(endDate)), 0, question)
  }
})

test('slugs are unique, and the same seed gives the same markets', () => {
  const slugs = createMarketRecords('a', dates)
    .filter(({ kind }) => kind === 'market')
    .map(({ fields }) => fields.slug)
  assert.equal(new Set(slugs).size, slugs.length)
  assert.deepEqual(createMarketRecords('a', dates), createMarketRecords('a', dates))
  assert.notDeepEqual(createMarketRecords('a', dates), createMarketRecords('b', dates))
})

test('a feed that starts on a later day serves the markets of the day on which the demo was created', async () => {
  const createdMs = dates.startMs
  await using feed = await startDemoFeed(demoSeed, { now: () => createdMs + 40 * 86_400_000 })
  feed.setCreated(createdMs)
  const page = (await (await fetch(`${feed.url}?limit=500`)).json()) as DemoMarket[]
  const expected = createDemoListing(demoSeed, dates, () => createdMs).entries()
  const endDates = (markets: readonly DemoMarket[]) => markets.map(({ slug, endDate }) => `${slug} ${endDate}`).sort()
  assert.deepEqual(endDates(page), endDates(expected.map(({ value }) => value as unknown as DemoMarket)))
})

test('the feed of the demo returns its markets as of a past time', async () => {
  const [nowMs, pastMs] = [dates.startMs + 86_400_000, dates.startMs]
  await using feed = await startDemoFeed(demoSeed, { now: () => nowMs })
  feed.setCreated(dates.startMs)
  const read = async (query: string) => (await fetch(`${feed.url}?limit=500${query}`)).json()
  const expected = (atMs: number) =>
    JSON.parse(
      JSON.stringify(
        createDemoListing(demoSeed, dates, () => atMs)
          .entries()
          .map(({ value }) => value),
      ),
    )
  assert.deepEqual(await read(''), expected(nowMs))
  assert.deepEqual(await read(`&as_of=${pastMs}`), expected(pastMs))
  assert.notDeepEqual(expected(nowMs), expected(pastMs))
})
