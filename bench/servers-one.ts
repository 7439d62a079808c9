// One of the measured servers of bench/servers.ts: state in a filled PostgreSQL, limits in Redis, no ingest.
// `node servers-one.ts <state> <redis> <folder>`. With `fill` as the last argument, it fills the state and exits.
import { contract } from '#api/contract/contract.ts'
import { complete } from '#core/schema-check.ts'
import { pushRate } from '#fx/extensions/push-rate/push-rate.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'
import { loadDemoExplorer, loadDemoMarkets } from '#test/load-demo.ts'

/** Enough that the limit of 4.3 (two calls per second and key) is never reached. */
const keyCount = 5000
const seed = 'harbour'
const [, , state = '', limits = '', dataDir = '', task] = process.argv
const { value: settings } = complete(SettingsSchema, {
  server: { port: 0, anonymousPerSecond: 100_000 },
  store: { state },
  limits,
  ingest: { enabled: false },
  fx: {
    spender: '0x3333333333333333333333333333333333333333',
    sources: [{ id: 'desk', kind: 'push', staleMs: 86_400_000 }],
  },
})
const server = await startServer({ settings, dataDir, log: openLog('error', (line) => process.stderr.write(line)) })
const { context } = server
if (task === 'fill') {
  await loadDemoExplorer(context, seed)
  const { address } = contract['explorer.fundedBy'].example.input
  const { slug } = await loadDemoMarkets(context, seed)
  await pushRate(context, { pair: 'EUR/USD', rate: '1.0842' })
  const input = { name: 'bench', plan: 'enterprise' } as const
  const keys: string[] = []
  for (let count = 0; count < keyCount; count += 50) {
    const created = Array.from({ length: 50 }, () => createKey(context.state, input, context.clock, context.random))
    keys.push(...(await Promise.all(created)).map(({ key }) => key))
  }
  console.log(JSON.stringify({ address, slug, keys }))
  await server.close()
} else {
  console.log(JSON.stringify({ port: Number(new URL(server.url).port) }))
}
