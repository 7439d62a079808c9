// Group A: which blocks the covered stretches of a chain begin after and end with. Those covered before have none.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 26,
  name: 'block-seams',
  up: ({ bytes, clustered }) => [
    // The hash of the block before `at`, where a covered stretch begins or ends.
    `create table block_seams (
       chain text not null,
       at bigint not null,
       hash ${bytes} not null,
       primary key (chain, at)
     ) ${clustered}`,
  ],
}
