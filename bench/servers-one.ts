// One of the servers under measure in bench/servers.ts: answers from a PostgreSQL that is filled already, limits in Redis, reads
// no sources. `node servers-one.ts <state> <redis> <folder>`; with `fill` as the last word it fills the state and ends.
import { complete } from '#core/schema-check.ts'
import { pushRate } from '#fx/rates/push-rate.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { loadExplorer } from '#simulator/explorer.ts'
import { loadMarkets } from '#simulator/markets.ts'
import { createKey } from '#storage/keys.ts'

/** Enough that the funding lookup's two calls a second of each key are never reached. */
const keyCount = 5000
const seed = 'harbour'
const [, , state = '', limits = '', dataDir = '', task] = process.argv
const { value: settings } = complete(SettingsSchema, {
  server: { port: 0, anonymousPerSecond: 100_000 },
  store: { state },
  limits,
  ingest: { on: false },
  fx: {
    spender: '0x3333333333333333333333333333333333333333',
    sources: [{ id: 'desk', kind: 'push', staleMs: 86_400_000 }],
  },
})
const server = await startServer({ settings, dataDir, log: openLog('error', (line) => process.stderr.write(line)) })
const { context } = server
if (task === 'fill') {
  const { address } = await loadExplorer(context, seed)
  const { slug } = await loadMarkets(context, seed)
  await pushRate(context, { pair: 'EUR/USD', rate: '1.0842' })
  const wanted = { name: 'bench', plan: 'enterprise' } as const
  const keys: string[] = []
  for (let made = 0; made < keyCount; made += 50) {
    const some = Array.from({ length: 50 }, () => createKey(context.state, wanted, context.clock, context.random))
    keys.push(...(await Promise.all(some)).map(({ key }) => key))
  }
  console.log(JSON.stringify({ address, slug, keys }))
  await server.close()
} else {
  console.log(JSON.stringify({ port: Number(new URL(server.url).port) }))
}
