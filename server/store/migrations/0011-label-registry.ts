// Group A's labels become a registry: addresses that somebody has named, and who changed what when. The labelled entities
// stay in `labels`, row by row as they were; what was there before has no history until it is touched (decision 0091).
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 11,
  name: 'label registry',
  up: ({ bytes, strict, clustered }) => [
    // Several sources may name one address, each once.
    `create table tagged_addresses (
       chain text not null,
       address ${bytes} not null,
       source text not null,
       name text not null,
       entity text not null,
       confidence bigint not null,
       evidence_url text not null,
       updated_unix bigint not null,
       primary key (chain, address, source)
     ) ${clustered}`,
    'create index tagged_addresses_by_entity on tagged_addresses (entity, chain)',
    // One row per transaction that changed anything.
    `create table label_changes (
       change bigint primary key,
       at_ms bigint not null,
       by_whom text not null,
       via text not null
     ) ${strict}`,
    // What it changed, item by item; rows are only ever added.
    `create table label_history (
       change bigint not null references label_changes (change),
       item bigint not null,
       kind text not null,
       chain text not null,
       subject text not null,
       source text not null,
       action text not null,
       was text,
       is_now text,
       primary key (change, item)
     ) ${clustered}`,
    'create index label_history_by_subject on label_history (subject, change)',
  ],
}
