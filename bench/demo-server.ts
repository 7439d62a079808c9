// The measured server of bench/http.ts: the demo, with enough keys that the limit of 4.3 (two calls per second and key)
// is never reached.
import { complete } from '#core/schema-check.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { type DemoSamples, startDemo } from '#simulator/demo.ts'
import { createKey } from '#storage/keys.ts'

const keyCount = 10_000
const demo = await startDemo()
let samples: DemoSamples | undefined
const { value: settings } = complete(SettingsSchema, {
  ...demo.settings,
  server: { port: 0, anonymousPerSecond: 100_000 },
})
const server = await startServer({
  settings,
  dataDir: process.argv[2] ?? '',
  log: openLog('warn', (line) => process.stderr.write(line)),
  prepare: async (context) => {
    samples = await demo.load(context)
  },
})
const { state, clock, random } = server.context
const keys: string[] = []
for (let number = 0; number < keyCount; number++) {
  keys.push((await createKey(state, { name: `bench ${number}`, plan: 'enterprise' }, clock, random)).key)
}
console.log(JSON.stringify({ port: Number(new URL(server.url).port), ...samples, keys }))
