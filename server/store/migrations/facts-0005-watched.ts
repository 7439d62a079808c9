// Since when each validator of a watch list is kept, and what moved balances otherwise than by duties: both beside the rows
// they speak of. No keys, as for coverage.
import type { FactsMigration } from '../facts.ts'

export const migration: FactsMigration = {
  id: 5,
  name: 'watched',
  up: [
    // Validator −1: everyone. Half-open; 2147483647: still.
    `create table beacon_watched (network varchar not null, validator integer not null, from_epoch integer not null,
      until_epoch integer not null)`,
    `create table beacon_moved (network varchar not null, epoch integer not null, validators integer not null,
      in_gwei bigint not null, out_gwei bigint not null)`,
  ],
  tables: [
    {
      name: 'beacon_watched',
      columns: { network: 'text', validator: 'int32', from_epoch: 'int32', until_epoch: 'int32' },
      key: 'network',
    },
    {
      name: 'beacon_moved',
      columns: { network: 'text', epoch: 'int32', validators: 'int32', in_gwei: 'int64', out_gwei: 'int64' },
      key: 'network',
      window: { column: 'epoch' },
    },
  ],
}
