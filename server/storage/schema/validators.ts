// The registry of validators: the beacon chain's data about each, its deposit addresses, and the entity that runs it.
// `network` is the name in the settings. Columns that end in `_ms` are Unix times in milliseconds.
import type { StateDialect } from '../state.ts'

export const validatorsSchema = (dialect: StateDialect): readonly string[] => [
  ...chainTables(dialect),
  ...entityTables(dialect),
  ...alertTables(dialect),
]

const chainTables = ({ bytes, strict, clustered }: StateDialect): readonly string[] => [
  // Written by the beacon ingester. An epoch in the far future (2^64 - 1 on the chain) is null.
  `create table validators (
    network text not null,
    validator_index bigint not null,
    pubkey ${bytes} not null,
    activation_eligibility_epoch bigint,
    activation_epoch bigint,
    exit_epoch bigint,
    withdrawable_epoch bigint,
    withdrawal_address ${bytes}, -- null: the withdrawal credentials name no address
    primary key (network, validator_index)
  ) ${clustered}`,
  'create unique index validators_by_pubkey on validators (network, pubkey)',
  'create index validators_by_withdrawal on validators (network, withdrawal_address)',
  // Senders of deposits, from the logs of the deposit contract. Stored by public key, because a deposit is seen before
  // the validator has an index.
  `create table deposit_senders (
    network text not null,
    pubkey ${bytes} not null,
    address ${bytes} not null,
    deposit_index bigint not null, -- index of the first deposit from this address for this key, by the deposit contract
    primary key (network, pubkey, address)
  ) ${clustered}`,
  // The same by validator index, for validators in the registry.
  `create table validator_deposits (
    network text not null,
    validator_index bigint not null,
    address ${bytes} not null,
    deposit_index bigint not null default 0, -- as above; addresses are listed in this order
    primary key (network, validator_index, address),
    foreign key (network, validator_index) references validators (network, validator_index)
  ) ${clustered}`,
  'create index validator_deposits_by_address on validator_deposits (network, address)',
  // Missing epochs that could not be filled, and why. Replaced with every attempt.
  `create table epoch_gaps (
    network text not null,
    from_epoch bigint not null,
    until_epoch bigint not null,
    reason text not null,
    tried_ms bigint not null,
    primary key (network, from_epoch)
  ) ${clustered}`,
  // The newest stored snapshot of a network, for servers that share a PostgreSQL database. SQLite has none: the snapshots of
  // its server are files (server/validators/ingest/write/shared-snapshots.ts). One row per network.
  `create table chain_snapshots (
    network text primary key,
    epoch bigint not null,
    state_root text not null,
    parts bigint not null
  ) ${clustered}`,
  // Parts of the file, in order, of 1 MiB except the last one. Another epoch than that of the snapshot: not complete yet.
  `create table chain_snapshot_parts (
    network text not null,
    epoch bigint not null,
    part bigint not null,
    content ${bytes} not null,
    primary key (network, epoch, part)
  ) ${strict}`,
]

