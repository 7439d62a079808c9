// The tables of the duties database: `duties.sqlite`, or a schema of its own in PostgreSQL. It is apart from the state, so that a quote
// never waits until an epoch of a million validators is written. server/groups/validators/duties/ reads and writes it.
//
// 1. One transaction holds everything about the epochs it brings: figures, missed duties, audits, coverage and where reading goes on.
// 2. `network` is the place of the network in the contract's list, from 1 on. Ranges are half-open.
// 3. `id` is network, unit of time and group of validators in one number, and `data` packed figures: duties/layout.ts and duties/chunk.ts.
import type { StateDialect } from '../state.ts'

/** Figures by time and validators. */
const chunks = {
  /** One chain hour within one day part, 64 validators. */
  duty_hours: 'deleted by age',
  /** One day part (the epochs that share chain day and UTC day), 64 validators. */
  duty_days: 'until its short block is over',
  /** 16 day parts, about 8 days, 8 validators. */
  duty_short_blocks: 'until its long block is over',
  /** 128 day parts, about 64 days, one validator. */
  duty_long_blocks: 'for good',
  /** The late, wrong and missing duties of one day part, 64 validators. */
  missed_duties: 'deleted by age',
  /** Who has duties in one day part, 32 768 validators. */
  duty_presence: 'for good',
}

const chunkTable = (name: string, { bytes, strict }: StateDialect): string[] => [
  `create table ${name} (id bigint primary key, data ${bytes} not null) ${strict}`,
  // PostgreSQL would try to compress what is packed already.
  ...(bytes === 'bytea' ? [`alter table ${name} alter column data set storage external`] : []),
]

export const dutiesSchema = (dialect: StateDialect): readonly string[] => [
  ...Object.keys(chunks).flatMap((name) => chunkTable(name, dialect)),

  // Which units of which level have rows. level: 0 days, 1 short blocks, 2 long blocks.
  `create table duty_units (network integer not null, level integer not null, unit integer not null,
    primary key (network, level, unit)) ${dialect.clustered}`,

  // A chain day of a whole network (kind 0, no name), a pool (1) or an operator (2): sums and the spread of scores. data: duties/summaries.ts.
  `create table duty_summaries (network integer not null, day integer not null, kind integer not null, name text not null,
    validators integer not null, data ${dialect.bytes} not null, primary key (network, kind, name, day)) ${dialect.clustered}`,
  // Days that have summaries, and the version of the pools and operators that were used.
  `create table duty_summary_days (network integer not null, day integer not null, version bigint not null,
    primary key (network, day)) ${dialect.clustered}`,

  // What has been read completely, by stream: `duties/NETWORK`, `hours/NETWORK` and `missed/NETWORK` in epochs.
  `create table coverage (stream text not null, from_at bigint not null, until_at bigint not null,
    primary key (stream, from_at)) ${dialect.clustered}`,

  // Numbers under a name: marks of a move from another store.
  `create table cursors (stream text primary key, at bigint not null) ${dialect.clustered}`,

  // Which chain the figures are about, and the hours and days they were added up into. Each pair of columns is null until it is known.
  // validators: how many there are on a network with a watch list.
  `create table duty_networks (network integer primary key, genesis_unix bigint, genesis_root text,
    slot_seconds integer, slots_per_epoch integer, epochs_per_hour integer, epochs_per_day integer, validators integer) ${dialect.strict}`,

  // Inactivity scores other than zero after an epoch, as `index:score,…`: what reading the next epoch needs.
  `create table inactivity_scores (network integer not null, epoch integer not null, scores text not null,
    primary key (network, epoch)) ${dialect.clustered}`,

  // Rewards compared with the node's own, by epoch and part (source, target, …). gwei: node minus ours.
  `create table reward_audits (network integer not null, epoch integer not null, part text not null,
    compared integer not null, differing integer not null, gwei bigint not null, primary key (network, epoch, part)) ${dialect.clustered}`,

  // Balances that changed otherwise than by duties: deposits, consolidations.
  `create table unexplained_balance_changes (network integer not null, epoch integer not null, validators integer not null,
    in_gwei bigint not null, out_gwei bigint not null, primary key (network, epoch)) ${dialect.clustered}`,

  // Epochs in which a validator of the watch list was kept. validator −1: all; until_epoch 2147483647: still.
  `create table watch_ranges (network integer not null, validator integer not null, from_epoch integer not null,
    until_epoch integer not null, primary key (network, validator, from_epoch)) ${dialect.clustered}`,
]
