// The server that bench/hostile.ts measures: demo labels, fundings and markets, every path enabled, no limits. Argument:
// the data folder. For each line on stdin it prints the CPU time of the whole process so far, in microseconds.
import { createInterface } from 'node:readline'
import { complete } from '#core/schema-check.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { loadDemoExplorer, loadDemoMarkets } from '#test/load-demo.ts'

const seed = 'harbour'
const [, , dataDir = ''] = process.argv
const { value: settings } = complete(SettingsSchema, {
  server: { port: 0, anonymousPerSecond: 0 },
  mcp: { enabled: true },
  ingest: { enabled: false },
  keys: { badKeysMax: 1_000_000 },
})
const server = await startServer({ settings, dataDir, log: openLog('error', (line) => process.stderr.write(line)) })
await loadDemoExplorer(server.context, seed)
await loadDemoMarkets(server.context, seed)
console.log(JSON.stringify({ port: Number(new URL(server.url).port) }))

for await (const _ of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage()
  console.log(user + system)
}
