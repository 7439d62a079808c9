// Some calls change what everybody is answered: they ask for a key that was made for it (decision 0084).
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 10,
  name: 'admin keys',
  up: () => ['alter table keys add column admin bigint not null default 0'],
}
