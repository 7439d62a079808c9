// Opens both stores: `state.sqlite` and `facts.duckdb` in the data folder, or the PostgreSQL that the settings name for the
// state. When this fails the message is for the operator: it names the file or server, what happened and what to do.
//
// 1. No table is changed before everything that may refuse has been asked: both stores, their locks and versions, a move
//    that has not ended. A start that is refused leaves what is there to the version that wrote it.
// 2. No table is changed under a server that lives on the same data folder (decision 0173).
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '#core/fault.ts'
import { isServed } from '#io/control.ts'
import { makeFolder } from '#io/make-folder.ts'
import { findDuckdb } from './engines/duckdb.ts'
import { findSqlite } from './engines/sqlite.ts'
import type { Facts } from './facts.ts'
import { type Found, upToDate } from './migrate.ts'
import { factsMigrations, stateMigrations } from './migrations.ts'
import { refuseUnfinishedState } from './move.ts'
import type { Migration, State } from './state.ts'

export interface Stores {
  readonly state: State
  readonly facts: Facts
  close(): Promise<void>
}

/** The settings called `store`, all of which may be left out. */
export interface StoreOptions {
  /** postgres://…; empty: the file in the data folder. */
  readonly state?: string
  readonly stateReplicas?: readonly string[]
  readonly stateConnections?: number
  /** How long to wait while PostgreSQL restarts or fails over. */
  readonly stateWaitMs?: number
  /** What the embedded engine of the facts may hold in memory. */
  readonly factsMemoryMiB?: number
  /** How long to keep asking while another process holds the state file. */
  readonly busyWaitMs?: number
}

const stateFile = (dir: string): string => join(dir, 'state.sqlite')
const factsFile = (dir: string): string => join(dir, 'facts.duckdb')
const connectionsUsual = 8

/** The state store alone: what commands use beside a running server, which owns the facts. */
export async function openState(
  dir: string,
  options: StoreOptions = {},
  migrations: readonly Migration[] = stateMigrations,
): Promise<State> {
  await using rising = new AsyncDisposableStack()
  const state = rising.adopt(await findState(dir, options, migrations), letGo)
  await using holding = new AsyncDisposableStack()
  if (state.isBehind) {
    await refuseServed(dir)
    // A server whose socket could not be made, or is about to be, has the facts.
    if (existsSync(factsFile(dir))) holding.adopt(await findFacts(dir, options), letGo)
  }
  await state.migrate()
  rising.move()
  return state.store
}

export async function openStores(
  dir: string,
  options: StoreOptions = {},
  migrations: readonly Migration[] = stateMigrations,
): Promise<Stores> {
  // Also where both stores are elsewhere: the control socket is in it.
  await makeHome(dir)
  await using rising = new AsyncDisposableStack()
  const state = rising.adopt(await findState(dir, options, migrations), letGo)
  const facts = rising.adopt(await findFacts(dir, options), letGo)
  if (state.version > 0) await refuseUnfinishedState(state.store)
  if (state.isBehind || facts.isBehind) await refuseServed(dir)
  await state.migrate()
  await facts.migrate()
  const open = rising.move()
  return { state: state.store, facts: facts.store, close: () => open.disposeAsync() }
}

export const openFacts = async (dir: string, options: StoreOptions = {}): Promise<Facts> =>
  upToDate(await findFacts(dir, options))

async function findState(dir: string, options: StoreOptions, migrations: readonly Migration[]): Promise<Found<State>> {
  const { state: url = '', stateReplicas: replicas = [], stateConnections: connections = connectionsUsual } = options
  const waitMs = options.stateWaitMs
  if (url !== '') {
    const { findPostgres } = await import('./engines/postgres.ts')
    return findPostgres(url, migrations, { connections, replicas, ...(waitMs !== undefined && { waitMs }) })
  }
  await makeHome(dir)
  return findSqlite(stateFile(dir), migrations, { busyWaitMs: options.busyWaitMs ?? 5000 })
}

const findFacts = (dir: string, { factsMemoryMiB: memoryMiB }: StoreOptions): Promise<Found<Facts>> =>
  findDuckdb(factsFile(dir), factsMigrations, { memoryMiB })

const letGo = ({ store }: Found<State | Facts>): Promise<void> => store.close()

/** Invariant 2. */
async function refuseServed(dir: string): Promise<void> {
  if (!(await isServed(dir))) return
  throw new Fault('store.unavailable', {
    detail:
      `the tables are those of an earlier version, and a server is running on ${dir}; ` +
      'stop it before the upgrade, or use the command of its own version',
  })
}

async function makeHome(dir: string): Promise<void> {
  try {
    // For the owner only: it holds the hashes of keys.
    await makeFolder(dir, 0o700)
  } catch (error) {
    throw new Fault('store.unavailable', {
      detail: `the data folder ${dir} cannot be created; check the path and its permissions (${(error as Error).message})`,
      cause: error,
    })
  }
}
