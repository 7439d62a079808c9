// The server that bench/hostile.ts measures: the demo data, a market with many versions, many markets, every path enabled, no
// limits. Argument: the data folder. For each line on stdin it prints the CPU time of the whole process so far, and that
// of the main thread, in microseconds.
import { createInterface } from 'node:readline'
import { groups } from '#api/contract/routes.ts'
import { complete } from '#core/schema-check.ts'
import { putMarkets } from '#markets/write/put-markets.ts'
import { systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import type { AppContext } from '#server/context.ts'
import { withDemoWindows } from '#simulator/validators/windows.ts'
import { createKey } from '#storage/keys.ts'
import { copyDemo } from '#test/template.ts'

const [, , dataDir = ''] = process.argv
/** Of one market: two days with a change each minute. */
const versions = 2880
const markets = 2000
const perWrite = 60
const aheadMs = 3 * 86_400_000

/** Grows the store with markets of one event, and with versions of one of them. */
async function grow({ ingest }: AppContext): Promise<void> {
  // After the versions of the demo, because times of versions only increase.
  const startMs = systemClock.now() + 60_000
  const fieldsOf = (at: number) => ({
    slug: `grown-${at}`,
    question: `Will harbour bridge ${at} open?`,
    description: 'It resolves to yes if the bridge opens. '.repeat(40),
    clobTokenIds: JSON.stringify([`${at}1`, `${at}2`]),
    outcomes: '["Yes","No"]',
  })
  for (let from = 0; from < markets; from += perWrite) {
    const records = Array.from({ length: perWrite }, (_, at) => ({
      kind: 'market' as const,
      id: `9${from + at}`,
      fields: { ...fieldsOf(from + at), outcomePrices: '["0.5","0.5"]' },
    }))
    await ingest.write((tx) => putMarkets(tx, records, startMs), { lock: 'markets' })
  }
  for (let from = 0; from < versions; from += perWrite) {
    const records = Array.from({ length: perWrite }, (_, at) => {
      const price = (((from + at) * 7) % 100) / 100
      const outcomePrices = JSON.stringify([String(price), String(1 - price)])
      const values = { outcomePrices, bestBid: price, volume: String(from + at) }
      return { kind: 'market' as const, id: '90', fields: { ...fieldsOf(0), ...values } }
    })
    await ingest.write((tx) => putMarkets(tx, records, startMs + from * 60_000), { lock: 'markets' })
  }
}

await copyDemo(dataDir)
const { value: settings } = complete(SettingsSchema, {
  server: { port: 0, anonymousPerSecond: 0 },
  mcp: { enabled: true },
  ingest: { enabled: false },
  keys: { badKeysMax: 1_000_000 },
})
const server = await startServer({
  settings: withDemoWindows(settings),
  dataDir,
  // The versions that are added are in its past.
  clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
  log: openLog('error', (line) => process.stderr.write(line)),
})
const { state, clock, random } = server.context
await grow(server.context)
const { key } = await createKey(state, { name: 'bench', plan: 'enterprise', groups: [...groups] }, clock, random)
console.log(JSON.stringify({ port: Number(new URL(server.url).port), key }))

for await (const _ of createInterface({ input: process.stdin })) {
  const sum = ({ user, system }: NodeJS.CpuUsage) => user + system
  console.log(JSON.stringify([sum(process.cpuUsage()), sum(process.threadCpuUsage())]))
}
