// The tables with which the processes that share a PostgreSQL database notice each other's commits, and the SQL that reads
// and writes them. writer.ts writes a row with each commit, commit-watch.ts reads them.
import { transactionStart } from './dialect.ts'

export const commitsTable = `create table if not exists state_commits (
    writer text not null, group_name text not null, number bigint not null,
    at_us bigint not null default ${transactionStart}, -- start of the transaction
    primary key (writer, group_name)
  ) with (fillfactor = 50)`

/** Processes that wrote nothing for an hour. The newest commit stays (move.ts). */
export const dropOldCommits = `delete from state_commits where at_us < least((select max(at_us) from state_commits),
    ${transactionStart} - 3600000000)`

/** A position in the WAL as a number. What is visible to other transactions has been flushed. */
const flushedLsn = `pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint as lsn`

const timelineNumber = 'left(pg_walfile_name(pg_current_wal_flush_lsn()), 8)'

/** Changes when another server has become the primary, and when it restarts. */
const serverName = `${timelineNumber} || ' ' || pg_postmaster_start_time()::text as server`

/** Of the primary that a statement reaches. */
export const primaryPosition = `${flushedLsn}, ${serverName}`

/** The id of each timeline (wal-position.ts). */
export const timelinesTable = `create table if not exists state_timelines (
    number text collate "C" primary key, id text not null
  )`

export const addTimeline = (id: string): string =>
  `insert into state_timelines (number, id) values (${timelineNumber}, '${id}') on conflict do nothing`

export const readCommits = `select c.writer, c.group_name, c.number, s.*
  from (select ${primaryPosition}, (select id from state_timelines where number = ${timelineNumber}) as timeline) s
  left join state_commits c on true`

/** A row of `readCommits`. Without any commit there is one row, which has no writer. */
export interface CommitRow {
  readonly writer: string | null
  readonly group_name: string
  readonly number: number
  readonly lsn: number
  readonly server: string
  /** Its id. Null: no process has noticed it yet. */
  readonly timeline: string | null
}
