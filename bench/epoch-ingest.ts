// The measured process of the epoch benchmark: ingests a network as a server does, with its threads and stores. For each
// message it reads what has become final, and sends back what that took.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { complete } from '#core/schema-check.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { openStores } from '#storage/open.ts'
import { createValidatorsCaches } from '#validators/context.ts'
import { dutiesOnThreads } from '#validators/duties/store.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { openEpochProcessors } from '#validators/ingest/thread/open-processors.ts'
import { readProcessorStart } from '#validators/ingest/thread/read-processor-start.ts'

export interface EpochFigures {
  readonly epochs: number
  /** Per epoch. CPU time is that of all threads. */
  readonly seconds: number
  readonly cpuSeconds: number
  readonly rssMaxBytes: number
  /** Milliseconds. */
  readonly loopDelay: { readonly max: number; readonly p99: number }
}

const [url, fromEpoch] = process.argv.slice(2)
const dir = mkdtempSync(join(tmpdir(), 'tetrad-epoch-'))
const stores = await openStores(dir)
const { value: settings } = complete(SettingsSchema, {
  validators: {
    networks: {
      mainnet: { states: 'node', beacon: { urls: [url], acceptAnyChain: true, fromEpoch: Number(fromEpoch) } },
    },
  },
})
const duties = dutiesOnThreads(stores.duties, { dir, options: {} })
const validators = createValidatorsCaches()
const context = { ingest: stores.ingest, duties, settings, log: silentLog, clock: systemClock, validators }
const processors = openEpochProcessors([await readProcessorStart(context, 'mainnet')])
const follower = new Follower(context, 'mainnet', processors.of('mainnet'))
const delay = monitorEventLoopDelay({ resolution: 5 })

async function measure(): Promise<EpochFigures> {
  let rssMaxBytes = 0
  const memoryTimer = setInterval(() => {
    rssMaxBytes = Math.max(rssMaxBytes, process.memoryUsage.rss())
  }, 50)
  const [startMs, cpu] = [performance.now(), process.cpuUsage()]
  delay.reset()
  delay.enable()
  const { written } = await follower.catchUp(new AbortController().signal)
  delay.disable()
  const used = process.cpuUsage(cpu)
  clearInterval(memoryTimer)
  return {
    epochs: written,
    seconds: (performance.now() - startMs) / 1000 / written,
    cpuSeconds: (used.user + used.system) / 1e6 / written,
    rssMaxBytes,
    loopDelay: { max: delay.max / 1e6, p99: delay.percentile(99) / 1e6 },
  }
}

process.on('message', (message) => {
  if (message === 'measure') void measure().then((figures) => process.send?.(figures))
  else void close()
})
process.on('disconnect', () => {
  rmSync(dir, { recursive: true, force: true })
  process.exit()
})
process.send?.('ready')

async function close(): Promise<void> {
  await processors[Symbol.asyncDispose]()
  await duties.close()
  await stores.close()
  process.disconnect?.()
}
