// Starts the ingesters of a server: on a thread of their own, so that they do not delay requests, or on this thread.
//
// 1. The thread has its own connections, so that it shares no transaction and no queue with requests.
// 2. What it keeps in memory and requests need is copied to the context of this thread (notices.ts).
// 3. On SQLite, the thread also stores the fundings that requests find on a node, so that one thread writes the file. If it
//    dies or hangs meanwhile, the request fails, and the next one for the same address searches again.
// 4. If the thread dies, it starts again. Nothing that was committed is lost, and its leases are continued at once.

import { errorMessage } from '#core/error-message.ts'
import { Fault } from '#core/fault.ts'
import type { CallSearchWrite } from '#explorer/funding/search-writes.ts'
import type { Finding } from '#http/health.ts'
import { waitMs } from '#ingest/poll.ts'
import { type IngestCalls, ingestCallNames, ingestCalls } from '#operations/ingest-calls.ts'
import { systemClock, withTimeout } from '#runtime/clock.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import { openThread } from '#runtime/worker-thread.ts'
import { unavailable } from '#storage/write-queue.ts'
import type { AppContext } from '../context.ts'
import type { IngestThreadStart, StoreOperation, ThreadNotice } from './ingest-thread.ts'
import { hasSources, runIngesters } from './ingesters.ts'
import { type Notify, sharedMaps } from './notices.ts'

export interface IngestParts {
  readonly dataDir: string
  readonly notify: Notify
  /** See `IngestOptions`. */
  readonly hasAlerts: boolean
  /** Receives the operations of the thread on the databases. */
  readonly recordOperation: (operation: StoreOperation) => void
}

/** Disposing ends the thread, which starts with the first call. */
export interface Ingest extends AsyncDisposable {
  /** For commands (operations/start.ts). */
  readonly calls: IngestCalls
  /** For /readyz. */
  findings(): Promise<readonly Finding[]>
  /** Runs until the signal aborts, and resolves when all ingesters have ended. */
  run(signal: AbortSignal): Promise<void>
}

/** The clock and the randomness of a thread are those of the system, so tests that control them have no thread. */
export async function createIngest(context: AppContext, parts: IngestParts): Promise<Ingest> {
  const { settings, clock } = context
  const isNeeded = settings.ingest.enabled && hasSources(settings)
  return isNeeded && clock === systemClock ? ingestOnThread(context, parts) : ingestOnThisThread(context, parts)
}

function ingestOnThisThread(context: AppContext, { dataDir, notify, hasAlerts }: IngestParts): Ingest {
  const options = { dataDir, notify, hasAlerts, onTroubles: () => {}, holder: context.random.uuid() }
  return {
    calls: ingestCalls(context, dataDir),
    findings: async () => [],
    run: async (signal) => {
      if (context.settings.ingest.enabled) await runIngesters(context, options, signal)
    },
    [Symbol.asyncDispose]: async () => {},
  }
}

/** Without it, the memory of an idle server is a fifth larger than without the thread. */
const resourceLimits = { maxYoungGenerationSizeMb: 6 }
/** Waits between starts, which grow as those of a source that fails (ingest/poll.ts). */
const restarts = { everyMs: 1000, backoffMaxMs: 60_000 }
/** A thread that has run for so long starts again without a longer wait. */
const stableMs = 600_000
/** Longer than any transaction of an ingester, shorter than the time limit of requests. */
const storeTimeoutMs = 5000

function ingestOnThread(context: AppContext, { dataDir, notify, recordOperation, hasAlerts }: IngestParts): Ingest {
  const { clock, log, provenTime, random, settings } = context
  const maps = sharedMaps(context)
  const start: IngestThreadStart = {
    ...{ settings, dataDir, hasAlerts, holder: random.uuid() },
    provenTime: provenTime.shared,
  }
  const thread = openThread(new URL('./ingest-thread.ts', import.meta.url), start, {
    isBackground: true,
    resourceLimits,
    onNotice: (value) => readNotice(value as ThreadNotice),
  })
  /** Ingesters that the thread runs. */
  const held = new Set<string>()
  let failure: string | undefined

  function readNotice(notice: ThreadNotice): void {
    failure = undefined
    if (notice.is === 'log') log[notice.level](notice.fields, notice.message)
    else if (notice.is === 'stored') for (const operation of notice.operations) recordOperation(operation)
    else if (notice.is === 'shared') {
      const { map, key, value } = notice
      if (value === undefined) maps[map].delete(key)
      else maps[map].set(key, value)
    } else {
      if (notice.is === 'leased') held[notice.holds ? 'add' : 'delete'](notice.ingester)
      notify(notice)
    }
  }

  /** Rule 3. The caller reads its own write, because the thread replies after the commit. */
  const writeOnThread: CallSearchWrite = async (name, input) => {
    try {
      return await withTimeout(clock, storeTimeoutMs, thread.call(name, input))
    } catch (error) {
      if (error instanceof Fault) throw error
      throw unavailable(`the ingest thread has not stored what a search found: ${errorMessage(error)}`, error)
    }
  }
  if (context.ingest.engine === 'sqlite') context.explorer.writeOnThread = writeOnThread

  /** Old values must not look current. The time of the last step of a stream stays. */
  function forget(): void {
    for (const name of ['ingestStatuses', 'provisional', 'headPayloads', 'troubles', 'forks'] as const)
      maps[name].clear()
    for (const ingester of held) notify({ is: 'leased', ingester, holds: false })
    held.clear()
    notify({ is: 'watched', method: 'clear', args: [] })
  }

  return {
    calls: Object.fromEntries(
      ingestCallNames.map((name) => [name, (input: unknown) => thread.call(name, input)]),
    ) as IngestCalls,
    findings: async () => {
      const message = failure ?? 'running'
      return [{ name: 'ingest thread', ok: failure === undefined, message }]
    },
    async run(signal) {
      for (let failures = 0; !signal.aborted; ) {
        const startMs = clock.monotonicMs()
        try {
          await thread.call('run', undefined, signal)
        } catch (error) {
          if (signal.aborted) break
          failures = clock.monotonicMs() - startMs < stableMs ? failures + 1 : 1
          failure = 'stopped by an error; it starts again; see the log'
          log.error({ failures, ...failureFields(error) }, 'ingest thread ended; restarting it')
        }
        forget()
        await thread.close()
        await clock.sleep(waitMs(restarts, failures, random), signal)
      }
      await thread.close()
    },
    [Symbol.asyncDispose]: () => thread.close(),
  }
}
