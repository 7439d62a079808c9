// A simulated rate feed over HTTP, with two trading desks. Rates are a function of seed and time: each pair moves around its
// level in slow waves, with a little noise that differs between the desks. A new demo has the rates of the past week.
import { storeRates } from '#fx/rates/rate-store.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import type { AppContext } from '#server/context.ts'
import { type SimulatedServer, sendJson, startSimulatedServer } from './listen.ts'
import { createSeededRandom } from './seeded-random.ts'

export const feedNames = ['north', 'south'] as const
export type FeedName = (typeof feedNames)[number]

const levels = [
  { base: 'EUR', quote: 'USD', level: 1.0842, places: 6 },
  { base: 'GBP', quote: 'USD', level: 1.2715, places: 6 },
  { base: 'AUD', quote: 'USD', level: 0.6634, places: 6 },
  { base: 'USD', quote: 'JPY', level: 151.37, places: 4 },
  { base: 'USD', quote: 'CHF', level: 0.8821, places: 6 },
  { base: 'USD', quote: 'CAD', level: 1.3926, places: 6 },
  { base: 'USD', quote: 'SGD', level: 1.3418, places: 6 },
  { base: 'USD', quote: 'MXN', level: 19.84, places: 5 },
] as const

const tickMs = 1000
/** Relative height and length of the waves; their sum stays within 1.7 % of the level. */
const waves = [
  { height: 0.01, hours: 97 },
  { height: 0.005, hours: 23 },
  { height: 0.002, hours: 3.1 },
]
const noise = 0.00003

export function ratesAt(seed: string, name: FeedName, nowMs: number) {
  const atMs = Math.floor(nowMs / tickMs) * tickMs
  const rates = levels.map(({ base, quote, level, places }) => {
    const phases = createSeededRandom(`${seed}/${base}${quote}`)
    const drift = waves.reduce(
      (sum, { height, hours }) => sum + height * Math.sin(2 * Math.PI * (atMs / (hours * 3_600_000) + phases.next())),
      0,
    )
    const jitter = noise * (2 * createSeededRandom(`${seed}/${name}/${base}${quote}/${atMs}`).next() - 1)
    return { base, quote, rate: (level * (1 + drift + jitter)).toFixed(places), time: new Date(atMs).toISOString() }
  })
  return { rates }
}

/** The documents are at `/north/rates` and `/south/rates`. */
export const startRateFeed = (seed: string, clock: Clock = systemClock): Promise<SimulatedServer> =>
  startSimulatedServer(async (request, _, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://feed')
    const name = feedNames.find((name) => pathname === `/${name}/rates`)
    if (!name) return sendJson(response, 404, '{"error":"not found"}')
    sendJson(response, 200, JSON.stringify(ratesAt(seed, name, clock.now())), { 'cache-control': 'no-store' })
  })

/** The usual id of local test chains, and addresses without contracts: a signed demo quote is worthless everywhere. */
const demoContracts = {
  chainId: 31337,
  permit2: '0xde30000000000000000000000000000000000001',
  spender: '0xde30000000000000000000000000000000000002',
  tokens: [
    { code: 'USDC', tracks: 'USD', decimals: 6, contract: '0xde30000000000000000000000000000000000003' },
    { code: 'EURC', tracks: 'EUR', decimals: 6, contract: '0xde30000000000000000000000000000000000004' },
  ],
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
/** Before the first start: every two hours of a week, every half hour of a day, every five minutes of an hour. */
const pastSteps = [
  { fromMs: 168 * hourMs, stepMs: 2 * hourMs },
  { fromMs: 24 * hourMs, stepMs: hourMs / 2 },
  { fromMs: hourMs, stepMs: 5 * minuteMs },
]

function pastTimes(nowMs: number): number[] {
  return pastSteps.flatMap(({ fromMs, stepMs }, at) => {
    const untilMs = pastSteps[at + 1]?.fromMs ?? 0
    return Array.from({ length: (fromMs - untilMs) / stepMs }, (_, step) => nowMs - fromMs + step * stepMs)
  })
}

/** Stores past rates of the feed directly, because a rate document contains only current ones. */
export async function loadPastRates(
  { state, clock }: Pick<AppContext, 'state' | 'clock'>,
  seed: string,
): Promise<void> {
  for (const name of feedNames) {
    const source = sourceId(name)
    const rates = pastTimes(clock.now()).flatMap((pastMs) =>
      ratesAt(seed, name, pastMs).rates.map(({ time, ...rate }) => ({ ...rate, source, atMs: Date.parse(time) })),
    )
    await storeRates(state, source, rates, clock.now())
  }
}

const sourceId = (name: FeedName): string => `demo-${name}`

/** Settings that make a server read both desks of the feed. */
export const demoFxSettings = (url: string): object => ({
  fx: {
    ...demoContracts,
    // So that daily quotes show it.
    terms: { daily: { collateralBps: 500 } },
    sources: feedNames.map((name) => ({
      id: sourceId(name),
      kind: 'http-json',
      url: `${url}/${name}/rates`,
      everyMs: 2000,
    })),
  },
})
