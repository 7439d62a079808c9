// Detects commits of all processes on PostgreSQL, for `version` (storage/state.ts, rule 3).
//
// 1. Each transaction writes its number to `state_commits`, in the rows of its writer and of the groups that it changed
//    (writers.ts). So no two writers change the same row, and none of them waits for another.
// 2. The table is read every `tickMs`. A row with another number is a change. The numbers of a writer only grow, and are
//    never used twice, so a failover to a server that lacks commits cannot hide one.
// 3. Commits of this process are known at once. If the table could not be read, or another server replies, everything may
//    have changed.
// 4. After `silentTicksMax` ticks without a reply, `version` throws, so that no stale cache is used
//    (behaviour/operations.md#cache-invalidation). If the server refuses connections because it restarts, the limit is
//    `refusedTicksMax`, because no process can write meanwhile.
// 5. Time is counted by timer ticks, so that a busy process does not count as an outage.
// 6. Positions in the WAL can be compared only within one timeline, and two standbys that are promoted may give theirs the
//    same number. So each timeline has a random id, which the first process that notices it stores. A replica that has
//    the id follows this timeline.
import { systemClock } from '#runtime/clock.ts'
import type { TableGroup } from '../table-groups.ts'
import { unavailable } from '../write-queue.ts'
import type { PostgresAddress } from './address.ts'
import { transactionStart } from './dialect.ts'
import { ConnectionLost } from './errors.ts'
import { PostgresSession } from './session.ts'

const tickMs = 500
const silentTicksMax = 6
const refusedTicksMax = 30
/** Then all connections are closed, because the network may drop packets. */
const deadTicksMax = 12

export const commitsTable = `create table if not exists state_commits (
    writer text not null, group_name text not null, number bigint not null,
    at_us bigint not null default ${transactionStart}, -- start of the transaction
    primary key (writer, group_name)
  ) with (fillfactor = 50)`

/** Processes that wrote nothing for an hour. The newest commit stays (move.ts). */
export const dropOldCommits = `delete from state_commits where at_us < least((select max(at_us) from state_commits),
    ${transactionStart} - 3600000000)`

/** A position in the WAL as a number. What is visible to other transactions has been flushed. */
export const flushedLsn = `pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint as lsn`

const timelineNumber = 'left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)'

/** Changes when another server has become the primary, and when it restarts. */
const serverName = `${timelineNumber} || ' ' || pg_postmaster_start_time()::text as server`

/** Of the primary that a statement reaches. */
export const primaryPosition = `${flushedLsn}, ${serverName}`

/** Rule 6. */
export const timelinesTable = `create table if not exists state_timelines (
    number text collate "C" primary key, id text not null
  )`

export const addTimeline = (id: string): string =>
  `insert into state_timelines (number, id) values (${timelineNumber}, '${id}') on conflict do nothing`

const readCommits = `select c.writer, c.group_name, c.number, s.*
  from (select ${primaryPosition}, (select id from state_timelines where number = ${timelineNumber}) as timeline) s
  left join state_commits c on true`

interface CommitRow {
  readonly writer: string | null
  readonly group_name: string
  readonly number: number
  readonly lsn: number
  readonly server: string
  /** Its id. Null: no process has noticed it yet. */
  readonly timeline: string | null
}

export interface OwnCommit {
  readonly writer: string
  readonly groups: Iterable<TableGroup>
  readonly number: number
  readonly lsn: number
  readonly server: string
}

/** What a replica must have: the id of the timeline, and the log up to this position. */
export interface KnownPosition {
  /** Undefined: not known at present. */
  readonly timeline: string | undefined
  readonly lsn: number
}

export type CommitWatch = Awaited<ReturnType<typeof openCommitWatch>>

interface WatchEvents {
  /** Called after a long time without a reply. */
  readonly onDead: () => void
  /** Called until the timeline has an id. */
  readonly onNewTimeline: () => void
}

