// What the consensus rules give, against what a node says it paid: one row per network, epoch and part. And a second
// place for duties on their way into a window that has been written in part; it is empty outside a transaction.
import type { FactsMigration } from '../facts.ts'

export const migration: FactsMigration = {
  id: 4,
  name: 'audits',
  up: [
    `create table beacon_audits (network varchar not null, epoch integer not null, part varchar not null,
      compared integer not null, differing integer not null, gwei bigint not null)`,
    'create table duty_merge as select * from duty_stage where false',
  ],
  tables: [
    {
      name: 'beacon_audits',
      columns: { network: 'text', epoch: 'int32', part: 'text', compared: 'int32', differing: 'int32', gwei: 'int64' },
      key: 'network',
      window: { column: 'epoch' },
    },
  ],
}
