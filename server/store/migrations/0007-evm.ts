// Group A from real nodes: which fundings a probe has proven to be first, and the blocks that are not final yet, kept
// apart so that a reorg can take them back.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 7,
  name: 'evm',
  up: ({ bytes, clustered }) => [
    // 1: a probe has proven that nothing came earlier. 0: only coverage can say so.
    'alter table fundings add column proven bigint not null default 0',
    // An unbroken run up to the head; its lowest block is the newest final one, which the run hangs on.
    `create table near_blocks (
       chain text not null,
       block bigint not null,
       hash ${bytes} not null,
       primary key (chain, block)
     ) ${clustered}`,
    // The first transfer to an address in each block that is not final.
    `create table near_fundings (
       chain text not null,
       address ${bytes} not null,
       block bigint not null,
       tx_index bigint not null,
       position bigint not null,
       time_unix bigint not null,
       funder ${bytes} not null,
       tx ${bytes} not null,
       value_wei text not null,
       primary key (chain, address, block)
     ) ${clustered}`,
    'create index near_fundings_by_block on near_fundings (chain, block)',
  ],
}
