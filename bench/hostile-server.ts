// The server that bench/hostile.ts measures: the demo data and a grown store (hostile-grown.ts), every path enabled, no
// limits. Argument: the data folder. For each line on stdin it prints the CPU time of the whole process so far, and that
// of the main thread, in microseconds.
import { createInterface } from 'node:readline'
import { privateKeyToAccount } from 'viem/accounts'
import { createClient } from '#api/client/client.ts'
import { groups } from '#api/contract/routes.ts'
import { complete } from '#core/schema-check.ts'
import { systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { withDemoWindows } from '#simulator/validators/windows.ts'
import { validatorSamples } from '#simulator/validators.ts'
import { createKey } from '#storage/keys.ts'
import { copyDemo } from '#test/template.ts'
import type { GrownWorld } from './hostile-cases.ts'
import { growDuties, growFundings, growLabels, growMarkets, grownNetwork, growQuotes, sizes } from './hostile-grown.ts'

const [, , dataDir = ''] = process.argv
/** The versions that are added are in its past, and after those of the demo, because their times only increase. */
const aheadMs = (sizes.versions + 2880) * 60_000

await copyDemo(dataDir)
const { value: settings } = complete(SettingsSchema, {
  server: { port: 0, anonymousPerSecond: 0 },
  mcp: { enabled: true },
  ingest: { enabled: false },
  keys: { badKeysMax: 1_000_000 },
  fx: { spender: `0x${'33'.repeat(20)}`, sources: [{ id: 'desk', kind: 'push' }] },
  // As in bench/ratings.ts: hours are as long as days, so that half days are committed.
  validators: { networks: { [grownNetwork]: { epochsPerHour: 225, hoursKeptDays: 1 } } },
})
const server = await startServer({
  settings: withDemoWindows(settings),
  dataDir,
  clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
  log: openLog('error', (line) => process.stderr.write(line)),
})
const { context, url } = server
const { key } = await createKey(
  context.state,
  { name: 'bench', plan: 'enterprise', groups: [...groups], admin: true },
  context.clock,
  context.random,
)
const client = createClient({ baseUrl: url, key })
const grow = async (name: string, work: () => Promise<unknown>) => {
  const startMs = performance.now()
  await work()
  process.stderr.write(`${name}: ${((performance.now() - startMs) / 1000).toFixed(0)} s\n`)
}
await grow('markets', () => growMarkets(context))
await grow('labels', () => growLabels(context))
await grow('fundings', () => growFundings(context))
await grow('duties', () => growDuties(context))
const quote = await growQuotes(context, client)
const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const trade = { quoteId: quote.id, address: taker.address, signature: await client.fx.signQuote(quote, taker) }
await client.fx.createTrade(trade)
const { events: [event = {}] = [] } = (await client.markets.bySlug({ slug: 'wide-0' })) as {
  events?: { id?: string; slug?: string; series?: { id: string }[] }[]
}
const [tag] = await client.markets.tags({ limit: 1 })
const world: GrownWorld = {
  key,
  nowMs: context.clock.now(),
  quoteId: quote.id,
  trade,
  eventId: event.id ?? '',
  eventSlug: event.slug ?? '',
  seriesId: event.series?.[0]?.id ?? '',
  tagId: tag?.id ?? '',
  tagSlug: tag?.slug ?? '',
  pool: validatorSamples.pools[0],
  badDay: validatorSamples.badDay,
}
console.log(JSON.stringify({ port: Number(new URL(url).port), world }))

for await (const _ of createInterface({ input: process.stdin })) {
  const sum = ({ user, system }: NodeJS.CpuUsage) => user + system
  console.log(JSON.stringify([sum(process.cpuUsage()), sum(process.threadCpuUsage())]))
}
