// Promise: a network of a million validators is ingested far faster than it lives, and answers stay quick meanwhile. An epoch
// lasts 384 s; the goal is at least 120 times faster on two cores, in at most 1.2 GiB. The node is another process (epoch-node.ts);
// everything from the socket down to the store is the real thing, threads included.
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
    validators: { networks: { mainnet: { beacon: { urls: [url], fromEpoch: firstEpoch } } } },
  })
  const duties = dutiesOnThreads(stores.duties, { dir, options: {} })
  const context = { state: stores.state, duties, settings, log: silentLog, clock: systemClock }
  await using mills = openEpochProcessors([await readProcessorStart(context, 'mainnet')])
  const follower = new Follower(context, 'mainnet', mills.of('mainnet'))
  let most = 0
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 50)
  const delay = monitorEventLoopDelay({ resolution: 5 })
  const seconds: number[] = []
  const cpuSeconds: number[] = []
  /** A stretch of epochs, and what it costs. */
  const stretch = async (epochs: number, words: string) => {
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
      `${words}: ${epochs} epochs, ${seconds.at(-1)?.toFixed(2)} s each; the event loop waited ${waits[0]} ms at most, ${waits[1]} ms at the 99th percentile`,
    )
  }
  const finalize = (epoch: number) => fetch(`${url}/finalized/${epoch}`, { method: 'POST' })
  await finalize(firstEpoch + 10)
  await stretch(9, 'first hour, with the registry and the pass before the first epoch')
  await finalize(lastEpoch - 1)
  await stretch((hours - 1) * 9, 'the hours after it')
  clearInterval(watch)
  await duties.close()
  const perEpoch = seconds.at(-1) as number
  console.log(
    `${count} validators: ${perEpoch.toFixed(2)} s per epoch, ${(epochSeconds / perEpoch).toFixed(0)} × real time (goal ≥ 120 ×)`,
  )
  console.log(`processor time per epoch, all threads: ${(cpuSeconds.at(-1) as number).toFixed(2)} s`)
  console.log(`resident at most ${Math.round(most / 2 ** 20)} MiB (goal ≤ 1229)`)
} finally {
  node.kill()
  await stores.close()
  rmSync(dir, { recursive: true, force: true })
}
