// What was not right, epoch by epoch: only what is out of the ordinary has a row, so a year of a good validator is a
// handful of them. The kinds are numbered in server/groups/validators/lapses.ts. No keys, as for duties.
import type { FactsMigration } from '../facts.ts'

const columns = ['validator', 'epoch', 'kind', 'slot', 'delay', 'best_delay', 'wrong', 'missing']

export const migration: FactsMigration = {
  id: 6,
  name: 'lapses',
  up: [
    `create table duty_lapses (network varchar not null, ${columns.map((name) => `${name} integer not null`).join(', ')})`,
  ],
  tables: [
    {
      name: 'duty_lapses',
      columns: { network: 'text', ...Object.fromEntries(columns.map((name) => [name, 'int32' as const])) },
      key: 'network',
      window: { column: 'epoch' },
    },
  ],
}
