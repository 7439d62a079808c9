// What reading a beacon node needs to go on after a restart, beside the columns it speaks of: which chain a network's
// rows are about, and the inactivity scores that the last epoch left. No keys, as for coverage.
import type { FactsMigration } from '../facts.ts'

export const migration: FactsMigration = {
  id: 3,
  name: 'beacon',
  up: [
    `create table beacon_chains (network varchar not null, genesis_unix bigint not null, genesis_root varchar not null,
      slot_seconds integer not null, slots_per_epoch integer not null)`,
    // Scores that are not zero, as `index:score,…`.
    'create table beacon_scores (network varchar not null, epoch integer not null, scores varchar not null)',
  ],
  tables: [
    {
      name: 'beacon_chains',
      columns: {
        network: 'text',
        genesis_unix: 'int64',
        genesis_root: 'text',
        slot_seconds: 'int32',
        slots_per_epoch: 'int32',
      },
      key: 'network',
    },
    {
      name: 'beacon_scores',
      columns: { network: 'text', epoch: 'int32', scores: 'text' },
      key: 'network',
    },
  ],
}
