// Records in the forms of a public feed, read by ingest and served over HTTP, match the schema of @polymarket/client.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createPublicClient, forkEnvironmentConfig } from '@polymarket/client'
import { listRejects } from '#markets/read/rejected-records.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { settingsWith } from '#test/context.ts'
import { inject } from '#test/inject.ts'
import { serveScript } from '#test/scripted-server.ts'
import { copyEmptyStores } from '#test/template.ts'

const count = 120
const hash = (digit: number): string => `0x${String(digit % 10).repeat(64)}`
const address = (digit: number): string => `0x${String(digit % 10).repeat(40)}`

/** A market with every field that public feeds usually send, each in its usual form. */
function usualMarket(at: number): object {
  return {
    ...{ id: String(900_000 + at), slug: `market-${at}`, question: `Market ${at}?`, description: 'Rules.\n\nMore.' },
    ...{ conditionId: hash(at), questionID: hash(at + 1), resolutionSource: '', marketMakerAddress: '' },
    ...{ image: 'https://img.example/a.jpg', icon: 'https://img.example/a.jpg', seriesColor: '' },
    ...{ outcomes: '["Yes", "No"]', outcomePrices: '["0.0155", "0.9845"]', clobTokenIds: '["1234", "5678"]' },
    ...{ liquidity: '15234.0281', liquidityNum: 15234.0281, liquidityClob: 15234.0281, liquidityAmm: 0 },
    ...{ volume: '1871234.442899', volumeNum: 1871234.442899, volumeClob: 1871234.442899, volumeAmm: 0 },
    ...{ volume24hr: 12.5, volume1wk: 1250, volume1mo: 125000.25, volume1yr: 1871234.442899 },
    ...{ volume24hrAmm: 0, volume1wkAmm: 0, volume1moAmm: 0, volume1yrAmm: 0 },
    ...{ volume24hrClob: 12.5, volume1wkClob: 1250, volume1moClob: 125000.25, volume1yrClob: 1871234.442899 },
    ...{ bestBid: 0.015, bestAsk: 0.016, spread: 0.001, lastTradePrice: 0.016, competitive: 0.8099 },
    ...{ oneHourPriceChange: 0, oneDayPriceChange: -0.0005, oneWeekPriceChange: 0.002, oneMonthPriceChange: -0.01 },
    ...{ oneYearPriceChange: 0, orderPriceMinTickSize: 0.001, orderMinSize: 5 },
    ...{ rewardsMinSize: 50, rewardsMaxSpread: 3.5, customLiveness: 0, umaBond: '500', umaReward: '5' },
    ...{ startDate: '2026-01-02T03:04:05.678901Z', startDateIso: '2026-01-02', createdAt: '2026-01-01T03:04:05.67Z' },
    ...{ endDate: '2026-12-31T12:00:00Z', endDateIso: '2026-12-31', updatedAt: '2026-01-03T03:04:05.678Z' },
    ...{ acceptingOrdersTimestamp: '2026-01-02T03:00:00Z', deployingTimestamp: '2026-01-02T02:59:01.123456Z' },
    ...{ active: true, closed: false, archived: false, new: false, featured: false, restricted: true },
    ...{ approved: true, ready: false, funded: false, cyom: false, negRisk: true, negRiskOther: false },
    ...{ negRiskMarketID: hash(at + 2), negRiskRequestID: hash(at + 3), submitted_by: address(at) },
    ...{ resolvedBy: address(at + 1), umaResolutionStatuses: '[]', groupItemTitle: '$90,000', groupItemThreshold: '0' },
    ...{ enableOrderBook: true, acceptingOrders: true, hasReviewedDates: true, automaticallyActive: true },
    ...{ clearBookOnStart: true, manualActivation: false, pendingDeployment: false, deploying: false },
    ...{ rfqEnabled: false, holdingRewardsEnabled: false, feesEnabled: false, requiresTranslation: false },
    ...{ showGmpSeries: false, showGmpOutcome: false, pagerDutyNotificationEnabled: false, feeType: null },
    clobRewards: [
      { id: String(at), conditionId: hash(at), assetAddress: address(2), rewardsAmount: 0, rewardsDailyRate: 1 },
    ],
    // Four markets have an event in common.
    events: [usualEvent(Math.floor(at / 4))],
  }
}

function usualEvent(at: number): object {
  return {
    ...{
      id: String(700 + at),
      ticker: `event-${at}`,
      slug: `event-${at}`,
      title: `Event ${at}`,
      description: 'Rules.',
    },
    ...{ resolutionSource: '', image: 'https://img.example/b.jpg', icon: 'https://img.example/b.jpg' },
    ...{
      startDate: '2026-01-02T03:04:05.67Z',
      creationDate: '2026-01-02T03:04:05.67Z',
      endDate: '2026-12-31T12:00:00Z',
    },
    ...{
      createdAt: '2026-01-01T03:04:05.67Z',
      updatedAt: '2026-01-03T03:04:05.678Z',
      startTime: '2026-01-02T03:00:00Z',
    },
    ...{ active: true, closed: false, archived: false, new: false, featured: false, restricted: true, cyom: false },
    ...{ liquidity: 15234.0281, liquidityClob: 15234.0281, volume: 1871234.442899, openInterest: 0, competitive: 0.81 },
    ...{ volume24hr: 12.5, volume1wk: 1250, volume1mo: 125000.25, volume1yr: 1871234.442899, commentCount: 17 },
    ...{ sortBy: 'price', enableOrderBook: true, enableNegRisk: true, negRisk: true, negRiskAugmented: false },
    ...{ negRiskMarketID: hash(at), showAllOutcomes: true, showMarketImages: true, automaticallyActive: true },
    ...{ gmpChartMode: 'default', cumulativeMarkets: false, estimateValue: false, featuredOrder: 3 },
    ...{ pendingDeployment: false, deploying: false, requiresTranslation: false, seriesSlug: 'weekly' },
    series: [
      {
        ...{ id: '31', ticker: 'weekly', slug: 'weekly', title: 'Weekly', seriesType: 'single', recurrence: '' },
        ...{ image: '', icon: '', active: true, closed: false, archived: false, featured: false, restricted: true },
        ...{ volume: 99.5, volume24hr: 0.5, liquidity: 12.25, commentCount: 8 },
        ...{ createdAt: '2026-01-01T03:04:05.67Z', updatedAt: '2026-01-03T03:04:05.678Z' },
      },
    ],
    tags: [
      {
        ...{ id: '2', label: 'Politics', slug: 'politics', forceShow: false, updatedBy: 15, createdBy: 15 },
        ...{ publishedAt: '2023-10-24 22:37:50.296+00', createdAt: '2023-10-24T22:37:50.31Z', isCarousel: true },
      },
    ],
  }
}

