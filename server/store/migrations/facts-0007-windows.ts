// What rows of duties cannot tell of themselves: which hours and days they were added up into, and how many validators a network
// with a watch list has. Both beside the rows they speak of, one row a network. No keys, as for coverage.
import type { FactsMigration } from '../facts.ts'

export const migration: FactsMigration = {
  id: 7,
  name: 'windows',
  up: [
    'create table duty_windows (network varchar not null, epochs_per_hour integer not null, epochs_per_day integer not null)',
    'create table beacon_counts (network varchar not null, validators integer not null)',
  ],
  tables: [
    {
      name: 'duty_windows',
      columns: { network: 'text', epochs_per_hour: 'int32', epochs_per_day: 'int32' },
      key: 'network',
    },
    { name: 'beacon_counts', columns: { network: 'text', validators: 'int32' }, key: 'network' },
  ],
}
