// One of the servers under measure in bench/servers.ts: answers from a PostgreSQL that is filled already, limits in Redis, reads
// no sources. `node servers-one.ts <state> <redis> <folder>`; with `fill` as the last word it fills the state and ends.
import { complete } from '#core/check.ts'
import { SettingsSchema } from '#core/settings.ts'
import { pushRate } from '#groups/fx/push.ts'
import { openLog } from '#io/log.ts'
import { start } from '#server/main.ts'
import { loadExplorer } from '#sim/explorer.ts'
import { loadMarkets } from '#sim/markets.ts'
import { createKey } from '#store/keys.ts'

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
const server = await start({ settings, dataDir, log: openLog('error', (line) => process.stderr.write(line)) })
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
