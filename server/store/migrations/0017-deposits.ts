// Who sent each validator's deposits, by key: a deposit is seen before the validator is in any registry. `place` is the
// deposit's number in the contract, so that a validator's addresses stand in the order in which they first paid.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 17,
  name: 'deposits',
  up: ({ bytes, clustered }) => [
    `create table deposit_senders (
      network text not null,
      pubkey ${bytes} not null,
      address ${bytes} not null,
      place bigint not null,
      primary key (network, pubkey, address)
    ) ${clustered}`,
    'alter table validator_deposits add column place bigint not null default 0',
  ],
}
