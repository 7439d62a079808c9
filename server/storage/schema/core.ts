// Tables that every group shares: API keys, usage, console sign-in, and the progress of ingesters.
// Columns that end in `_ms` are Unix times in milliseconds.
import type { StateDialect } from '../state.ts'

export const accessSchema = ({ bytes, strict, clustered }: StateDialect): readonly string[] => [
  // API keys. Written by `tetrad keys` and the console.
  `create table keys (
    id text primary key, -- the public part of the key
    name text not null, -- whose key it is, for the operator
    plan text not null,
    allowed_groups text, -- comma-separated group names; null: all groups
    admin bigint not null, -- 1: may call the endpoints that change data
    digest ${bytes} not null, -- hash of id and secret; the secret itself is not stored
    old_digest ${bytes}, -- of the secret before the last rotation; null: it stopped working at once
    old_until_ms bigint, -- the old secret works until then; null without an old digest
    created_ms bigint not null,
    expires_ms bigint, -- null: does not expire
    revoked_ms bigint, -- null: not revoked
    last_used_ms bigint -- written together with the usage, so it may lag
  ) ${strict}`,
  // One row. The number grows with every change to a key, so that verified keys can be cached.
  `create table key_revision (revision bigint not null) ${strict}`,
  'insert into key_revision (revision) values (0)',

  // Calls per key, endpoint and day. Written by the server that counts them. There is no foreign key to `keys`: calls without
  // a key are counted as `anonymous`, and the counts outlive the key. The day comes first because every query selects days.
  `create table usage (
    day text not null, -- UTC date, such as 2026-11-15
    key_id text not null,
    endpoint text not null,
    outcome text not null, -- accepted, or the code of the error
    calls bigint not null,
    primary key (day, key_id, endpoint, outcome)
  ) ${clustered}`,

  // One-time sign-in links of the console, and the sessions they were exchanged for.
  ...['console_links', 'console_sessions'].map(
    (table) => `create table ${table} (
    id text primary key, -- the public part of the token
    digest ${bytes} not null, -- hash of id and secret; the token itself is not stored
    created_ms bigint not null,
    expires_ms bigint not null
  ) ${strict}`,
  ),
]

export const coverageSchema = ({ clustered }: StateDialect): readonly string[] => [
  // Half-open ranges of each stream that were read completely. Overlapping and adjacent ranges are merged. Written in the
  // transaction that writes the rows of the range (coverage.ts).
  `create table coverage (
    stream text not null, -- such as explorer/blocks/1
    from_at bigint not null, -- first block or other position of the range
    until_at bigint not null, -- the position after the last one
    primary key (stream, from_at),
    check (from_at < until_at)
  ) ${clustered}`,
]

/** In every file: what reads a stream is stored with its position. */
export const cursorsSchema = ({ clustered }: StateDialect): readonly string[] => [
  // The position at which reading of a stream continues. `tetrad move` also stores its state here, as move/….
  `create table cursors (
    stream text primary key,
    at bigint not null
  ) ${clustered}`,
]

export const leasesSchema = ({ strict }: StateDialect): readonly string[] => [
  // The process that runs each ingester, where several share a PostgreSQL database (server/ingest/lease.ts).
  `create table leases (
    name text primary key, -- the ingester
    holder text not null, -- random id of the process
    token bigint not null, -- grows whenever the lease changes hands
    heartbeat bigint not null -- grows while the holder is alive
  ) ${strict}`,
]
