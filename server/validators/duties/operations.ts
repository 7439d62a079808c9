// What can be done with the duties database by name: here, or on a thread (thread.ts).
import { LeaseLost } from '#ingest/lease.ts'
import { copyFiles } from '#storage/backup.ts'
import type { LeaseToken } from '#storage/duties.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { writeAudits } from './audits.ts'
import { commitEpochs } from './commit.ts'
import { damagedBlocks } from './damage.ts'
import { countRows, hourSums, validatorsIn } from './inspect.ts'
import { listRecords } from './list-records.ts'
import { mergeBlocks } from './merge.ts'
import { writeChain } from './networks.ts'
import { replacePart } from './replace.ts'
import { dropStage, stageSegment } from './stage.ts'
import { sumRecords } from './sum-records.ts'
import { summarizeDays } from './summaries.ts'

type Query = (reader: StateReader, input: never, signal?: AbortSignal) => Promise<unknown>

/** Each in one snapshot. */
const queries = { sumRecords, listRecords, hourSums, validatorsIn, countRows, damagedBlocks } as const satisfies Record<
  string,
  Query
>

type Update = (tx: StateWriter, input: never) => Promise<unknown>

/** Each in one transaction. */
const updates = {
  ...{ commitEpochs, writeAudits, writeChain, copyFiles },
  ...{ stageSegment, replacePart, dropStage },
} as const satisfies Record<string, Update>

export type Queries = typeof queries
export type Updates = typeof updates

export function runQuery(state: State, name: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
  const query = queries[name as keyof Queries] as Query | undefined
  if (!query) throw new Error(`there is no query ${name} of duties`)
  return state.snapshot((reader) => query(reader, input as never, signal), signal)
}

export async function runUpdate(
  state: State,
  name: string,
  input: unknown,
  options: { readonly signal?: AbortSignal | undefined; readonly lease?: LeaseToken | undefined } = {},
): Promise<unknown> {
  const { signal, lease } = options
  const leased = lease ? leasedState(state, lease) : state
  // Many transactions, so that epochs are written in between.
  if (name === 'mergeBlocks') return mergeBlocks(leased, input as never, signal)
  if (name === 'summarizeDays') return summarizeDays(leased, input as never, signal)
  const update = updates[name as keyof Updates] as Update | undefined
  if (!update) throw new Error(`there is no update ${name} of duties`)
  return leased.write((tx) => update(tx, input as never))
}

/**
 * The row is locked until the commit, so that nobody can take the lease over before it. The lock is of the key alone: the beat of the lease, which
 * keeps all other writes of the state waiting while it waits, goes on. Only PostgreSQL has leases.
 */
const leasedState = (
  state: State,
  { name, holder, token }: LeaseToken,
): Pick<State, 'write' | 'snapshot'> & StateReader => ({
  snapshot: (work, signal) => state.snapshot(work, signal),
  get: (sql, ...values) => state.get(sql, ...values),
  all: (sql, ...values) => state.all(sql, ...values),
  write: (work, options) =>
    state.write(async (tx) => {
      const sql = 'select token from leases where name = ? and holder = ? and token = ? for key share'
      if (!(await tx.get(sql, name, holder, token))) throw new LeaseLost(name)
      return work(tx)
    }, options),
})
