// The queries and updates of the duties database, by name, so that they can run on another thread (thread.ts).
import { LeaseLost } from '#ingest/lease-lost.ts'
import type { LeaseToken } from '#storage/duties.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { commitEpochs } from './commit.ts'
import { commitPast } from './commit-past.ts'
import { readSummaries, summarizeDays } from './daily-summaries.ts'
import { damagedSpans } from './damage.ts'
import { deleteNetwork } from './delete-network.ts'
import { figuresVersion } from './figures-version.ts'
import { countRows, validatorsIn } from './inspect.ts'
import { listRecords } from './list-records.ts'
import { mergeSpans } from './merge.ts'
import { listMissedDuties } from './missed.ts'
import { writeChain } from './networks.ts'
import type { SumInput } from './record-sums.ts'
import { replacePart } from './replace.ts'
import { dropStage, stageSegment } from './stage.ts'
import { readsOnce, sumRecords } from './sum-records.ts'
import { sumSummaries } from './sum-summaries.ts'

type Query = (reader: StateReader, input: never, signal?: AbortSignal) => Promise<unknown>

/** Each runs in one snapshot. One statement is a snapshot by itself. */
const queries = {
  sumRecords,
  listRecords,
  sumSummaries,
  readSummaries,
  listMissedDuties,
  validatorsIn,
  countRows,
  damagedSpans,
} as const satisfies Record<string, Query>

/** Of queries that a replica may answer. */
type ReplicaInput = Pick<SumInput, 'query' | 'figures'>

type Update = (tx: StateWriter, input: never) => Promise<unknown>

/** Each runs in one transaction. */
const updates = {
  commitEpochs,
  commitPast,
  writeChain,
  stageSegment,
  replacePart,
  dropStage,
  deleteNetwork,
} as const satisfies Record<string, Update>

export type Queries = typeof queries
export type Updates = typeof updates

export function runQuery(state: State, name: string, input: unknown, signal?: AbortSignal): Promise<unknown> {
  const query = queries[name as keyof Queries] as Query | undefined
  if (!query) throw new Error(`unknown duties query ${name}`)
  const figures = state.hasReplicas ? (input as Partial<ReplicaInput>)?.figures : undefined
  if (figures !== undefined) {
    const { network } = (input as ReplicaInput).query
    return state.recent.snapshot(
      async (reader) => (await figuresVersion(reader, network)) === figures,
      (reader) => query(reader, input as never, signal),
      signal,
    )
  }
  // Without a transaction, PostgreSQL answers a single statement in one round trip. SQLite has none, and its snapshots
  // have caches of their own.
  if (name === 'sumRecords' && state.engine === 'postgres' && readsOnce(input as SumInput))
    return query(state, input as never, signal)
  return state.snapshot((reader) => query(reader, input as never, signal), signal)
}

export async function runUpdate(
  state: State,
  name: string,
  input: unknown,
  options: { readonly signal?: AbortSignal | undefined; readonly lease?: LeaseToken | undefined } = {},
): Promise<unknown> {
  const { signal, lease } = options
  const leased = lease ? withLeaseCheck(state, lease) : state
  // These use many transactions, so that epochs can be written in between.
  if (name === 'mergeSpans') return mergeSpans(leased, input as never, signal)
  if (name === 'summarizeDays') return summarizeDays(leased, input as never, signal)
  const update = updates[name as keyof Updates] as Update | undefined
  if (!update) throw new Error(`unknown duties update ${name}`)
  return leased.write((tx) => update(tx, input as never), { lock: 'duties' })
}

/**
 * Checks the lease in every write. Its row stays locked until the commit, so that no other process can take over the
 * lease before. The lock is for the key only, because it must not block the lease's heartbeat. Only PostgreSQL has
 * leases.
 */
const withLeaseCheck = (state: State, { name, holder, token }: LeaseToken): State => ({
  ...state,
  write: (work, options) =>
    state.write(async (tx) => {
      const sql = 'select token from leases where name = ? and holder = ? and token = ? for key share'
      if (!(await tx.get(sql, name, holder, token))) throw new LeaseLost(name)
      return work(tx)
    }, options),
})
