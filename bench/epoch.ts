// Measures ingest of a network with a million validators. An epoch lasts 384 s; the goal is to process it at least 120
// times faster on two cores, with at most 1.2 GiB of memory. The simulated node is another process (epoch-node.ts);
// everything else, including threads and stores, is as in a server.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
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
import { openEpochProcessors } from '#validators/ingest/epochs/open-processors.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { readProcessorStart } from '#validators/ingest/start.ts'

const count = Number(process.argv[2] ?? 1_000_000)
const hours = 3
const epochSeconds = 384
const firstEpoch = 9
const lastEpoch = firstEpoch + hours * 9 + 2

const dir = mkdtempSync(join(tmpdir(), 'tetrad-epoch-'))
const stores = await openStores(dir)
const { value: plain } = complete(SettingsSchema, {})
const { genesisUnix } = plain.validators.networks.mainnet
const nodeArgs = [count, firstEpoch, lastEpoch, genesisUnix].map(String)
const node = spawn(process.execPath, [join(import.meta.dirname, 'epoch-node.ts'), ...nodeArgs], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const url = String((await once(node.stdout, 'data'))[0]).trim()
  const { value: settings } = complete(SettingsSchema, {
    validators: { networks: { mainnet: { beacon: { urls: [url], acceptAnyChain: true, fromEpoch: firstEpoch } } } },
  })
  const duties = dutiesOnThreads(stores.duties, { dir, options: {} })
  const validators = createValidatorsCaches()
  const context = { state: stores.state, duties, settings, log: silentLog, clock: systemClock, validators }
  await using processors = openEpochProcessors([await readProcessorStart(context, 'mainnet')])
  const follower = new Follower(context, 'mainnet', processors.of('mainnet'))
  let rssMaxBytes = 0
  const memoryTimer = setInterval(() => {
    rssMaxBytes = Math.max(rssMaxBytes, process.memoryUsage.rss())
  }, 50)
  const delay = monitorEventLoopDelay({ resolution: 5 })
  const seconds: number[] = []
  const cpuSeconds: number[] = []
  const measure = async (epochs: number, label: string) => {
    const [startMs, cpu] = [performance.now(), process.cpuUsage()]
    delay.reset()
    delay.enable()
    await follower.catchUp(new AbortController().signal)
    delay.disable()
    const used = process.cpuUsage(cpu)
    seconds.push((performance.now() - startMs) / 1000 / epochs)
    cpuSeconds.push((used.user + used.system) / 1e6 / epochs)
    const waits = [delay.max, delay.percentile(99)].map((ns) => Math.round(ns / 1e6))
    console.log(
      `${label}: ${epochs} epochs, ${seconds.at(-1)?.toFixed(2)} s each; event loop delay ${waits[0]} ms max, ${waits[1]} ms p99`,
    )
  }
  const finalize = (epoch: number) => fetch(`${url}/finalized/${epoch}`, { method: 'POST' })
  await finalize(firstEpoch + 10)
  await measure(9, 'first hour, including the registry and the epoch before the first one')
  await finalize(lastEpoch - 1)
  await measure((hours - 1) * 9, 'following hours')
  clearInterval(memoryTimer)
  await duties.close()
  const perEpoch = seconds.at(-1) as number
  console.log(
    `${count} validators: ${perEpoch.toFixed(2)} s per epoch, ${(epochSeconds / perEpoch).toFixed(0)} × real time (goal ≥ 120 ×)`,
  )
  console.log(`CPU time per epoch, all threads: ${(cpuSeconds.at(-1) as number).toFixed(2)} s`)
  console.log(`maximum resident memory ${Math.round(rssMaxBytes / 2 ** 20)} MiB (goal ≤ 1229)`)
} finally {
  node.kill()
  await stores.close()
  rmSync(dir, { recursive: true, force: true })
}
