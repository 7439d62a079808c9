// The measured process of the epoch benchmark: ingests a network as a server does, with its threads, its stores and its
// process that computes states. For each message it reads what has become final, and sends back what that took.
//   node bench/epoch-ingest.ts '{"url":"http://127.0.0.1:5052","dir":"/tmp/data","verifySignatures":true,"engine":"auto"}'
import { readdirSync, readFileSync } from 'node:fs'
import { complete } from '#core/schema-check.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { openStores } from '#storage/open.ts'
import { createValidatorsCaches } from '#validators/context.ts'
import { dutiesOnThreads } from '#validators/duties/store.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { openEpochProcessors } from '#validators/ingest/thread/open-processors.ts'
import { readProcessorStart } from '#validators/ingest/thread/read-processor-start.ts'

export interface EpochIngestOptions {
  readonly url: string
  readonly dir: string
  readonly verifySignatures: boolean
  readonly engine: 'auto' | 'typescript'
}

export interface EpochFigures {
  readonly epochs: number
  /** Of all epochs. CPU time is that of all processes and threads. */
  readonly seconds: number
  readonly cpuSeconds: number
  /** To files, by this process, which has the databases. */
  readonly writtenBytes: number
  /** The most that all processes had together, and what the chain process had then. */
  readonly rssMaxBytes: number
  readonly chainRssBytes: number
}

const network = 'devnet'
const { url, dir, verifySignatures, engine } = JSON.parse(process.argv[2] ?? '{}') as EpochIngestOptions
const stores = await openStores(dir)
const { value: configured } = complete(SettingsSchema, {
  validators: {
    networks: { [network]: { verifySignatures, engine, beacon: { urls: [url], fromEpoch: 0, timeoutMs: 600_000 } } },
  },
})
const duties = dutiesOnThreads(stores.duties, { dir, options: {} })
const stored = { ingest: stores.ingest, duties, log: silentLog, clock: systemClock }
const settings = await withChainTimes({ ...stored, settings: configured })
const context = { ...stored, settings, validators: createValidatorsCaches() }
const processors = openEpochProcessors([await readProcessorStart(context, network, dir)])
const follower = new Follower(context, network, processors.of(network))

/** The chain process. A child belongs to the thread that has started it. */
const childPids = (): string[] =>
  readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )

/** Of a process that may have ended. */
function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

const rssBytes = (pid: string): number => Number(/VmRSS:\s+(\d+) kB/.exec(readProc(pid, 'status'))?.[1] ?? 0) * 1024

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  const ofChildren = childPids().map((pid) => {
    // The name of the command, in parentheses, may have spaces. Times are in hundredths of a second.
    const [utime = 0, stime = 0] = (readProc(pid, 'stat').split(') ')[1] ?? '').split(' ').slice(11, 13).map(Number)
    return (utime + stime) / 100
  })
  return (user + system) / 1e6 + ofChildren.reduce((sum, seconds) => sum + seconds, 0)
}

const writtenBytes = (): number => Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])

async function measure(): Promise<EpochFigures> {
  let memory = { rssMaxBytes: 0, chainRssBytes: 0 }
  const memoryTimer = setInterval(() => {
    const chainRssBytes = childPids().reduce((sum, pid) => sum + rssBytes(pid), 0)
    const all = process.memoryUsage.rss() + chainRssBytes
    if (all > memory.rssMaxBytes) memory = { rssMaxBytes: all, chainRssBytes }
  }, 50)
  const [startMs, cpuBefore, writtenBefore] = [performance.now(), cpuSeconds(), writtenBytes()]
  const { written } = await follower.catchUp(new AbortController().signal)
  clearInterval(memoryTimer)
  const seconds = (performance.now() - startMs) / 1000
  return {
    epochs: written,
    seconds,
    cpuSeconds: cpuSeconds() - cpuBefore,
    writtenBytes: writtenBytes() - writtenBefore,
    ...memory,
  }
}

process.on('message', (message) => {
  if (message === 'measure') void measure().then((figures) => process.send?.(figures))
  else void close()
})
process.on('disconnect', () => process.exit())
process.send?.('ready')

async function close(): Promise<void> {
  await processors[Symbol.asyncDispose]()
  await duties.close()
  await stores.close()
  process.disconnect?.()
}
