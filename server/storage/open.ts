// Opens the databases: `state.sqlite`, `ingest.sqlite` and `duties.sqlite` in the data folder, or two schemas in PostgreSQL,
// where state and ingest are the same. Each file has a thread that writes most of it, because SQLite has one writer per
// file: requests write the state, ingesters the other two. Errors are for the operator: they name the file or server, what
// happened and what to do.
//
// 1. Tables are changed only after all checks: all databases, the lock of the folder, versions, and unfinished moves and
//    restores. If a start is refused, the data still works with the version that wrote it.
// 2. Tables are not changed while a server runs on the same data folder (behaviour/operations.md#migrations).
// 3. The files are backed up before existing tables are changed (upgrade-backup.ts).
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Fault } from '#core/fault.ts'
import { makeFolder } from '#runtime/make-folder.ts'
import type { WorkerThread } from '#runtime/worker-thread.ts'
import { lockFolder } from './folder-lock.ts'
import { migrateStore, type UnmigratedStore } from './migrate.ts'
import { allStateMigrations, dutiesMigrations, type StateMigrations } from './migrations.ts'
import { refuseUnfinishedState } from './move.ts'
import { openCheckpointThread } from './sqlite/checkpointer.ts'
import { openUnmigratedSqlite } from './sqlite/sqlite.ts'
import type { Migration, State } from './state.ts'

export interface Stores extends StateAndIngest {
  /** Validator duties; server/validators/duties/store.ts wraps it. */
  readonly duties: State
}

export interface StateAndIngest {
  /** Keys, usage, sessions, rates and quotes. */
  readonly state: State
  /** Labels, fundings, markets and the registry of validators. On PostgreSQL the same object as `state`. */
  readonly ingest: State
  close(): Promise<void>
}

/** The settings of `store`, all optional. */
export interface StoreOptions {
  /** postgres://…; empty: the files in the data folder. */
  readonly state?: string
  readonly stateReplicas?: readonly string[]
  readonly stateConnections?: number
  /** How long to wait while PostgreSQL restarts or fails over. */
  readonly stateWaitMs?: number
  /**
   * No setting: a server sets it for what its requests use. A statement then ends after `stateWaitMs`. Opening waits as long
   * for a PostgreSQL server that starts or fails over, and calls it once with the reason.
   */
  readonly onWait?: (reason: string) => void
  /** How long to retry while another process has locked a file. */
  readonly busyWaitMs?: number
  /** No setting: a server sets it (sqlite/checkpointer.ts). */
  readonly checkpointsOnThread?: boolean
  /** How many backups before upgrades are kept. Default: 0, which makes none (upgrade-backup.ts). */
  readonly upgradeBackups?: number
  /** No setting: is called before existing tables are changed, with a message for the operator. */
  readonly onUpgrade?: (message: string) => void
}

export const stateFile = (dir: string): string => join(dir, 'state.sqlite')
export const ingestFile = (dir: string): string => join(dir, 'ingest.sqlite')
export const dutiesFile = (dir: string): string => join(dir, 'duties.sqlite')
/** Exists until a restore into the data folder has finished (restore.ts). */
export const restoringFolder = (dir: string): string => join(dir, 'restoring')
export const connectionsDefault = 8
/** An outage that no request waits for does not make statements faster. */
const statementMsMin = 5000
/** A commit of a million validators takes a few seconds, during which the file is busy. */
const dutiesBusyWaitMs = 60_000

/** Only the state, for what needs nothing else. */
export const openState = (
  dir: string,
  options: StoreOptions = {},
  migrations: Partial<StateMigrations> = {},
): Promise<State> => openOne(dir, options, 'state', migrations)

/** Only what ingesters write, for threads. */
export const openIngest = (dir: string, options: StoreOptions = {}): Promise<State> =>
  openOne(dir, options, 'ingest', {})

