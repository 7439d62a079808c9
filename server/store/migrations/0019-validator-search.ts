// Group C: what validators are found by. Operators stand in a list inside the entity, so they get rows of their own; pools get
// their numbers of validators, because counting a million of them takes longer than an answer may (decision 0123).
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 19,
  name: 'validator search',
  up: ({ bytes, clustered }) => [
    `create table validator_operators (
      network text not null,
      operator text not null,
      validator_index bigint not null,
      primary key (network, operator, validator_index)
    ) ${clustered}`,
    'create index validator_entities_by_pool on validator_entities (network, pool, validator_index)',
    `create table validator_pools (
      network text not null,
      pool text not null,
      validators bigint not null,
      primary key (network, pool)
    ) ${clustered}`,
    // The engines open a JSON list each in its own way.
    `insert into validator_operators (network, operator, validator_index)
     select distinct e.network, o.value, e.validator_index from validator_entities e, ${
       bytes === 'blob'
         ? 'json_each(e.node_operators) o'
         : 'lateral json_array_elements_text(e.node_operators::json) as o(value)'
     }`,
    `insert into validator_pools (network, pool, validators)
     select network, pool, count(*) from validator_entities where pool is not null group by network, pool`,
  ],
}
