// Group A: what a search rests on gets a third kind (decision 0165). Until now the other two were also said of searches that had only looked for
// contracts that are gone: fundings found so are searched for again when they are asked for, marks count as looked.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 23,
  name: 'what-searches-rest-on',
  up: () => [
    'alter table probe_marks add column proof bigint not null default 3',
    'alter table probe_marks drop column listed',
    'update fundings set proven = 0 where proven <> 0',
  ],
}
