// The databases as ingesters use them: every write checks the lease of the ingester that runs the current code. Code
// that runs without a lease writes as usual.
import { strict as assert } from 'node:assert'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Duties, LeaseToken } from '#storage/duties.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { LeaseLost } from './lease-lost.ts'

export interface HeldLease extends LeaseToken {
  readonly expiryMs: number
  readonly lost: AbortController
}

export interface LeaseRow {
  readonly holder: string
  readonly token: number
  readonly heartbeat: number
}

/** The lease of the ingester that runs the current code. */
export const currentLease = new AsyncLocalStorage<HeldLease>()

/** Wraps a state: writes of an ingester check its lease (lease.ts, rule 3). */
export const leasedState = (state: State): State => ({
  ...state,
  write: (work, options) => {
    const held = currentLease.getStore()
    return state.write(held ? (tx) => confirm(tx, held, state.engine).then(() => work(tx)) : work, options)
  },
  writeTogether: (write, item) => {
    // Items of others in the group do not depend on the lease.
    assert(!currentLease.getStore(), 'an ingester writes alone, so that its lease is checked')
    return state.writeTogether(write, item)
  },
})

/** Wraps the duties: writes of an ingester check its lease (lease.ts, rule 4). */
export const leasedDuties = (duties: Duties): Duties => ({
  ...duties,
  update: (name, input, options) => {
    const held = currentLease.getStore()
    if (!held) return duties.update(name, input, options)
    const lease = { name: held.name, holder: held.holder, token: held.token }
    return duties.update(name, input, { ...options, lease }).catch((error: unknown) => {
      // An error from a thread has lost its class.
      if (!(error instanceof Error && error.name === LeaseLost.name)) throw error
      held.lost.abort()
      throw new LeaseLost(held.name)
    })
  },
})

/** In milliseconds. Shorter ones would end transactions of a process that is only busy; longer ones delay other writes. */
const idleMs = { min: 1000, max: 10_000 }

/** Locks the row, so that no process takes over the lease before the commit (lease.ts, rule 3). SQLite has one writer. */
async function confirm(tx: StateWriter, held: HeldLease, engine: State['engine']): Promise<void> {
  const timeoutMs = Math.round(Math.max(idleMs.min, Math.min(idleMs.max, held.expiryMs)))
  const limit = `set_config('idle_in_transaction_session_timeout', '${timeoutMs}', true)`
  const [limited, lock] = engine === 'postgres' ? [`, ${limit} as idle`, 'for key share'] : ['', '']
  const sql = `select token${limited} from leases where name = ? and holder = ? and token = ? ${lock}`
  if (await tx.get(sql, held.name, held.holder, held.token)) return
  held.lost.abort()
  throw new LeaseLost(held.name)
}

export const rowOf = (reader: StateReader, name: string): Promise<LeaseRow | undefined> =>
  reader.get<LeaseRow>('select holder, token, heartbeat from leases where name = ?', name)