async function openOne(
  dir: string,
  options: StoreOptions,
  name: 'state' | 'ingest',
  migrations: Partial<StateMigrations>,
): Promise<State> {
  await using resources = new AsyncDisposableStack()
  const unmigrated = resources.adopt(await openUnmigratedState(dir, options, name, migrations), closeStore)
  await migrateBeside(dir, options, [unmigrated])
  resources.move()
  return unmigrated.store
}

/** State and ingest, for commands that run next to a server. */
export async function openStateAndIngest(
  dir: string,
  options: StoreOptions = {},
  migrations: Partial<StateMigrations> = {},
): Promise<StateAndIngest> {
  await using resources = new AsyncDisposableStack()
  const { state, ingest } = await openUnmigratedBoth(dir, options, migrations, resources)
  if (state.version > 0) await refuseUnfinishedState(state.store)
  await migrateBeside(dir, options, [state, ingest], ingest.store)
  const open = resources.move()
  return { state: state.store, ingest: ingest.store, close: () => open.disposeAsync() }
}

async function migrateBeside(
  dir: string,
  options: StoreOptions,
  stores: readonly UnmigratedStore[],
  ingest?: State,
): Promise<void> {
  const isBehind = stores.some((store) => store.isBehind)
  if (isBehind) await refuseServed(dir)
  // A server without a control socket also has the lock.
  using _lock = isBehind && !isShared(options) ? lockFolder(dir) : undefined
  // All files are upgraded together, so that all files of the backup are of the earlier version.
  const duties = isBehind && ingest && !isShared(options) ? await openUnmigratedDuties(dir, options) : undefined
  try {
    if (isBehind && ingest) await prepareUpgrade(dir, options, ingest)
    for (const store of new Set(stores)) await store.migrate()
    await duties?.migrate()
  } finally {
    await duties?.store.close()
  }
}

/** All databases, for the only process that works on the folder. */
export async function openStores(
  dir: string,
  options: StoreOptions = {},
  migrations: Partial<StateMigrations> = {},
): Promise<Stores> {
  // Also with PostgreSQL, because the control socket is in the folder.
  await createDataDir(dir)
  await using resources = new AsyncDisposableStack()
  if (!isShared(options)) {
    refuseUnfinishedRestore(dir)
    resources.use(lockFolder(dir))
  }
  const checkpointThread = options.checkpointsOnThread ? openCheckpointThread() : undefined
  resources.defer(() => checkpointThread?.close())
  const { state, ingest } = await openUnmigratedBoth(dir, options, migrations, resources, checkpointThread)
  const duties = resources.adopt(await openUnmigratedDuties(dir, options), closeStore)
  const all = [...new Set([state, ingest, duties])]
  for (const { store, version } of all) if (version > 0) await refuseUnfinishedState(store)
  if (all.some((store) => store.isBehind)) {
    await refuseServed(dir)
    await prepareUpgrade(dir, options, ingest.store)
  }
  for (const store of all) await store.migrate()
  const open = resources.move()
  return { state: state.store, ingest: ingest.store, duties: duties.store, close: () => open.disposeAsync() }
}

/** Rule 3. */
async function prepareUpgrade(dir: string, options: StoreOptions, ingest: State): Promise<void> {
  const { upgradeBackups: keptCount = 0, onUpgrade } = options
  if (isShared(options)) {
    onUpgrade?.(
      'The tables in PostgreSQL are upgraded now. Only a backup from before leads back to the earlier version.',
    )
    return
  }
  if (keptCount === 0) return
  const { backUpBeforeUpgrade } = await import('./upgrade-backup.ts')
  const backup = await backUpBeforeUpgrade(dir, ingest, keptCount)
  onUpgrade?.(`The data folder is upgraded now. A backup from before is in ${backup}`)
}

/** On PostgreSQL, both are the same. */
async function openUnmigratedBoth(
  dir: string,
  options: StoreOptions,
  migrations: Partial<StateMigrations>,
  resources: AsyncDisposableStack,
  checkpointThread?: WorkerThread,
): Promise<{ readonly state: UnmigratedStore; readonly ingest: UnmigratedStore }> {
  const inspect = async (name: 'state' | 'ingest') =>
    resources.adopt(await openUnmigratedState(dir, options, name, migrations, checkpointThread), closeStore)
  const state = await inspect('state')
  return { state, ingest: isShared(options) ? state : await inspect('ingest') }
}

