// The queries and updates of the duties database, by name, so that they can run on another thread (thread.ts).
import { LeaseLost } from '#ingest/lease-lost.ts'
import type { DutyQueries, DutyUpdates, InputOf, LeaseToken, ResultOf, UpdateOptions } from '#storage/duties.ts'
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
} as const

/** Of queries that a replica may answer. */
type ReplicaInput = Pick<SumInput, 'query' | 'figures'>

/** Each runs in one transaction. */
const updates = {
  commitEpochs,
  commitPast,
  writeChain,
  stageSegment,
  replacePart,
  dropStage,
  deleteNetwork,
} as const

/** These use many transactions, so that epochs can be written in between. */
const longUpdates = { mergeSpans, summarizeDays } as const

type Queries = typeof queries
type Updates = typeof updates & typeof longUpdates

type Operations<Database, All> = {
  readonly [Name in keyof All]: (
    database: Database,
    input: InputOf<All[Name]>,
    signal?: AbortSignal,
  ) => Promise<ResultOf<All[Name]>>
}

declare module '#storage/duties.ts' {
  interface DutyQueries extends Queries {}
  interface DutyUpdates extends Updates {}
}

export function runQuery<Name extends keyof DutyQueries>(
  state: State,
  name: Name,
  input: InputOf<DutyQueries[Name]>,
  signal?: AbortSignal,
): Promise<ResultOf<DutyQueries[Name]>> {
  const run = (queries as object as Partial<Operations<StateReader, DutyQueries>>)[name]
  if (!run) throw new Error(`unknown duties query ${name}`)
  const figures = state.hasReplicas ? (input as Partial<ReplicaInput>)?.figures : undefined
  if (figures !== undefined) {
    const { network } = (input as ReplicaInput).query
    return state.recent.snapshot(
      async (reader) => (await figuresVersion(reader, network)) === figures,
      (reader) => run(reader, input, signal),
      signal,
    )
  }
  // Without a transaction, PostgreSQL answers a single statement in one round trip. SQLite has none, and its snapshots
  // have caches of their own.
  if (name === 'sumRecords' && state.engine === 'postgres' && readsOnce(input as SumInput))
    return run(state, input, signal)
  return state.snapshot((reader) => run(reader, input, signal), signal)
}

export async function runUpdate<Name extends keyof DutyUpdates>(
  state: State,
  name: Name,
  input: InputOf<DutyUpdates[Name]>,
  { signal, lease }: Pick<UpdateOptions, 'signal' | 'lease'> = {},
): Promise<ResultOf<DutyUpdates[Name]>> {
  const leased = lease ? withLeaseCheck(state, lease) : state
  const long = (longUpdates as object as Partial<Operations<State, DutyUpdates>>)[name]
  if (long) return long(leased, input, signal)
  const run = (updates as object as Partial<Operations<StateWriter, DutyUpdates>>)[name]
  if (!run) throw new Error(`unknown duties update ${name}`)
  return leased.write((tx) => run(tx, input), { lock: 'duties' })
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
