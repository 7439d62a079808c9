// Group A: searches that go on by themselves after the call that began them, and marks that rest on what a node lists.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 22,
  name: 'probe-later',
  up: () => [
    'alter table probe_marks add column listed bigint not null default 0',
    // When it was last asked for or gone on with; null: nobody waits for it.
    'alter table probe_marks add column wanted_ms bigint',
    'create index probe_marks_wanted on probe_marks (chain, wanted_ms)',
  ],
}
