// The tables of the duties database: `duties.sqlite`, or a second schema in PostgreSQL. It is separate from the state,
// so that a quote never waits until an epoch of a million validators is written. server/validators/duties/ reads and
// writes it.
//
// 1. Everything about an epoch is written in one transaction: figures, missed duties and coverage.
// 2. `network` is the number of the network (core/network-id.ts), because it is a part of `id`; duty_networks has the names.
//    Tables of the state have its name, because people read them. Ranges are half-open.
// 3. `id` is network, unit of time and group of validators in one number (duties/layout.ts). `data` is packed
//    (duties/row-format.ts).
import type { StateDialect } from '../state.ts'
import { coverageSchema, cursorsSchema } from './core.ts'

const packedTables = [
  // One chain hour within one day part, 64 validators. Deleted by age.
  'duty_hours',
  // One day part (the epochs that share their chain day and their UTC day), 64 validators. Merged into short spans.
  'duty_days',
  // 16 day parts (about 8 days), 8 validators. Merged into long spans.
  'duty_short_spans',
  // 128 day parts (about 64 days), one validator.
  'duty_long_spans',
  // Late, wrong and missing duties of one day part, 64 validators. Deleted by age.
  'missed_duties',
  // Which of 32 768 validators have duties in one day part.
  'duty_presence',
]

const packedTable = (name: string, { bytes, strict }: StateDialect): string[] => [
  `create table ${name} (id bigint primary key, data ${bytes} not null) ${strict}`,
  // PostgreSQL would try to compress packed data.
  ...(bytes === 'bytea' ? [`alter table ${name} alter column data set storage external`] : []),
]

export const dutiesSchema = (dialect: StateDialect): readonly string[] => [
  ...packedTables.flatMap((name) => packedTable(name, dialect)),

  // Which units of which level have rows. level: 0 days, 1 short spans, 2 long spans.
  `create table duty_units (network integer not null, level integer not null, unit integer not null,
    primary key (network, level, unit)) ${dialect.clustered}`,

  // A chain day of a network (kind 0, empty name), a pool (1) or an operator (2): sums and the distribution of scores.
  // epochs: how many of the day they cover. method: the number of the method of the scores. data: duties/daily-summaries.ts.
  `create table duty_summaries (network integer not null, day integer not null, kind integer not null, name text not null,
    validators integer not null, epochs integer not null, method integer not null, data ${dialect.bytes} not null,
    primary key (network, kind, name, day)) ${dialect.clustered}`,
  // Days that have summaries, and the version of pools and operators that was used.
  `create table duty_summary_days (network integer not null, day integer not null, version bigint not null,
    primary key (network, day)) ${dialect.clustered}`,

  // With a watch list: what the validators of a group did in the epochs of a segment, or all of them (group −1). Deleted
  // when the day has a summary that covers all its epochs, or by age. data: duties/network-rows.ts.
  `create table network_rows (network integer not null, day integer not null, validator_group integer not null,
    from_epoch integer not null, until_epoch integer not null, data ${dialect.bytes} not null,
    primary key (network, day, validator_group, from_epoch)) ${dialect.clustered}`,
  ...(dialect.bytes === 'bytea' ? ['alter table network_rows alter column data set storage external'] : []),

  // Day parts that changed after they were past, for copies outside this database. The revision grows with each change.
  `create table duty_changes (network integer not null, part integer not null, revision bigint not null,
    primary key (network, part)) ${dialect.clustered}`,
  'create unique index duty_changes_by_revision on duty_changes (network, revision)',

  // Stored epochs by stream: `duties/NETWORK`, `hours/NETWORK` and `missed/NETWORK`.
  ...coverageSchema(dialect),

  // The progress of `tetrad move`.
  ...cursorsSchema(dialect),

  // The chain that the figures belong to, and the length of its hours and days. Columns are null until they are known.
  // validators: the number of all validators, if the network has a watch list.
  `create table duty_networks (network integer primary key, name text not null, genesis_unix bigint, genesis_root text,
    slot_seconds integer, slots_per_epoch integer, execution_chain_id text, epochs_per_hour integer, epochs_per_day integer, validators integer) ${dialect.strict}`,

  // Balance changes that the rules do not explain.
  `create table unexplained_balance_changes (network integer not null, epoch integer not null, validators integer not null,
    in_gwei bigint not null, out_gwei bigint not null, primary key (network, epoch)) ${dialect.clustered}`,

  // Epochs in which a validator of the watch list is stored. validator −1: all; until_epoch 2147483647: no end yet. The
  // range without an end starts where the validator was added; its past has ranges of its own.
  `create table watch_ranges (network integer not null, validator integer not null, from_epoch integer not null,
    until_epoch integer not null, primary key (network, validator, from_epoch)) ${dialect.clustered}`,
]
