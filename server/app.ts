// Starts a server: opens the databases, creates the HTTP server and starts the ingesters. On close, everything is stopped in
// reverse order. Each step is a file in start/.

import { startHistoryRecorder } from '#admin/history.ts'
import { createProgressBoard } from '#admin/progress.ts'
import { getReceiptSigner } from '#fx/receipts/receipt-key.ts'
import { type HttpServer, startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { watchOpenFiles } from '#http/watch-open-files.ts'
import { recentCoverage } from '#operations/coverage.ts'
import { startProgressLog } from '#operations/progress-log.ts'
import { startOperations } from '#operations/start.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import { openMetrics } from '#runtime/metrics.ts'
import { openFilesReader } from '#runtime/open-files.ts'
import { type Random, systemRandom } from '#runtime/random.ts'
import type { Settings } from '#runtime/settings.ts'
import type { Stores } from '#storage/open.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { createNoticeReader } from './background/notices.ts'
import { createIngest } from './background/start-ingest.ts'
import { type AppContext, createContext } from './context.ts'
import { endpoints } from './endpoints.ts'
import { extensions } from './extensions.ts'
import { createHealth } from './start/create-health.ts'
import { createRoutes } from './start/create-routes.ts'
import { Loops } from './start/loops.ts'
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
  /** Runs after the databases are open, before the beacon nodes are asked for the times of their chains. */
  readonly prepare?: (context: AppContext) => Promise<void>
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
  // Closed in reverse order, either when a later step fails or when the server closes.
  await using resources = new AsyncDisposableStack()
  const metrics = openMetrics({ version })
  const { databases, writeHealth, onStored } = resources.use(await openDatabases(options, clock, metrics))
  const context = await createServerContext(options, { ...databases, clock, random, log })
  const { settings } = context
  const demoKey = await options.createDemoKey?.(context)
  // Create the key now, so that operators can record its public key before the first quote.
  if (settings.groups.fx.enabled) await getReceiptSigner(context)
  const authorization = resources.use(await openAuthorization(context, metrics))

  const progressBoard = createProgressBoard(clock)
  const notify = createNoticeReader(metrics, progressBoard)
  const ingest = await createIngest(context, { dataDir, notify, onStored, hasAlerts: hasExtensions })
  let httpServer: HttpServer | undefined
  const url = () => httpServer?.url
  resources.use(await startOperations(context, { dataDir, version, url, ingestCalls: ingest.calls }))
  const loops = resources.use(new Loops())

  const coverage = recentCoverage(context)
  const history = settings.console.enabled ? startHistoryRecorder({ clock, metrics, coverage }) : undefined
  resources.defer(() => history?.stop())
  resources.defer(startProgressLog(context, coverage))

  const { hasSharedLimits } = authorization
  const health = createHealth(context, { metrics, writeHealth, ingest, hasSharedLimits, coverage })
  const handlers = hasExtensions ? [...endpoints, ...extensions] : endpoints
  const app = createApp(context, handlers, authorization.authorizer, metrics)
  const listeningUrl = () => url() ?? ''
  const routes = await createRoutes(context, app, {
    ...{ version, listeningUrl, health, authorization, coverage, progressBoard, history, demoKey },
  })
  options.signal?.throwIfAborted()
  const listening = await startHttpServer(app, routes.all)
  httpServer = listening
  resources.defer(() => listening.close())
  resources.defer(watchOpenFiles(app, await openFilesReader()))
  resources.defer(async () => {
    health.readiness.stopping = true
    listening.drain()
    await clock.sleep(settings.server.stopDelayMs)
  })
  log.info({ url: listening.url }, 'listening')
  loops.start(context, ingest, metrics, hasExtensions)
  loops.add(routes.openapi.prepare())

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

type ContextParts = Databases & Pick<AppContext, 'clock' | 'random' | 'log'>

/** Asks the beacon nodes for genesis and slot times, which are part of the settings of a context. */
async function createServerContext(options: StartOptions, parts: ContextParts): Promise<AppContext> {
  await options.prepare?.(createContext({ ...parts, settings: options.settings }))
  options.signal?.throwIfAborted()
  const settings = await withChainTimes({ ...parts, settings: options.settings })
  options.signal?.throwIfAborted()
  const context = createContext({ ...parts, settings })
  // A thread reads one list over one or two connections.
  const listStore = { ...settings.store, stateConnections: 2 }
  context.explorer.listsOnThread = { dir: options.dataDir, options: listStore }
  return context
}
