// Which of several processes runs each ingester (decision 0142).
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 21,
  name: 'leases',
  up: ({ strict }) => [
    `create table leases (
       name text primary key,
       holder text not null,
       token bigint not null,
       beat bigint not null
     ) ${strict}`,
  ],
}
