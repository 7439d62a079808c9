// Opens both stores: `state.sqlite` and `facts.duckdb` in the data folder, or the servers that the settings name. When this
// fails the message is for the operator: it names the file or server, what happened and what to do.
import { join } from 'node:path'
import { Fault } from '#core/fault.ts'
import { makeFolder } from '#io/make-folder.ts'
import { openDuckdb } from './engines/duckdb.ts'
import { openSqlite } from './engines/sqlite.ts'
import type { Facts } from './facts.ts'
import { factsMigrations, stateMigrations } from './migrations.ts'
import { refuseUnfinishedState } from './move.ts'
import { refuseUnfinishedFacts } from './move-facts.ts'
import type { State } from './state.ts'

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
export async function openState(dir: string, options: StoreOptions = {}): Promise<State> {
  const { state: url = '', stateReplicas: replicas = [], stateConnections: connections = connectionsUsual } = options
  if (url !== '') {
    const { openPostgres } = await import('./engines/postgres.ts')
    return openPostgres(url, stateMigrations, { connections, replicas })
  }
  await makeHome(dir)
  return openSqlite(stateFile(dir), stateMigrations, { busyWaitMs: options.busyWaitMs ?? 5000 })
}

export async function openStores(dir: string, options: StoreOptions = {}): Promise<Stores> {
  // Also where both stores are elsewhere: the control socket is in it.
  await makeHome(dir)
  await using rising = new AsyncDisposableStack()
  const state = rising.adopt(await openState(dir, options), (opened) => opened.close())
  await refuseUnfinishedState(state)
  const facts = rising.adopt(await openFacts(dir, options), (opened) => opened.close())
  await refuseUnfinishedFacts(facts)
  const open = rising.move()
  return { state, facts, close: () => open.disposeAsync() }
}

/** The facts alone, also where a move into them has not ended. */
export async function openFacts(dir: string, options: StoreOptions = {}): Promise<Facts> {
  const { facts: url = '', factsMemoryMiB: memoryMiB } = options
  if (url === '') return openDuckdb(factsFile(dir), factsMigrations, { memoryMiB })
  const { openClickhouse } = await import('./engines/clickhouse.ts')
  return openClickhouse(url, factsMigrations)
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
