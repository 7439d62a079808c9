// Group C's registry: what a network says about each of its validators, the addresses that paid their deposits, and the
// entity behind them. Duties are columns over time and live in the facts store.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 4,
  name: 'validators',
  up: ({ bytes, clustered }) => [
    // An epoch that lies in the far future is null, as on the wire.
    `create table validators (
      network text not null,
      validator_index bigint not null,
      pubkey ${bytes} not null,
      activation_eligibility_epoch bigint,
      activation_epoch bigint,
      exit_epoch bigint,
      withdrawable_epoch bigint,
      withdrawal_address ${bytes},
      primary key (network, validator_index)
    ) ${clustered}`,
    'create unique index validators_by_pubkey on validators (network, pubkey)',
    `create table validator_deposits (
      network text not null,
      validator_index bigint not null,
      address ${bytes} not null,
      primary key (network, validator_index, address),
      foreign key (network, validator_index) references validators (network, validator_index)
    ) ${clustered}`,
    // Told by people, not by the chain, hence with its source and apart from the chain's own words.
    `create table validator_entities (
      network text not null,
      validator_index bigint not null,
      pool text,
      subpool text,
      dvt_network text,
      node_operators text not null, -- JSON list, in the source's order
      dvt_operators text not null, -- JSON list
      source text not null,
      updated_ms bigint not null,
      primary key (network, validator_index),
      foreign key (network, validator_index) references validators (network, validator_index)
    ) ${clustered}`,
  ],
}
