// Starts a server: opens the databases, creates the HTTP server and starts the ingesters. The longer steps are
// files in start/ and background/.
//
// A part that must be stopped is registered in `resources` when it starts. The parts stop in reverse order, when a later
// step fails and when the server closes. So a server that closes does this:
//
// 1. It reports to load balancers that it stops, and waits `server.stopDelayMs`. It still handles requests.
// 2. The HTTP server refuses new requests, and waits for those in flight.
// 3. Ingesters, with their thread, and other background work end.
// 4. The control socket closes. Then the counted calls of keys are stored, and the databases close.
import { startHistoryRecorder } from '#admin/history.ts'
import { createProgressBoard } from '#admin/progress.ts'
import { getReceiptSigner } from '#fx/receipts/receipt-key.ts'
import { type HttpServer, startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { watchOpenFiles } from '#http/watch-open-files.ts'
import { recentCoverage } from '#operations/coverage.ts'
import { startProgressLog } from '#operations/progress-log.ts'
import { openProvenTime } from '#operations/proven-time/keep-proven-time.ts'
import { readTimeSources } from '#operations/proven-time/read-time-sources.ts'
import { startOperations } from '#operations/start.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import { openMetrics } from '#runtime/metrics.ts'
import { openFilesReader } from '#runtime/open-files.ts'
import { ProvenTime } from '#runtime/proven-time.ts'
import { type Random, systemRandom } from '#runtime/random.ts'
import type { Settings } from '#runtime/settings.ts'
import type { WorkerThread } from '#runtime/worker-thread.ts'
import type { Stores } from '#storage/open.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { createNoticeReceiver } from './background/notices.ts'
import { openMarketThreads } from './background/open-market-threads.ts'
import { createIngest } from './background/start-ingest.ts'
import { type AppContext, createContext } from './context.ts'
import { endpoints } from './endpoints.ts'
import { extensions } from './extensions.ts'
import { BackgroundWork } from './start/background-work.ts'
import { createHealth } from './start/create-health.ts'
import { createRoutes } from './start/create-routes.ts'
import { openAuthorization } from './start/open-authorization.ts'
import { type Databases, openDatabases } from './start/open-databases.ts'

export interface StartOptions {
  readonly settings: Settings
  readonly dataDir: string
  readonly log: Log
  readonly clock?: Clock
  readonly random?: Random
  /** If it aborts, the start fails after its current step, and what is open is closed. */
  readonly signal?: AbortSignal
  /** Shown in the metrics. */
  readonly version?: string
  /** Called before tables of an earlier version are changed, with a message for the operator. */
  readonly onUpgrade?: (message: string) => void
  /** Throws if this data must not be served with these settings. Runs before anything is written. */
  readonly checkData?: (stores: Pick<Stores, 'state' | 'ingest'>) => Promise<void>
  /**
   * Runs when the databases are open. It runs before the beacon nodes are asked, so the settings of its context lack
   * genesis and slot times.
   */
  readonly beforeStart?: (context: AppContext) => Promise<void>
  /** Default: `all`. With `none`, the server has only the eight endpoints, and no alerts. */
  readonly extensions?: 'all' | 'none'
  /** Only for the demo: creates the key that the console gives to all visitors. */
  readonly createDemoKey?: (context: AppContext) => Promise<string>
}

export interface RunningServer {
  readonly url: string
  readonly listener: HttpServer['listener']
  readonly context: AppContext
  close(): Promise<void>
}

export async function startServer(options: StartOptions): Promise<RunningServer> {
  const { dataDir, log, clock = systemClock, random = systemRandom, version = 'unknown' } = options
  const hasExtensions = options.extensions !== 'none'
  await using resources = new AsyncDisposableStack()
  const metrics = openMetrics({ version })
  const { databases, writeHealth, recordOperation } = resources.use(await openDatabases(options, clock, metrics))
  const parts = { ...databases, clock, provenTime: new ProvenTime(clock), random, log }
  const marketThreads = openMarketThreads(options)
  resources.defer(() => marketThreads.close())
  const context = await createServerContext(options, parts, marketThreads)
  const { settings } = context
  const demoKey = await options.createDemoKey?.(context)
  // Before anything is deleted.
  const timeKeeper = await openProvenTime(context, () => readTimeSources(context))
  // Create the key now, so that operators can record its public key before the first quote.
  if (settings.groups.fx.enabled) await getReceiptSigner(context)
  const authorization = resources.use(await openAuthorization(context, metrics))

  const progressBoard = createProgressBoard(clock)
  const notify = createNoticeReceiver(metrics, progressBoard)
  // The background work ends its thread first. Calls of the control socket may start it again, so it is closed again here.
  const ingest = resources.use(
    await createIngest(context, { dataDir, notify, recordOperation, hasAlerts: hasExtensions }),
  )
  /** Undefined until the server listens. */
  let listeningUrl: string | undefined
  const url = () => listeningUrl
  resources.use(await startOperations(context, { dataDir, version, url, ingestCalls: ingest.calls }))
  const backgroundWork = resources.use(new BackgroundWork())

  const coverage = recentCoverage(context)
  const metricsHistory = settings.console.enabled ? startHistoryRecorder({ clock, metrics, coverage }) : undefined
  resources.defer(() => metricsHistory?.stop())
  resources.defer(startProgressLog(context, coverage))

  const { hasSharedLimits } = authorization
  const health = createHealth(context, { metrics, writeHealth, ingest, hasSharedLimits, coverage })
  const handlers = hasExtensions ? [...endpoints, ...extensions] : endpoints
  const app = createApp(context, handlers, authorization.authorizer, metrics)
  const routeParts = { version, url, health, authorization, coverage, progressBoard, metricsHistory, demoKey }
  const routes = await createRoutes(context, app, routeParts)
  options.signal?.throwIfAborted()
  const listening = await startHttpServer(app, routes.all, routes.notFoundPage)
  listeningUrl = listening.url
  resources.defer(() => listening.close())
  resources.defer(watchOpenFiles(app, await openFilesReader()))
  // Registered last, so it runs first, while the server still listens.
  resources.defer(async () => {
    health.readiness.stopping = true
    listening.drain()
    await clock.sleep(settings.server.stopDelayMs)
  })
  log.info({ url: listening.url }, 'listening')
  backgroundWork.start(context, { ingest, metrics, timeKeeper, hasExtensions })
  backgroundWork.add(routes.openapi.prepare())

  const openResources = resources.move()
  return {
    url: listening.url,
    listener: listening.listener,
    context,
    async close() {
      await openResources.disposeAsync()
      log.info({}, 'stopped')
    },
  }
}

type ContextParts = Databases & Pick<AppContext, 'clock' | 'provenTime' | 'random' | 'log'>

/** Asks the beacon nodes for genesis and slot times, which are part of the settings of a context. */
async function createServerContext(
  options: StartOptions,
  parts: ContextParts,
  marketThreads: WorkerThread,
): Promise<AppContext> {
  await options.beforeStart?.(createContext({ ...parts, settings: options.settings }))
  options.signal?.throwIfAborted()
  const settings = await withChainTimes({ ...parts, settings: options.settings })
  options.signal?.throwIfAborted()
  // The thread that writes a label list needs at most two connections.
  const listThreadStore = { dir: options.dataDir, options: { ...settings.store, stateConnections: 2 } }
  return createContext({ ...parts, settings }, { listThreadStore, marketThreads })
}
