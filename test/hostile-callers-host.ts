// A server with demo data in a process of its own, which measures itself for test/hostile-callers.test.ts. It reads no
// sources, so that all its work is caused by callers.
import { subscribe } from 'node:diagnostics_channel'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'
import { settingsWith } from './context.ts'
import { copyDemo } from './template.ts'

export interface Measurements {
  readonly url: string
  readonly key: string
  /** CPU time of the main thread between two checkpoints, at most: a request begins or ends, or a timer fires. */
  readonly longestStepMs: number
  /** CPU time of a fixed piece of work, which takes longer on a slow or busy machine. */
  readonly referenceMs: number
  /** Includes the time in which other processes had the CPU. */
  readonly longestDelayMs: number
  /** CPU time of all threads since the start. */
  readonly cpuMs: number
  /** After a garbage collection. */
  readonly heapBytes: number
  readonly logLines: number
  readonly logBytes: number
  /** The first log lines about bugs. */
  readonly failures: readonly string[]
}

const dir = await mkdtemp(join(tmpdir(), 'tetrad-hostile-'))
await copyDemo(dir)
let [logLines, logBytes] = [0, 0]
const failures: string[] = []
const server = await startServer({
  settings: settingsWith({
    server: { port: 0, anonymousPerSecond: 0, headersTimeoutMs: 2000, requestTimeoutMs: 4000 },
    console: { enabled: false },
    ingest: { enabled: false },
  }),
  dataDir: dir,
  log: openLog('info', (line) => {
    logLines += 1
    logBytes += line.length
    if (line.includes('unexpected failure') && failures.length < 5) failures.push(line)
  }),
})
const { key } = await createKey(server.context.state, { name: 'caller', plan: 'enterprise' }, systemClock, systemRandom)
const delay = monitorEventLoopDelay({ resolution: 5 })
const threadCpuMs = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

const referenceRuns = 3
const referenceText = JSON.stringify(Array.from({ length: 4000 }, (_, at) => ({ at, text: `${at}`.repeat(10) })))

/** The shortest of some runs, because the others may include a compilation or a garbage collection. */
function measureReference(): number {
  const runs = Array.from({ length: referenceRuns }, () => {
    const startMs = threadCpuMs()
    // Long enough for a clock that may advance in steps of several milliseconds.
    for (let times = 0; times < 20; times++) JSON.stringify(JSON.parse(referenceText))
    return threadCpuMs() - startMs
  })
  return Math.min(...runs)
}

let lastMs = threadCpuMs()
let longestStepMs = 0
let referenceMs = 0
/** On a busy machine, one turn of the event loop handles many requests, so each request has its own checkpoints. */
const passCheckpoint = () => {
  const nowMs = threadCpuMs()
  longestStepMs = Math.max(longestStepMs, nowMs - lastMs)
  lastMs = nowMs
}
setInterval(passCheckpoint, 1)
subscribe('http.server.request.start', passCheckpoint)
subscribe('http.server.response.finish', passCheckpoint)

process.on('message', (request: 'measure' | 'collect' | 'reset') => {
  const { user, system } = process.cpuUsage()
  const measured = { longestStepMs, longestDelayMs: delay.max / 1e6, cpuMs: (user + system) / 1000 }
  if (request === 'collect') {
    referenceMs = Math.max(referenceMs, measureReference())
    globalThis.gc?.()
  }
  // The work above is not caused by callers.
  lastMs = threadCpuMs()
  if (request === 'reset') {
    delay.reset()
    delay.enable()
    longestStepMs = 0
  }
  const { heapUsed: heapBytes, external } = process.memoryUsage()
  process.send?.({
    ...{ url: server.url, key, ...measured, heapBytes: heapBytes + external },
    ...{ referenceMs, logLines, logBytes, failures },
  } satisfies Measurements)
})
process.on('disconnect', async () => {
  await server.close()
  await rm(dir, { recursive: true, force: true })
  process.exit()
})
process.send?.('up')
