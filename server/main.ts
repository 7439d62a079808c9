// Puts the house together: stores → admission → pipeline → door, and the loops that bring data in. Read this first, then
// endpoints.ts. Nothing here decides anything; it only says what stands behind what, and takes it down in reverse.
import { openapi } from '#api/openapi.ts'
import type { Settings } from '#core/settings.ts'
import { labelExportPath } from '#groups/explorer/exports.ts'
import { chainFindings, startChains } from '#groups/explorer/index-start.ts'
import { keepListsReady } from '#groups/explorer/lists-ready.ts'
import { rateFindings, startRates } from '#groups/fx/rates.ts'
import { receiptSigner } from '#groups/fx/receipt-key.ts'
import { marketFindings, startMarkets } from '#groups/markets/feeds.ts'
import { dutiesOnThreads } from '#groups/validators/duties/store.ts'
import { withChainTimes } from '#groups/validators/ingest/chain.ts'
import { beaconFindings, startBeacon } from '#groups/validators/ingest/start.ts'
import { leasedDuties, leasedState, runOnce } from '#ingest/lease.ts'
import { type Clock, systemClock } from '#io/clock.ts'
import type { Log } from '#io/log.ts'
import { type Metrics, openMetrics } from '#io/metrics.ts'
import { type Random, systemRandom } from '#io/random.ts'
import { openAdmission } from '#serve/admit.ts'
import { openGuard } from '#serve/guard.ts'
import {
  documentPath,
  findingsOf,
  healthPaths,
  oncePerSecond,
  type Readiness,
  storeParts,
  Watch,
} from '#serve/health.ts'
import { type Door, openDoor } from '#serve/http.ts'
import { openHouse } from '#serve/pipeline.ts'
import { openStores } from '#store/open.ts'
import type { State } from '#store/state.ts'
import { type TellTime, timedDuties, timedState } from '#store/timed.ts'
import { Writes } from '#store/writes.ts'
import { consolePaths } from './console/paths.ts'
import { Board } from './console/progress.ts'
import { type AppContext, createContext } from './context.ts'
import { endpoints } from './endpoints.ts'
import { extensions } from './extensions.ts'
import { coveragePath, recentCoverage } from './upkeep/coverage.ts'
import { watchHead } from './upkeep/heads.ts'
import { startRetention } from './upkeep/retention.ts'
import { startUpkeep } from './upkeep/start.ts'

export interface StartOptions {
  readonly settings: Settings
  readonly dataDir: string
  readonly log: Log
  readonly clock?: Clock
  readonly random?: Random
  /** Shown in the metrics. */
  readonly version?: string
  /** Throws where this data is not to be served with these settings; asked before anything is done with it. */
  readonly consent?: (state: State) => Promise<void>
  /** Runs when the stores are open and before anyone is served. */
  readonly prepare?: (context: AppContext) => Promise<void>
}

export interface Running {
  readonly url: string
  readonly inject: Door['inject']
  readonly context: AppContext
  close(): Promise<void>
}

