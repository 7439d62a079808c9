// Opens the embedded stores of a data folder: `state.sqlite` and `facts.duckdb`. When this fails the message is for the
// operator: it names the file, what happened and what to do.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '#core/fault.ts'
import { openDuckdb } from './engines/duckdb.ts'
import { openSqlite } from './engines/sqlite.ts'
import type { Facts } from './facts.ts'
import { factsMigrations, stateMigrations } from './migrations.ts'
import type { State } from './state.ts'

export interface Stores {
  readonly state: State
  readonly facts: Facts
  close(): Promise<void>
}

export interface StoreOptions {
  /** How long to keep asking while another process holds the state file. */
  readonly busyWaitMs?: number
}

const stateFile = (dir: string): string => join(dir, 'state.sqlite')
const factsFile = (dir: string): string => join(dir, 'facts.duckdb')

/** The state store alone: what commands use beside a running server, which owns the facts. */
export async function openState(dir: string, options: StoreOptions = {}): Promise<State> {
  await makeFolder(dir)
  return openSqlite(stateFile(dir), stateMigrations, { busyWaitMs: options.busyWaitMs ?? 5000 })
}

export async function openStores(dir: string, options: StoreOptions = {}): Promise<Stores> {
  const state = await openState(dir, options)
  try {
    const facts = await openDuckdb(factsFile(dir), factsMigrations)
    return {
      state,
      facts,
      async close() {
        await Promise.all([state.close(), facts.close()])
      },
    }
  } catch (error) {
    await state.close()
    throw error
  }
}

async function makeFolder(dir: string): Promise<void> {
  try {
    // For the owner only: it holds the hashes of keys.
    await mkdir(dir, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new Fault('store.unavailable', {
      detail: `the data folder ${dir} cannot be created; check the path and its permissions (${(error as Error).message})`,
      cause: error,
    })
  }
}
