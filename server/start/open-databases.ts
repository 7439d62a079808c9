// Opens the databases of a server. Every operation is measured, and every write of an ingester checks its lease.
import { leasedDuties, leasedState } from '#ingest/leased-stores.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Duties } from '#storage/duties.ts'
import { openStores } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { type ReportTime, timedDuties, timedState } from '#storage/timed.ts'
import { WriteHealth, writeOutcome } from '#storage/write-health.ts'
import { dutiesOnThreads } from '#validators/duties/store.ts'
import type { StartOptions } from '../app.ts'
import type { StoreOperation } from '../background/ingest-thread.ts'

export interface Databases {
  readonly state: State
  readonly ingest: State
  readonly duties: Duties
}

export interface OpenDatabases extends AsyncDisposable {
  readonly databases: Databases
  /** Whether writes succeed, for /readyz. */
  readonly writeHealth: WriteHealth
  /** Adds an operation on a database to the metrics. Other threads report theirs, because they have connections of their own. */
  readonly recordOperation: (operation: StoreOperation) => void
}

export async function openDatabases(options: StartOptions, clock: Clock, metrics: Metrics): Promise<OpenDatabases> {
  const { dataDir, settings, log } = options
  await using resources = new AsyncDisposableStack()
  const stores = await openStores(dataDir, {
    ...settings.store,
    checkpointsOnThread: true,
    onWait: (reason) => log.warn({ reason }, 'the start waits for PostgreSQL'),
    onUpgrade: (message) => {
      log.warn({}, message)
      options.onUpgrade?.(message)
    },
  })
  resources.defer(() => stores.close())
  options.signal?.throwIfAborted()
  await options.checkData?.(stores)
  const dutyThreads = dutiesOnThreads(stores.duties, { dir: dataDir, options: settings.store })
  resources.defer(() => dutyThreads.close())

  const writeHealth = new WriteHealth(clock)
  const recordOperation = ({ store, operation, tookMs, outcome }: StoreOperation) => {
    metrics.stored(store, operation, tookMs)
    if (operation === 'write') writeHealth.recordWrite(store, outcome)
  }
  const report: ReportTime = (store, operation, tookMs, error) =>
    recordOperation({ store, operation, tookMs, outcome: writeOutcome(error) })
  const state = leasedState(writeHealth.watch(timedState(stores.state, clock, report), 'state'))
  const isOneDatabase = stores.ingest === stores.state
  const ingest = isOneDatabase
    ? state
    : leasedState(writeHealth.watch(timedState(stores.ingest, clock, report, 'ingest'), 'ingest'))
  const duties = leasedDuties(timedDuties(dutyThreads, clock, report))

  const opened = resources.move()
  return {
    databases: { state, ingest, duties },
    writeHealth,
    recordOperation,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