export async function start(options: StartOptions): Promise<Running> {
  const { log, clock = systemClock, random = systemRandom } = options
  // Whatever stands is taken down in reverse: at once if a later step fails, otherwise when the server closes.
  await using rising = new AsyncDisposableStack()
  const metrics = openMetrics({ version: options.version ?? 'unknown' })
  const stores = await openStores(options.dataDir, options.settings.store)
  rising.defer(() => stores.close())
  await options.consent?.(stores.state)
  const writes = new Writes(clock)
  const told: TellTime = (port, operation, tookMs, error) => {
    metrics.stored(port, operation, tookMs)
    if (operation === 'write') writes.told(port, error)
  }
  const state = leasedState(timedState(stores.state, clock, told))
  const threads = dutiesOnThreads(stores.duties, { dir: options.dataDir, options: options.settings.store })
  rising.defer(() => threads.close())
  const duties = leasedDuties(timedDuties(threads, clock, told))
  // A network's genesis and slots are its node's to tell.
  const settings = await withChainTimes({ duties, settings: options.settings, clock, log })
  const context = createContext({ state, duties, settings, clock, random, log })
  await options.prepare?.(context)
  // So that its public half can be noted down before the first quote.
  if (settings.groups.fx.on) await receiptSigner(context)

  const guard = openGuard(settings)
  const admission = await openAdmission(context, (what) => metrics.limited(what), guard, metrics.limitsHeld)
  rising.defer(() => admission.close())
  const stop = new AbortController()
  const board = new Board(clock)
  let url: string | undefined
  const upkeep = { dataDir: options.dataDir, version: options.version ?? 'unknown', url: () => url }
  const ingest = settings.ingest.on ? Object.entries(ingesters(context, metrics, board)) : []
  const loops = [
    startUpkeep(context, upkeep, stop.signal),
    keepListsReady(context, stop.signal),
    ...ingest.map(([name, work]) => {
      return runOnce(context, { name, work, tell: (is) => metrics.leased(name, is) }, stop.signal)
    }),
  ]
  rising.defer(async () => {
    stop.abort()
    await Promise.all(loops)
  })
  const watch = new Watch(context)
  const parts = {
    ...storeParts(context, writes),
    rates: () => rateFindings(context),
    chains: () => chainFindings(context),
    markets: () => marketFindings(context),
    beacon: () => beaconFindings(context),
  }
  const coverage = recentCoverage(context)
  const readiness: Readiness = {
    stopping: false,
    findings: oncePerSecond(clock, () => findingsOf(watch, parts)),
    tell: metrics.ready,
  }
  const house = openHouse(context, [...endpoints, ...extensions], admission, metrics)
  const door = await openDoor(house, [
    ...healthPaths(
      readiness,
      oncePerSecond(clock, async () => {
        const [findings, read] = await Promise.all([readiness.findings(), watch.ask('coverage', coverage)])
        // What nobody can tell is left out: an old figure would look like a new one.
        metrics.ready(!readiness.stopping && findings.every(({ ok }) => ok))
        metrics.standing(read?.streams ?? [])
        return { type: metrics.contentType, text: await metrics.text() }
      }),
    ),
    documentPath('/openapi.json', () => openapi({ serverUrl: settings.server.publicUrl || '/' })),
    labelExportPath(context),
    coveragePath(coverage),
    ...consolePaths(context, { version: options.version ?? 'unknown', readiness, metrics, board, coverage, guard }),
  ])
  url = door.url
  rising.defer(() => door.close())
  rising.defer(async () => {
    readiness.stopping = true
    door.leave()
    await clock.sleep(settings.server.stopDelayMs)
  })
  log.info({ url: door.url }, 'listening')

  const standing = rising.move()
  return {
    url: door.url,
    inject: door.inject,
    context,
    async close() {
      await standing.disposeAsync()
      log.info({}, 'stopped')
    },
  }
}

type Work = (signal: AbortSignal) => Promise<void>

/** What brings data in or lets it go. Of several processes one runs it (decision 0142). */
function ingesters(context: AppContext, metrics: Metrics, board: Board): Readonly<Record<string, Work>> {
  return {
    rates: (signal) =>
      startRates(context, signal, (notice) => {
        metrics.ingested(notice.source, notice.is)
        board.rates(notice)
      }),
    markets: (signal) =>
      startMarkets(context, signal, (notice) => {
        if (notice.is !== 'page') metrics.ingested(notice.source, notice.is)
        board.feed(notice)
      }),
    chains: (signal) =>
      startChains(context, signal, (chain) => {
        const tells = [watchHead(context, chain), board.chain(chain)]
        return (progress) => {
          for (const tell of tells) tell(progress)
        }
      }),
    beacon: (signal) =>
      startBeacon(context, signal, (network, step) => {
        metrics.audited(network, step.compared, step.differing)
        board.network(network, step)
      }),
    retention: (signal) => startRetention(context, signal),
  }
}
