// Group D: whole records here and there among their versions, so that a question about the past reads few of them.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 24,
  name: 'market-keyframes',
  up: ({ strict, clustered }) => [
    `create table market_keyframes (
      kind text not null,
      id text not null,
      seq bigint not null, -- the record as it was after the version of this number
      fields text not null,
      links text not null,
      primary key (kind, id, seq)
    ) ${strict}`,
    'create index market_keyframes_seq on market_keyframes (seq)',
    // Changes of the record since its last keyframe.
    'alter table market_records add column since bigint not null default 0',
    // Records with many versions from before; the server gives them keyframes while it runs.
    `create table market_unframed (
      kind text not null,
      id text not null,
      primary key (kind, id)
    ) ${clustered}`,
    `insert into market_unframed (kind, id)
     select kind, id from market_versions group by kind, id having count(*) >= 100`,
  ],
}
