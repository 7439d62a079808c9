// The server that bench/fx.ts measures: one push source, one key, one rate that stays fresh.
import { complete } from '#core/schema-check.ts'
import { pushRate } from '#fx/extensions/push-rate/push-rate.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'

const { value: settings } = complete(SettingsSchema, {
  server: { port: 0 },
  fx: {
    spender: '0x3333333333333333333333333333333333333333',
    sources: [{ id: 'desk', kind: 'push', staleMs: 86_400_000 }],
  },
})
const log = openLog('warn', (line) => process.stderr.write(line))
const server = await startServer({ settings, dataDir: process.argv[2] ?? '', log })
const { state, clock, random } = server.context
await pushRate(server.context, { pair: 'EUR/USD', rate: '1.0842' })
const { key } = await createKey(state, { name: 'bench', plan: 'enterprise' }, clock, random)
console.log(JSON.stringify({ port: Number(new URL(server.url).port), key }))