export async function openCommitWatch(address: PostgresAddress, { onDead, onNewTimeline }: WatchEvents) {
  let session: PostgresSession | undefined
  let pendingQuery: Promise<void> | undefined
  /** The number of each writer and group. */
  let known = new Map<string, number>()
  /** Those of this process. */
  const ownNumbers = new Map<string, number>()
  const versions = new Map<TableGroup, number>()
  let version = 0
  /** Of everything that is known. */
  let lsn = 0
  /** Of the commits of this process since the running query began. */
  let ownLsn = 0
  let ownServer: string | undefined
  let server = ''
  let timeline: string | undefined
  let silentTicks = 0
  let refusedTicks = 0
  /** Why the last query failed; undefined after a success. */
  let failure: unknown = new Error('not read yet')
  let isClosed = false

  const stop = systemClock.every(tickMs, () => {
    if (failure instanceof ConnectionLost && failure.refused) refusedTicks += 1
    else silentTicks += 1
    if (silentTicks >= deadTicksMax && silentTicks % deadTicksMax === 0) {
      onDead()
      void session?.close()
    }
    void poll()
  })

  function poll(): Promise<void> {
    pendingQuery ??= query().finally(() => {
      pendingQuery = undefined
    })
    return pendingQuery
  }

  async function query(): Promise<void> {
    try {
      if (!session || session.lost) session = await open()
      ownLsn = 0
      ownServer = undefined
      compare(await session.readScript<CommitRow>(readCommits))
      silentTicks = 0
      refusedTicks = 0
      failure = undefined
    } catch (error) {
      failure = error
    }
  }

  async function open(): Promise<PostgresSession> {
    const opened = await PostgresSession.open(address, 'read')
    // Do not wait for the next tick: a restarting server may be back sooner.
    opened.onLost = () => {
      if (!isClosed) void poll()
    }
    return opened
  }

  function compare(rows: readonly CommitRow[]): void {
    const [first] = rows
    if (!first) return
    const changed = new Set<TableGroup>()
    const isOtherServer = first.server !== server
    if (failure !== undefined || isOtherServer) changed.add('other')
    const next = new Map<string, number>()
    for (const { writer, group_name: group, number } of rows) {
      if (writer === null) continue
      const name = nameOf(writer, group)
      next.set(name, number)
      // What this process has committed since the query began is newer than its result.
      const isNew = ownNumbers.has(name) ? number > (ownNumbers.get(name) ?? 0) : number !== known.get(name)
      if (isNew) changed.add(group as TableGroup)
    }
    ;[known, server] = [next, first.server]
    timeline = ownServer === undefined || ownServer === server ? (first.timeline ?? undefined) : undefined
    if (first.timeline === null) onNewTimeline()
    if (changed.size === 0) return
    // Another server may have fewer commits.
    lsn = Math.max(isOtherServer ? ownLsn : lsn, first.lsn)
    advance(changed)
  }

  function advance(changed: Iterable<TableGroup>): void {
    version += 1
    for (const group of changed) versions.set(group, version)
  }

  function throwIfSilent(): void {
    if (silentTicks < silentTicksMax && refusedTicks < refusedTicksMax) return
    const reason = failure instanceof Error ? failure.message : 'no reply'
    const seconds = ((silentTicks + refusedTicks) * tickMs) / 1000
    throw unavailable(`${address.name} has not responded for ${seconds} s, so cached data may be stale (${reason})`)
  }

  await poll()
  return {
    version: (group?: TableGroup) => {
      throwIfSilent()
      return group === undefined ? version : Math.max(versions.get(group) ?? 0, versions.get('other') ?? 0)
    },
    /** A replica that has reached it has every commit that is known. */
    knownPosition: (): KnownPosition => {
      throwIfSilent()
      return { timeline, lsn }
    },
    noteOwnCommit(commit: OwnCommit): void {
      for (const group of commit.groups) ownNumbers.set(nameOf(commit.writer, group), commit.number)
      ;[ownLsn, ownServer] = [commit.lsn, commit.server]
      lsn = Math.max(lsn, commit.lsn)
      // After a failover, a write may reach the new primary first.
      if (commit.server !== server) timeline = undefined
      advance(commit.groups)
    },
    async close() {
      isClosed = true
      stop()
      await session?.close()
      await pendingQuery
      await session?.close()
    },
  }
}

const nameOf = (writer: string, group: string): string => `${writer} ${group}`