const entityTables = ({ bytes, clustered }: StateDialect): readonly string[] => [
  // What names the entities of validators: rules of the configuration and records of imported files. A rule also applies to
  // validators that appear later (server/validators/entities/rules.ts).
  `create table entity_rules (
    network text not null,
    selector text not null, -- index, pubkey, indices, withdrawalAddress or depositAddress
    value ${bytes} not null, -- the key, the address, or the first index (8 bytes)
    until_index bigint, -- the index after the last one; null: the selector is not indices
    kind text not null, -- rule, registry or label
    source text not null, -- such as configuration, or the name of an import
    from_day bigint not null, -- the first chain day of a correction; −1: the rule is about the present
    until_day bigint, -- the day after the last one of a correction; null: the present
    pool text,
    subpool text,
    node_operators text, -- JSON list; null: the rule does not name them
    dvt_network text,
    dvt_operators text, -- JSON list; null: the rule does not name them
    owned_by ${bytes}, -- it selects only validators that withdraw to this address; null: all
    revision bigint not null, -- grows with each write: the newest rule wins
    primary key (network, selector, value, kind, source, from_day)
  ) ${clustered}`,
  'create index entity_rules_by_source on entity_rules (network, kind, source)',
  `create index entity_rules_by_from_day on entity_rules (network, from_day) where from_day >= 0`,
  // Validators whose entity is to be determined again, because a rule or what a rule selects by has changed.
  `create table entity_pending (
    network text not null,
    validator_index bigint not null,
    primary key (network, validator_index)
  ) ${clustered}`,
  // The distinct withdrawal addresses of validators, and the registries of the chain that have been asked about each.
  `create table withdrawal_addresses (
    network text not null,
    address ${bytes} not null,
    asked bigint not null default 0, -- bits (server/validators/entities/registries/address-registries.ts)
    primary key (network, address)
  ) ${clustered}`,
  // The state of the sources of rules that are read again and again: registries of the chain, and the configured file.
  `create table entity_sources (
    network text not null,
    source text not null, -- such as rocket-pool
    contracts text not null, -- the contracts that a registry begins with; empty: a file
    at_block bigint, -- the final block of the last complete pass; null: none, or a file
    at_unix bigint, -- its time
    problem text, -- why it is not read at present; null: it is
    primary key (network, source)
  ) ${clustered}`,
  // The operators of staking modules, and how many of their keys have been read.
  `create table registry_operators (
    network text not null,
    module ${bytes} not null, -- the contract
    operator bigint not null,
    name text not null,
    subpool text not null, -- the name of the module
    key_count bigint not null,
    primary key (network, module, operator)
  ) ${clustered}`,
  // Which entity a validator belongs to, from a chain day until a chain day. Each field has periods of its own, which do not
  // overlap (server/validators/entities/memberships.ts).
  `create table validator_entities (
    network text not null,
    validator_index bigint not null,
    field text not null, -- pool, operators (of the node) or dvt
    from_day bigint not null,
    until_day bigint, -- the day after the last one; null: the period has not ended
    name text, -- the pool or the DVT network
    subpool text,
    operators text not null, -- JSON list, in the order of the source
    kind text not null, -- rule, registry or label
    source text not null, -- such as the name of an import
    rule text not null, -- what selected the validator, such as withdrawalAddress
    primary key (network, validator_index, field, from_day),
    foreign key (network, validator_index) references validators (network, validator_index)
  ) ${clustered}`,
  `create index validator_entities_by_pool on validator_entities (network, name, validator_index)
    where field = 'pool' and until_day is null`,
  // The present chain day of each network, as far as it has been read.
  `create table entity_days (
    network text primary key,
    epochs_per_day bigint not null,
    current_day bigint not null -- the first one that is not over
  ) ${clustered}`,
  // Chain days whose pools or operators have changed, and the version of the change. These days are summarized again.
  `create table entity_changes (
    network text not null,
    version bigint not null,
    from_day bigint not null,
    until_day bigint not null,
    primary key (network, version, from_day)
  ) ${clustered}`,
  // The present node operators, one row for each name, to find validators by operator.
  `create table validator_operators (
    network text not null,
    operator text not null,
    validator_index bigint not null,
    primary key (network, operator, validator_index)
  ) ${clustered}`,
  // The present size of each pool: counting a million validators takes too long for a response.
  `create table validator_pools (
    network text not null,
    pool text not null,
    validators bigint not null,
    primary key (network, pool)
  ) ${clustered}`,
]

const alertTables = ({ strict, clustered }: StateDialect): readonly string[] => [
  // Problems that were reported to a webhook and still exist. They are not reported again until they have ended.
  `create table open_alerts (
    network text not null,
    webhook text not null, -- its id in the settings
    event text not null, -- such as attestations_missed
    validator_index bigint not null,
    since_epoch bigint not null,
    primary key (network, webhook, event, validator_index)
  ) ${clustered}`,
  // Events about epochs that are not final yet. When the epoch is final, the event is sent again or withdrawn.
  `create table head_alerts (
    network text not null,
    webhook text not null,
    event text not null,
    epoch bigint not null,
    validator_index bigint not null,
    slot bigint not null, -- of a missed block; 0: the event is about the epoch
    primary key (network, webhook, event, epoch, validator_index, slot)
  ) ${clustered}`,
  // Requests to webhooks: those to send, and a log of the last ones. Written in the transaction that moves the cursor
  // alerts/<network>, so that no event is lost or found twice.
  `create table webhook_deliveries (
    id text primary key, -- sent as webhook-id
    webhook text not null,
    event text not null,
    network text not null,
    epoch bigint not null,
    finality text not null, -- head or finalized
    validators bigint not null, -- how many the event is about
    body text not null,
    status text not null, -- pending, delivered or failed
    attempts bigint not null,
    created_ms bigint not null,
    next_attempt_ms bigint, -- null: delivered or failed
    finished_ms bigint, -- null: pending
    last_error text -- of the last attempt, if it failed
  ) ${strict}`,
  `create unique index webhook_deliveries_by_event on webhook_deliveries (webhook, network, event, epoch)
    where finality = 'finalized'`,
  'create index webhook_deliveries_by_time on webhook_deliveries (status, next_attempt_ms)',
]
