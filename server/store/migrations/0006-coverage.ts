// What has been read completely, and how far each reader has come. Written in the same transaction as the rows they
// speak of (server/store/coverage.ts).
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 6,
  name: 'coverage',
  up: ({ clustered }) => [
    `create table coverage (
       stream text not null,
       from_at bigint not null,
       until_at bigint not null,
       primary key (stream, from_at),
       check (from_at < until_at)
     ) ${clustered}`,
    `create table cursors (stream text primary key, at bigint not null) ${clustered}`,
  ],
}
