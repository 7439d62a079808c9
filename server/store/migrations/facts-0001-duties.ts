// Validator duties: additive measures only, penalties negative, amounts in gwei.
//
// 1. duty_hours has one row per network, validator and piece: the epochs of one chain hour that share their chain day
//    and their UTC day. An hour that crosses a midnight is two pieces, so both kinds of days are exact sums of pieces.
// 2. duty_days and duty_utc_days are those sums. They stay when hours expire.
// 3. duty_stage is empty outside a transaction.
// No keys and no indexes: the writer keeps rows unique (server/groups/validators/duties.ts), and an index over
// hundreds of millions of rows would not fit into memory. Rows are written sorted by validator within each batch.
import type { FactsMigration, FactsTable } from '../facts.ts'

const counts = [
  'assigned',
  'inclusions',
  'included',
  'inclusion_delay',
  'correct_source',
  'correct_target',
  'correct_head',
  'late_source',
  'late_target',
  'proposer_duties',
  'proposed',
  'proposed_empty',
  'sync_signatures',
  'slashes_collected',
  'slashes_received',
  'execution_unknown',
]

const amounts = [
  'attestation_reward',
  'sync_reward',
  'block_reward',
  'late_source_penalty',
  'late_target_penalty',
  'wrong_target_penalty',
  'wrong_head_penalty',
  'missed_attestation_penalty',
  'sync_penalty',
  'missed_attestation_reward',
  'missed_sync_reward',
  'missed_block_reward',
  'missed_execution_reward',
  'priority_fee',
  'baseline_mev',
  'external_reward',
  'earnings',
]

const table = (name: string, keys: readonly string[]): string => {
  const columns = [
    'network varchar not null',
    ...['validator', ...keys, ...counts].map((column) => `${column} integer not null`),
    ...amounts.map((column) => `${column} bigint not null`),
  ]
  return `create table ${name} (${columns.join(', ')})`
}

/** Hours go by chain days: that is how they expire. */
const shared = (name: string, keys: readonly string[], day: string): FactsTable => ({
  name,
  columns: {
    network: 'text',
    ...Object.fromEntries(['validator', ...keys, ...counts].map((column) => [column, 'int32' as const])),
    ...Object.fromEntries(amounts.map((column) => [column, 'int64' as const])),
  },
  key: 'network',
  window: { column: day },
  sums: [...counts, ...amounts],
})

export const migration: FactsMigration = {
  id: 1,
  name: 'duties',
  up: [
    table('duty_hours', ['hour', 'day', 'utc_day']),
    table('duty_days', ['day']),
    table('duty_utc_days', ['utc_day']),
    // A day has no hour and the other kind of day.
    table('duty_stage', ['hour', 'day', 'utc_day']).replaceAll(/(hour|day) integer not null/g, '$1 integer'),
  ],
  tables: [
    shared('duty_hours', ['hour', 'day', 'utc_day'], 'day'),
    shared('duty_days', ['day'], 'day'),
    shared('duty_utc_days', ['utc_day'], 'utc_day'),
  ],
}
