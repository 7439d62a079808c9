// Opens both databases: `state.sqlite` and `duties.sqlite` in the data folder, or two schemas in PostgreSQL. Errors are for
// the operator: they name the file or server, what happened and what to do.
//
// 1. Tables are changed only after all checks: both databases, the lock of the folder, versions, and unfinished moves and
//    restores. If a start is refused, the data still works with the version that wrote it.
// 2. Tables are not changed while a server runs on the same data folder (behaviour/operations.md#migrations).
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Fault } from '#core/fault.ts'
import { makeFolder } from '#runtime/make-folder.ts'
import { lockFolder } from './folder-lock.ts'
import { type InspectedStore, migrateStore } from './migrate.ts'
import { dutiesMigrations, stateMigrations } from './migrations.ts'
import { refuseUnfinishedState } from './move.ts'
import { inspectSqlite } from './sqlite/sqlite.ts'
import type { WriteTurns } from './sqlite/write-turns.ts'
import type { Migration, State } from './state.ts'

export interface Stores {
  readonly state: State
  /** Validator duties; server/validators/duties/store.ts wraps it. */
  readonly duties: State
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
  /** How long to retry while another process has locked a file. */
  readonly busyWaitMs?: number
  /** No setting: a server sets it (sqlite/checkpointer.ts). */
  readonly checkpointsOnThread?: boolean
  /** The same (sqlite/write-turns.ts). */
  readonly turns?: WriteTurns
}

export const stateFile = (dir: string): string => join(dir, 'state.sqlite')
export const dutiesFile = (dir: string): string => join(dir, 'duties.sqlite')
/** Exists until a restore into the data folder has finished (restore.ts). */
export const restoringFolder = (dir: string): string => join(dir, 'restoring')
const connectionsDefault = 8
/** A commit of a million validators takes a few seconds, during which the file is busy. */
const dutiesBusyWaitMs = 60_000

/** Only the state, for commands that run next to a server. */
export async function openState(
  dir: string,
  options: StoreOptions = {},
  migrations: readonly Migration[] = stateMigrations,
): Promise<State> {
  await using resources = new AsyncDisposableStack()
  const state = resources.adopt(await inspectState(dir, options, migrations), closeStore)
  if (state.isBehind) await refuseServed(dir)
  // A server without a control socket also has the lock.
  using _lock = state.isBehind && !isShared(options) ? lockFolder(dir) : undefined
  await state.migrate()
  resources.move()
  return state.store
}

/** Both databases, for the only process that works on the folder. */
export async function openStores(
  dir: string,
  options: StoreOptions = {},
  migrations: readonly Migration[] = stateMigrations,
): Promise<Stores> {
  // Also with PostgreSQL, because the control socket is in the folder.
  await createDataDir(dir)
  await using resources = new AsyncDisposableStack()
  if (!isShared(options)) {
    refuseUnfinishedRestore(dir)
    resources.use(lockFolder(dir))
  }
  const state = resources.adopt(await inspectState(dir, options, migrations), closeStore)
  const duties = resources.adopt(await inspectDuties(dir, options), closeStore)
  for (const { store, version } of [state, duties]) if (version > 0) await refuseUnfinishedState(store)
  if (state.isBehind || duties.isBehind) await refuseServed(dir)
  await state.migrate()
  await duties.migrate()
  const open = resources.move()
  return { state: state.store, duties: duties.store, close: () => open.disposeAsync() }
}

/** Only the duties, for a thread of a process that has opened both. */
export const openDuties = async (dir: string, options: StoreOptions = {}): Promise<State> =>
  migrateStore(await inspectDuties(dir, options))

async function inspectState(
  dir: string,
  options: StoreOptions,
  migrations: readonly Migration[],
): Promise<InspectedStore> {
  if (isShared(options)) return inspectShared(options, migrations)
  await createDataDir(dir)
  refuseUnfinishedRestore(dir)
  const { busyWaitMs = 5000, checkpointsOnThread = false, turns } = options
  return inspectSqlite(stateFile(dir), migrations, { busyWaitMs, checkpointsOnThread, ...(turns && { turns }) })
}

async function inspectDuties(dir: string, options: StoreOptions): Promise<InspectedStore> {
  if (isShared(options)) return inspectShared(options, dutiesMigrations, 'duties')
  refuseUnfinishedRestore(dir)
  const busyWaitMs = options.busyWaitMs ?? dutiesBusyWaitMs
  return inspectSqlite(dutiesFile(dir), dutiesMigrations, { busyWaitMs, isBulk: true })
}

const isShared = ({ state = '' }: StoreOptions): boolean => state !== ''

async function inspectShared(
  options: StoreOptions,
  migrations: readonly Migration[],
  subschema?: string,
): Promise<InspectedStore> {
  const { state: url = '', stateReplicas: replicas = [], stateConnections: connections = connectionsDefault } = options
  const { inspectPostgres } = await import('./postgres/postgres.ts')
  return inspectPostgres(url, migrations, {
    connections,
    replicas,
    ...(subschema !== undefined && { subschema }),
    ...(options.stateWaitMs !== undefined && { waitMs: options.stateWaitMs }),
  })
}

const closeStore = ({ store }: InspectedStore): Promise<void> => store.close()

/** Invariant 2. */
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
