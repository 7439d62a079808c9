// Composition root: opens the databases, creates the HTTP server and starts the ingesters. On close, everything is
// stopped in reverse order.

import { startHistoryRecorder } from '#admin/history.ts'
import { createProgressBoard } from '#admin/progress.ts'
import { consoleRoutes } from '#admin/routes.ts'
import { openapi } from '#api/contract/openapi.ts'
import { chainFindings } from '#explorer/funding/index/start-chains.ts'
import { labelExportRoute } from '#explorer/labels/lists/downloads.ts'
import { prepareLists } from '#explorer/labels/lists/prepare-lists.ts'
import { rateFindings, startRates } from '#fx/rates/poll-rates.ts'
import { getReceiptSigner } from '#fx/receipts/receipt-key.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { createBadKeyThrottle } from '#http/bad-key-throttle.ts'
import { documentRoute } from '#http/document-route.ts'
import {
  createHealthMonitor,
  findingsOf,
  healthRoutes,
  isReady,
  oncePerSecond,
  type Readiness,
  sharedLimitsFinding,
  storeChecks,
} from '#http/health.ts'
import { type HttpServer, startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { watchOpenFiles } from '#http/watch-open-files.ts'
import { runInOneProcess } from '#ingest/lease.ts'
import { leasedDuties, leasedState } from '#ingest/leased-stores.ts'
import { marketFindings } from '#markets/feeds/start-markets.ts'
import { coverageRoute, recentCoverage } from '#operations/coverage.ts'
import { openMcpRoute } from '#operations/mcp/mcp-route.ts'
import { readMirrorStatus } from '#operations/mirror/mirror.ts'
import { startProgressLog } from '#operations/progress-log.ts'
import { startRetention } from '#operations/retention.ts'
import { startOperations } from '#operations/start.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import { type Metrics, openMetrics } from '#runtime/metrics.ts'
import { openFilesReader } from '#runtime/open-files.ts'
import { type Random, systemRandom } from '#runtime/random.ts'
import type { Settings } from '#runtime/settings.ts'
import { openStores, type Stores } from '#storage/open.ts'
import { type ReportTime, timedDuties, timedState } from '#storage/timed.ts'
import { WriteHealth, writeOutcome } from '#storage/write-health.ts'
import { dutiesOnThreads } from '#validators/duties/store.ts'
import { withChainTimes } from '#validators/ingest/read/chain-identity.ts'
import { beaconFindings } from '#validators/ingest/start.ts'
import type { StoreOperation } from './background/ingest-thread.ts'
import { createNoticeReader } from './background/notices.ts'
import { createIngest } from './background/start-ingest.ts'
import { type AppContext, createContext } from './context.ts'
import { endpoints } from './endpoints.ts'
import { extensions } from './extensions.ts'

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
  const { log, clock = systemClock, random = systemRandom } = options
  // Closed in reverse order, either when a later step fails or when the server closes.
  await using resources = new AsyncDisposableStack()
  const metrics = openMetrics({ version: options.version ?? 'unknown' })
  const stores = await openStores(options.dataDir, {
    ...options.settings.store,
    checkpointsOnThread: true,
    onUpgrade: (message) => {
      log.warn({}, message)
      options.onUpgrade?.(message)
    },
  })
  resources.defer(() => stores.close())
  options.signal?.throwIfAborted()
  await options.checkData?.(stores)
  const writeHealth = new WriteHealth(clock)
  const onStored = ({ store, operation, tookMs, outcome }: StoreOperation) => {
    metrics.stored(store, operation, tookMs)
    if (operation === 'write') writeHealth.recordWrite(store, outcome)
  }
  const recordOperation: ReportTime = (store, operation, tookMs, error) =>
    onStored({ store, operation, tookMs, outcome: writeOutcome(error) })
  const state = leasedState(timedState(stores.state, clock, recordOperation))
  const ownIngest = () => leasedState(timedState(stores.ingest, clock, recordOperation, 'ingest'))
  const ingest = stores.ingest === stores.state ? state : ownIngest()
  const threads = dutiesOnThreads(stores.duties, { dir: options.dataDir, options: options.settings.store })
  resources.defer(() => threads.close())
  const duties = leasedDuties(timedDuties(threads, clock, recordOperation))
  const parts = { state, ingest, duties, clock, random, log }
  await options.prepare?.(createContext({ ...parts, settings: options.settings }))
  // Genesis and slot times come from the beacon nodes.
  options.signal?.throwIfAborted()
  const settings = await withChainTimes({ ...parts, settings: options.settings })
  options.signal?.throwIfAborted()
  const context = createContext({ ...parts, settings })
  // A thread reads one list over one or two connections.
  const listStore = { ...settings.store, stateConnections: 2 }
  context.explorer.listsOnThread = { dir: options.dataDir, options: listStore }
  const demoKey = await options.createDemoKey?.(context)
  // Create the key now, so that operators can record its public key before the first quote.
  if (settings.groups.fx.enabled) await getReceiptSigner(context)

  const badKeyThrottle = createBadKeyThrottle(settings)
  let hasSharedLimits = true
  const authorizer = await openAuthorizer(
    context,
    (code) => metrics.limited(code),
    badKeyThrottle,
    (is) => {
      hasSharedLimits = is
      metrics.setLimitsShared(is)
    },
  )
  resources.defer(() => authorizer.close())
  const stop = new AbortController()
  const progressBoard = createProgressBoard(clock)
  let url: string | undefined
  const notify = createNoticeReader(metrics, progressBoard)
  const hasExtensions = options.extensions !== 'none'
  const ingesters = await createIngest(context, {
    ...{ dataDir: options.dataDir, notify, onStored },
    hasAlerts: hasExtensions,
  })
  const operations = {
    dataDir: options.dataDir,
    version: options.version ?? 'unknown',
    url: () => url,
    ingestCalls: ingesters.calls,
  }
  resources.use(await startOperations(context, operations))
  const loops: Promise<void>[] = []
  resources.defer(async () => {
    stop.abort()
    await Promise.all(loops)
  })
  const runCheck = createHealthMonitor(context)
  const healthChecks = {
    ...storeChecks(context, writeHealth),
    limits: async () => (settings.limits === '' ? [] : [sharedLimitsFinding(hasSharedLimits)]),
    ingest: () => ingesters.findings(),
    rates: () => rateFindings(context),
    chains: () => chainFindings(context),
    markets: () => marketFindings(context),
    beacon: () => beaconFindings(context),
  }
  const coverage = recentCoverage(context)
  const readiness: Readiness = {
    stopping: false,
    findings: oncePerSecond(clock, () => findingsOf(runCheck, healthChecks)),
    reportReady: metrics.ready,
  }
  const history = settings.console.enabled ? startHistoryRecorder({ clock, metrics, coverage }) : undefined
  resources.defer(() => history?.stop())
  resources.defer(startProgressLog(context, coverage))
  const app = createApp(context, [...endpoints, ...(hasExtensions ? extensions : [])], authorizer, metrics)
  const openapiRoute = documentRoute(app, '/openapi.json', () =>
    openapi({ serverUrl: settings.server.publicUrl || withoutWildcard(httpServer.url) }),
  )
  options.signal?.throwIfAborted()
  const httpServer: HttpServer = await startHttpServer(app, [
    ...healthRoutes(
      readiness,
      oncePerSecond(clock, async () => {
        const [findings, report, mirror] = await Promise.all([
          readiness.findings(),
          runCheck('coverage', coverage),
          runCheck('mirror', () => readMirrorStatus(context)),
        ])
        metrics.ready(!readiness.stopping && isReady(findings))
        // Without a report, export no stream metrics: old values would look current.
        metrics.setStreams(report?.streams ?? [])
        metrics.setMirror(mirror ?? [])
        return { type: metrics.contentType, text: await metrics.text() }
      }),
    ),
    openapiRoute,
    labelExportRoute(context),
    coverageRoute(coverage),
    ...(settings.mcp.enabled ? [await openMcpRoute(app, options.version ?? 'unknown')] : []),
    ...consoleRoutes(context, {
      version: options.version ?? 'unknown',
      readiness,
      board: progressBoard,
      coverage,
      history,
      authorizer,
      badKeyThrottle,
      demoKey,
    }),
  ])
  url = httpServer.url
  resources.defer(() => httpServer.close())
  resources.defer(watchOpenFiles(app, await openFilesReader()))
  resources.defer(async () => {
    readiness.stopping = true
    httpServer.drain()
    await clock.sleep(settings.server.stopDelayMs)
  })
  log.info({ url: httpServer.url }, 'listening')
  // After the server listens: their first work would delay it.
  loops.push(prepareLists(context, stop.signal), openapiRoute.prepare())
  loops.push(ingesters.run(stop.signal))
  if (settings.ingest.enabled)
    for (const [name, work] of Object.entries(ownLoops(context, metrics)))
      loops.push(runInOneProcess(context, { name, work, reportHolding: (is) => metrics.leased(name, is) }, stop.signal))

  const openResources = resources.move()
  return {
    url: httpServer.url,
    listener: httpServer.listener,
    context,
    async close() {
      await openResources.disposeAsync()
      log.info({}, 'stopped')
    },
  }
}

/** Callers cannot connect to the address of a server that listens on all of them. */
const withoutWildcard = (url: string): string => url.replace(/\/\/(0\.0\.0\.0|\[::\])(?=:)/, '//localhost')

/** What is small and concerns only what requests write, or what quotes read. Other ingesters: background/ingesters.ts. */
const ownLoops = (
  context: AppContext,
  metrics: Metrics,
): Readonly<Record<string, (signal: AbortSignal) => Promise<void>>> => ({
  rates: (signal) => startRates(context, signal, (notice) => metrics.ingested(notice.source, notice.is)),
  retention: (signal) => startRetention(context, signal),
})
