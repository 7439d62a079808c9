// Puts the house together: stores → admission → pipeline → door, and the loops that bring data in. Read this first, then
// endpoints.ts. Nothing here decides anything; it only says what stands behind what, and takes it down in reverse.
import { openapi } from '#api/openapi.ts'
import type { Settings } from '#core/settings.ts'
import { labelExportPath } from '#groups/explorer/exports.ts'
import { chainFindings, startChains } from '#groups/explorer/index-start.ts'
import { rateFindings, startRates } from '#groups/fx/rates.ts'
import { marketFindings, startMarkets } from '#groups/markets/feeds.ts'
import { withChainTimes } from '#groups/validators/ingest/chain.ts'
import { beaconFindings, startBeacon } from '#groups/validators/ingest/start.ts'
import { type Clock, systemClock } from '#io/clock.ts'
import type { Log } from '#io/log.ts'
import { openMetrics } from '#io/metrics.ts'
import { type Random, systemRandom } from '#io/random.ts'
import { openAdmission } from '#serve/admit.ts'
import type { Desk } from '#serve/answer.ts'
import { documentPath, healthPaths, type Readiness, storeFindings } from '#serve/health.ts'
import { type Door, openDoor } from '#serve/http.ts'
import { openHouse } from '#serve/pipeline.ts'
import { openStores } from '#store/open.ts'
import { timedFacts, timedState } from '#store/timed.ts'
import { endpoints } from './endpoints.ts'
import { extensions } from './extensions.ts'
import { coveragePath, recentCoverage } from './upkeep/coverage.ts'
import { watchHead } from './upkeep/heads.ts'
import { startUpkeep } from './upkeep/start.ts'

export interface StartOptions {
  readonly settings: Settings
  readonly dataDir: string
  readonly log: Log
  readonly clock?: Clock
  readonly random?: Random
  /** Shown in the metrics. */
  readonly version?: string
  /** Runs when the stores are open and before anyone is served. */
  readonly prepare?: (desk: Desk) => Promise<void>
}

export interface Running {
  readonly url: string
  readonly inject: Door['inject']
  readonly desk: Desk
  close(): Promise<void>
}

export async function start(options: StartOptions): Promise<Running> {
  const { log, clock = systemClock, random = systemRandom } = options
  // Whatever stands is taken down in reverse: at once if a later step fails, otherwise when the server closes.
  await using rising = new AsyncDisposableStack()
  const metrics = openMetrics({ version: options.version ?? 'unknown' })
  const stores = await openStores(options.dataDir)
  rising.defer(() => stores.close())
  const state = timedState(stores.state, clock, metrics.stored)
  const facts = timedFacts(stores.facts, clock, metrics.stored)
  // A network's genesis and slots are its node's to tell.
  const settings = await withChainTimes({ facts, settings: options.settings, clock, log })
  const desk: Desk = { state, facts, settings, clock, random, log }
  await options.prepare?.(desk)

  const admission = await openAdmission(desk, (what) => metrics.limited(what))
  rising.defer(() => admission.close())
  const stop = new AbortController()
  const ingested = ({ source, is }: { source: string; is: string }) => metrics.ingested(source, is)
  const upkeep = { dataDir: options.dataDir, version: options.version ?? 'unknown' }
  const loops = [
    startRates(desk, stop.signal, ingested),
    startMarkets(desk, stop.signal, ingested),
    startChains(desk, stop.signal, (chain) => watchHead(desk, chain)),
    startBeacon(desk, stop.signal),
    startUpkeep(desk, upkeep, stop.signal),
  ]
  rising.defer(async () => {
    stop.abort()
    await Promise.all(loops)
  })
  const readiness: Readiness = {
    stopping: false,
    findings: async () => {
      const asked = [storeFindings, rateFindings, chainFindings, marketFindings, beaconFindings].map((ask) => ask(desk))
      return (await Promise.all(asked)).flat()
    },
    tell: metrics.ready,
  }
  const house = openHouse(desk, [...endpoints, ...extensions], admission, metrics)
  const door = await openDoor(house, [
    ...healthPaths(readiness, async () => {
      metrics.ready(!readiness.stopping && (await readiness.findings()).every(({ ok }) => ok))
      metrics.standing((await recentCoverage(desk)).streams)
      return { type: metrics.contentType, text: await metrics.text() }
    }),
    documentPath('/openapi.json', () => openapi({ serverUrl: settings.server.publicUrl || '/' })),
    labelExportPath(desk),
    coveragePath(desk),
  ])
  rising.defer(() => door.close())
  rising.defer(async () => {
    readiness.stopping = true
    await clock.sleep(settings.server.stopDelayMs)
  })
  log.info({ url: door.url }, 'listening')

  const standing = rising.move()
  return {
    url: door.url,
    inject: door.inject,
    desk,
    async close() {
      await standing.disposeAsync()
      log.info({}, 'stopped')
    },
  }
}