/** Other forms in which feeds write values. Each is a part of a record. */
const variants: readonly object[] = [
  { question: '', description: '', category: '', image: '', icon: '', resolutionSource: '' },
  { conditionId: '', questionID: '', resolvedBy: '', umaResolutionStatus: '', negRiskRequestID: '' },
  { description: null, endDate: null, clobTokenIds: null, volumeNum: null, feeSchedule: null },
  { liquidity: '0', volume: '1234567.890123', fee: '20000000000000000', lowerBound: null, upperBound: null },
  { volume: 12.5, liquidity: 0, umaBond: 500, umaReward: '5' },
  { volumeNum: '12.5', spread: '0.001', bestBid: 0, bestAsk: 1, lastTradePrice: 0.5, oneDayPriceChange: -0.25 },
  { closedTime: '2026-01-02 03:04:05+00', umaEndDate: '2026-01-02T03:04:05Z', endDateIso: '2026-01-02' },
  { createdAt: '2026-01-02T03:04:05.678901Z', updatedAt: '2026-01-02T03:04:05.6Z', startDateIso: '2026-01-02' },
  { gameStartTime: '2026-01-02 03:04:05+00', secondsDelay: 3, sportsMarketType: 'moneyline', line: -1.5 },
  { outcomes: '["Up","Down"]', outcomePrices: '["0.015","0.985"]', shortOutcomes: '["U","D"]' },
  { orderPriceMinTickSize: 0.001, orderMinSize: 5, rewardsMinSize: 50, rewardsMaxSpread: 3.5, competitive: 0.98 },
  {
    active: false,
    closed: true,
    archived: true,
    umaResolutionStatus: 'resolved',
    umaResolutionStatuses: '["proposed"]',
  },
  { feeSchedule: { exponent: 1, rate: 0.02, takerOnly: true, rebateRate: '0.25' }, feesEnabled: true },
  { pastSlugs: '["old-slug"]', groupItemTitle: '≥ 50 %', groupItemThreshold: '3', events: [], tags: [] },
]

/** Each market differs from the usual one in two ways. */
const records = Array.from({ length: count }, (_, at) => ({
  ...usualMarket(at),
  ...variants[at % variants.length],
  ...variants[Math.floor(at / variants.length) % variants.length],
  id: String(900_000 + at),
  slug: `market-${at}`,
}))

describe('@polymarket/client', () => {
  const cleanup = new AsyncDisposableStack()
  let server: RunningServer
  let client: ReturnType<typeof createPublicClient>
  before(async () => {
    const feed = cleanup.use(
      await serveScript(({ url }) => {
        const { searchParams } = new URL(url, 'http://feed.test')
        const offset = Number(searchParams.get('offset'))
        return { body: records.slice(offset, offset + Number(searchParams.get('limit'))) }
      }),
    )
    const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-forms-'))
    cleanup.defer(() => rm(dataDir, { recursive: true, force: true }))
    await copyEmptyStores(dataDir)
    const feeds = [{ id: 'main', url: `${feed.url}/markets`, perSecond: 1000 }]
    const settings = settingsWith({
      server: { port: 0, anonymousPerSecond: 10_000 },
      console: { enabled: false },
      markets: { feeds },
    })
    server = await startServer({ settings, dataDir, clock: systemClock, log: silentLog })
    cleanup.defer(() => server.close())
    // Ready means that the feed has been read completely.
    while ((await inject(server, { url: '/readyz' })).statusCode !== 200) await systemClock.sleep(25)
    const environment = forkEnvironmentConfig({ name: 'test', gamma: { rest: server.url } })
    client = createPublicClient({ environment })
  })
  after(() => cleanup.disposeAsync())

  test(`${count} markets in the forms of public feeds match its schema, found by slug`, async () => {
    assert.deepEqual(await listRejects(server.context.ingest, 10), [])
    const misfits: unknown[] = []
    for (const record of records)
      await client
        .fetchMarket({ slug: record.slug })
        .then(({ id }) => assert.equal(id, record.id))
        .catch((error: Error) => misfits.push([record, error.message, String(error.cause)]))
    assert.deepEqual(misfits, [])
  })

  test('lists of them and of their events match its schema', async () => {
    const [ids, events] = [new Set<string>(), new Set<string>()]
    for (const closed of [false, true]) {
      for await (const page of client.listMarkets({ closed, pageSize: 100 }))
        for (const { id } of page.items) ids.add(id)
      for await (const page of client.listEvents({ closed, pageSize: 50 }))
        for (const { id } of page.items) events.add(id)
    }
    assert.deepEqual([ids.size, events.size], [count, count / 4])
  })
})
