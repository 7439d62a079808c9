// The thread of the ingesters, with its own connections to the databases (start-ingest.ts).
import { runSearchWrite, searchWriteNames } from '#explorer/funding/search-writes.ts'
import { leasedDuties, leasedState } from '#ingest/leased-stores.ts'
import { ingestCallNames, ingestCalls } from '#operations/ingest-calls.ts'
import { systemClock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import { systemRandom } from '#runtime/random.ts'
import type { Settings } from '#runtime/settings.ts'
import { sendNotice, serveThread, type ThreadHandlers, threadStart } from '#runtime/worker-thread.ts'
import { openDuties, openIngest, type StoreOptions } from '#storage/open.ts'
import { type ReportTime, type StoreName, timedDuties, timedState } from '#storage/timed.ts'
import { type WriteOutcome, writeOutcome } from '#storage/write-health.ts'
import { dutiesOnThreads } from '#validators/duties/store.ts'
import { createIngestContext, type IngestContext } from '../context.ts'
import { runIngesters } from './ingesters.ts'
import { type Notice, type SharedMap, sharedMaps } from './notices.ts'

export interface IngestThreadStart {
  readonly settings: Settings
  readonly dataDir: string
  /** See `IngestOptions`. */
  readonly holder: string
  readonly hasAlerts: boolean
  /** Of the main thread. */
  readonly provenTime: ProvenTime['shared']
}

/** What the thread sends: notices of the ingesters, and what they log, share and measure. */
export type ThreadNotice =
  | Notice
  | { readonly is: 'log'; readonly level: LogLevel; readonly fields: object; readonly message: string }
  /** The new value of an entry of a shared map. Undefined: it was deleted. */
  | { readonly is: 'shared'; readonly map: SharedMap; readonly key: string; readonly value: unknown }
  | { readonly is: 'stored'; readonly operations: readonly StoreOperation[] }

type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface StoreOperation {
  readonly store: StoreName
  readonly operation: string
  readonly tookMs: number
  readonly outcome: WriteOutcome
}

/** Few, because the ingesters of a process write one after another. */
const connections = 3
/** Operations and changes of shared maps are sent together. */
const sendEveryMs = 50
/** Limits what is sent at once. */
const operationsMax = 1000

const start = threadStart<IngestThreadStart>()
const unsent = createUnsent()
const opening = openContext()

serveThread({
  /** Runs the ingesters until the call is aborted, and closes the databases. */
  run: async (_: unknown, signal) => {
    const { context, close } = await opening
    try {
      const notify = (notice: Notice) => unsent.sendBefore(notice)
      const onTroubles = (chain: string, troubles: readonly (string | undefined)[]) =>
        void context.explorer.reportedTroubles.set(chain, troubles)
      await runIngesters(context, { ...start, notify, onTroubles }, signal)
    } finally {
      await close()
      unsent.send()
    }
    return { value: undefined }
  },
  ...(Object.fromEntries(
    searchWriteNames.map((name) => [
      name,
      async (input: unknown) => {
        const { context } = await opening
        return { value: await runSearchWrite(context, name, input as never) }
      },
    ]),
  ) as ThreadHandlers),
  ...(Object.fromEntries(
    ingestCallNames.map((name) => [
      name,
      async (input: unknown) => {
        const { context } = await opening
        return { value: await ingestCalls(context, start.dataDir)[name](input) }
      },
    ]),
  ) as ThreadHandlers),
})

async function openContext(): Promise<{ readonly context: IngestContext; readonly close: () => Promise<void> }> {
  const { settings, dataDir } = start
  const location = { dir: dataDir, options: storeOptions(settings.store) }
  await using resources = new AsyncDisposableStack()
  const ingest = resources.adopt(await openIngest(location.dir, location.options), (store) => store.close())
  const duties = resources.adopt(await openDuties(location.dir, location.options), (store) => store.close())
  const threads = resources.adopt(dutiesOnThreads(duties, location, 1), (store) => store.close())
  const report: ReportTime = (store, operation, tookMs, error) =>
    unsent.addOperation({ store, operation, tookMs, outcome: writeOutcome(error) })
  const context = createIngestContext({
    ingest: leasedState(timedState(ingest, systemClock, report, ingest.engine === 'sqlite' ? 'ingest' : 'state')),
    duties: leasedDuties(timedDuties(threads, systemClock, report)),
    settings,
    clock: systemClock,
    provenTime: new ProvenTime(systemClock, start.provenTime),
    random: systemRandom,
    log: createLog({}),
  })
  for (const [name, map] of Object.entries(sharedMaps(context)) as [SharedMap, Map<string, unknown>][])
    shareChanges(name, map)
  const open = resources.move()
  return { context, close: () => open.disposeAsync() }
}

/** From the primary, because ingesters read what they have just written. */
function storeOptions(store: StoreOptions): StoreOptions {
  return { ...store, stateReplicas: [], stateConnections: connections }
}

/** Sends every change of the map. */
function shareChanges(name: SharedMap, map: Map<string, unknown>): void {
  const change = (key: string, value: unknown) => unsent.addShared(name, key, value)
  Object.assign(map, {
    set(key: string, value: unknown) {
      change(key, value)
      return Map.prototype.set.call(map, key, value)
    },
    delete(key: string) {
      change(key, undefined)
      return Map.prototype.delete.call(map, key)
    },
  })
}

function createLog(fields: object): Log {
  const write = (level: LogLevel) => (more: object, message: string) =>
    unsent.sendBefore({ is: 'log', level, fields: { ...fields, ...more }, message })
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (more) => createLog({ ...fields, ...more }),
  }
}

/** Collects what is sent together. Of several values of an entry, only the last one is sent. */
function createUnsent() {
  const shared = new Map<string, ThreadNotice>()
  let operations: StoreOperation[] = []
  let isScheduled = false

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    void systemClock.sleep(sendEveryMs).then(send)
  }

  function send(): void {
    isScheduled = false
    for (const notice of shared.values()) sendNotice(notice)
    shared.clear()
    if (operations.length > 0) sendNotice({ is: 'stored', operations } satisfies ThreadNotice)
    operations = []
  }

  return {
    send,
    /** Sends what was collected, and then the notice. */
    sendBefore(notice: ThreadNotice): void {
      send()
      sendNotice(notice)
    },
    addShared(map: SharedMap, key: string, value: unknown): void {
      shared.set(`${map} ${key}`, { is: 'shared', map, key, value })
      schedule()
    },
    addOperation(operation: StoreOperation): void {
      operations.push(operation)
      if (operations.length >= operationsMax) send()
      else schedule()
    },
  }
}
