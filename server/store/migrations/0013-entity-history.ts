// What was believed about the entity behind a validator before, and until when: entities are told by people, who correct
// themselves.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 13,
  name: 'entity history',
  up: ({ strict }) => [
    `create table validator_entity_history (
      network text not null,
      validator_index bigint not null,
      pool text,
      subpool text,
      dvt_network text,
      node_operators text not null,
      dvt_operators text not null,
      source text not null,
      from_ms bigint not null,
      until_ms bigint not null
    ) ${strict}`,
    'create index validator_entity_history_by_validator on validator_entity_history (network, validator_index)',
    'create index validators_by_withdrawal on validators (network, withdrawal_address)',
    'create index validator_deposits_by_address on validator_deposits (network, address)',
  ],
}
