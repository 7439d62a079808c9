// What has been read completely, beside the columns it speaks of. No key: DuckDB would refuse to replace a row within
// one transaction, and server/store/coverage.ts is the only writer.
import type { FactsMigration } from '../facts.ts'

export const migration: FactsMigration = {
  id: 2,
  name: 'coverage',
  up: ['create table coverage (stream varchar not null, from_at bigint not null, until_at bigint not null)'],
  tables: [
    {
      name: 'coverage',
      columns: { stream: 'text', from_at: 'int64', until_at: 'int64' },
      key: 'stream',
    },
  ],
}