/** Only the duties, for a thread of a process that has opened all. */
export const openDuties = async (dir: string, options: StoreOptions = {}): Promise<State> =>
  migrateStore(await openUnmigratedDuties(dir, options))

async function openUnmigratedState(
  dir: string,
  options: StoreOptions,
  name: 'state' | 'ingest',
  changed: Partial<StateMigrations>,
  checkpointThread?: WorkerThread,
): Promise<UnmigratedStore> {
  const migrations = { ...allStateMigrations, ...changed }
  if (isShared(options)) return openUnmigratedShared(options, migrations.shared)
  await createDataDir(dir)
  refuseUnfinishedRestore(dir)
  const { busyWaitMs = 5000 } = options
  const file = name === 'state' ? stateFile(dir) : ingestFile(dir)
  return openUnmigratedSqlite(file, migrations[name], { busyWaitMs, checkpointThread, leavesPauses: name === 'ingest' })
}

async function openUnmigratedDuties(dir: string, options: StoreOptions): Promise<UnmigratedStore> {
  if (isShared(options)) return openUnmigratedShared(options, dutiesMigrations, 'duties')
  refuseUnfinishedRestore(dir)
  const busyWaitMs = options.busyWaitMs ?? dutiesBusyWaitMs
  return openUnmigratedSqlite(dutiesFile(dir), dutiesMigrations, { busyWaitMs, isBulk: true })
}

const isShared = ({ state = '' }: StoreOptions): boolean => state !== ''

async function openUnmigratedShared(
  options: StoreOptions,
  migrations: readonly Migration[],
  schemaSuffix?: string,
): Promise<UnmigratedStore> {
  const { state: url = '', stateReplicas: replicas = [], stateConnections: connections = connectionsDefault } = options
  const [{ openUnmigratedPostgres }, { outageWaitMs }] = await Promise.all([
    import('./postgres/postgres.ts'),
    import('./postgres/outage.ts'),
  ])
  return openUnmigratedPostgres(url, migrations, {
    connections,
    replicas,
    ...(schemaSuffix !== undefined && { schemaSuffix }),
    ...(options.stateWaitMs !== undefined && { waitMs: options.stateWaitMs }),
    ...(options.onWait && {
      onWait: options.onWait,
      statementMs: Math.max(options.stateWaitMs ?? outageWaitMs, statementMsMin),
    }),
  })
}

const closeStore = ({ store }: UnmigratedStore): Promise<void> => store.close()

/** Rule 2. */
async function refuseServed(dir: string): Promise<void> {
  // Loaded here, because the threads that open a database need neither this nor HTTP.
  const { isServerRunning } = await import('#runtime/control-socket.ts')
  if (!(await isServerRunning(dir))) return
  throw new Fault('store.unavailable', {
    detail:
      `the database is of an earlier version and a server is running on ${dir}; ` +
      'stop the server before the upgrade, or use the command of its version',
  })
}

/** Then the folder may lack files, or have incomplete ones. */
export const isRestoreUnfinished = (dir: string): boolean => existsSync(restoringFolder(dir))

export function refuseUnfinishedRestore(dir: string): void {
  if (!isRestoreUnfinished(dir)) return
  throw new Fault('store.unavailable', {
    detail: `a restore into ${resolve(dir)} has not finished; run \`tetrad restore\` again, or choose another folder`,
  })
}

async function createDataDir(dir: string): Promise<void> {
  try {
    // Readable only by the owner, because it contains the hashes of keys.
    await makeFolder(dir, 0o700)
  } catch (error) {
    throw new Fault('store.unavailable', {
      detail: `the data folder ${dir} cannot be created; check the path and its permissions (${(error as Error).message})`,
      cause: error,
    })
  }
}
