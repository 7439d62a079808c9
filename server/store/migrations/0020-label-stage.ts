// Group A: where a large import of labels is laid down before it is brought in, a row and its page of the history together.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 20,
  name: 'label stage',
  up: ({ bytes, strict, clustered }) => [
    `create table label_imports (
       id bigint primary key,
       at_ms bigint not null
     ) ${strict}`,
    // Columns of entities are empty in addresses, and the other way round.
    `create table label_stage (
       import bigint not null,
       item bigint not null,
       kind text not null,
       chain text not null,
       subject text not null,
       source text not null,
       action text not null,
       was text,
       is_now text,
       name text not null,
       description text,
       notes text,
       address ${bytes},
       entity text,
       confidence bigint,
       evidence_url text,
       updated_unix bigint not null,
       primary key (import, item)
     ) ${clustered}`,
  ],
}
