// Group A: how far a search for a first funding has come that could not finish, so that the next one goes on from there.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 16,
  name: 'probe-marks',
  up: ({ bytes, clustered }) => [
    `create table probe_marks (
       chain text not null,
       address ${bytes} not null,
       block bigint not null,
       state_tells bigint not null,
       primary key (chain, address)
     ) ${clustered}`,
  ],
}
