// Tables of keys and their usage. A key's secret is not here, only its digest (decision 0003). Usage has no foreign key
// to keys: calls without a key are counted under `anonymous`, and the counts of a key outlive it.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 1,
  name: 'keys',
  up: ({ bytes, strict, clustered }) => [
    `create table keys (
      id text primary key,
      name text not null,
      plan text not null,
      allowed_groups text, -- names with commas between; null: all
      digest ${bytes} not null,
      created_ms bigint not null,
      expires_ms bigint,
      revoked_ms bigint,
      last_used_ms bigint
    ) ${strict}`,
    // Moves with every change that may matter to a caller, so that verified keys can be kept in memory.
    `create table key_revision (revision bigint not null) ${strict}`,
    'insert into key_revision (revision) values (0)',
    // Day first: enforcing, reporting and pruning all ask for a stretch of days.
    `create table usage (
      day text not null, -- UTC, 2026-11-15
      key_id text not null,
      endpoint text not null,
      outcome text not null, -- admitted, or the code it was refused with
      calls bigint not null,
      primary key (day, key_id, endpoint, outcome)
    ) ${clustered}`,
  ],
}
