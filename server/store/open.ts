// Opens both stores: `state.sqlite` and `facts.duckdb` in the data folder, or the servers that the settings name. When this
// fails the message is for the operator: it names the file or server, what happened and what to do.
//
// 1. No table is changed before everything that may refuse has been asked: both stores, their locks and versions, moves that
//    have not ended. A start that is refused leaves what is there to the version that wrote it.
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
import { refuseUnfinishedFacts } from './move-facts.ts'
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
  /** clickhouse://…; empty: the file in the data folder. */
  readonly facts?: string
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
    const isHere = (options.facts ?? '') === '' && existsSync(factsFile(dir))
    if (isHere) holding.adopt(await findFacts(dir, options), letGo)
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
  // Migration 2 creates the table that holds the mark of a move.
  if (facts.version >= 2) await refuseUnfinishedFacts(facts.store)
  if (state.isBehind || facts.isBehind) await refuseServed(dir)
  await state.migrate()
  await facts.migrate()
  const open = rising.move()
  return { state: state.store, facts: facts.store, close: () => open.disposeAsync() }
}

/** The facts alone, also where a move into them has not ended. */
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

async function findFacts(
  dir: string,
  { facts: url = '', factsMemoryMiB: memoryMiB }: StoreOptions,
): Promise<Found<Facts>> {
  if (url === '') return findDuckdb(factsFile(dir), factsMigrations, { memoryMiB })
  const { findClickhouse } = await import('./engines/clickhouse.ts')
  return findClickhouse(url, factsMigrations)
}

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
