// The groups of tables whose changes are counted separately (storage/state.ts, rule 3), so that a stored quote does not
// invalidate what is cached of markets.

/** `other` is everything without a group, such as a changed schema. It counts as a change of every group. */
export type TableGroup = keyof typeof tablesOf | 'other'

const tablesOf = {
  alerts: ['open_alerts', 'head_alerts', 'webhook_deliveries'],
  coverage: ['coverage', 'cursors'],
  duties: [
    ...['duty_hours', 'duty_days', 'duty_short_spans', 'duty_long_spans', 'missed_duties', 'duty_presence'],
    ...['duty_units', 'duty_summaries', 'duty_summary_days', 'duty_changes', 'duty_networks'],
    ...['unexplained_balance_changes', 'watch_ranges', 'network_rows'],
  ],
  fundings: [
    ...['fundings', 'funding_grounds', 'distrusted_nodes', 'chain_heads', 'range_boundaries'],
    ...['unfinalized_blocks', 'unfinalized_fundings'],
  ],
  keys: ['keys', 'key_revision'],
  labels: [
    ...['labels', 'label_lists', 'tagged_addresses', 'label_changes', 'label_history', 'explorer_secrets'],
    ...['label_imports', 'label_import_rows'],
  ],
  leases: ['leases'],
  markets: [
    ...['market_records', 'market_links', 'market_former_links', 'market_slugs', 'market_search'],
    ...['market_words', 'market_list', 'market_keys'],
    ...['market_versions', 'market_snapshots', 'market_revision', 'market_feeds', 'market_feed_presence'],
    ...['market_values', 'market_ticks', 'market_packs', 'market_commits', 'market_drift', 'market_rejects'],
  ],
  overrides: ['fx_overrides', 'fx_override_revision'],
  quotes: ['fx_quotes', 'fx_idempotency', 'fx_receipt_keys'],
  rates: ['fx_rates', 'fx_latest', 'fx_contradictions', 'fx_source_status'],
  registry: [
    ...['validators', 'deposit_senders', 'validator_deposits', 'epoch_gaps', 'validator_entities'],
    ...['validator_operators', 'validator_pools', 'entity_days', 'entity_changes'],
    ...['entity_rules', 'entity_pending', 'withdrawal_addresses', 'entity_sources'],
    ...['registry_operators'],
  ],
  sessions: ['console_links', 'console_sessions'],
  snapshots: ['chain_snapshots', 'chain_snapshot_parts'],
  trades: ['fx_trades', 'fx_deliveries'],
  usage: ['usage'],
} as const

const groups = new Map<string, TableGroup>(
  Object.entries(tablesOf).flatMap(([group, tables]) => tables.map((table) => [table, group as TableGroup])),
)

export const groupOfTable = (table: string): TableGroup => groups.get(table) ?? 'other'

/** Not `do update` and `for update`, which name no table. */
const writtenTable = /\b(?:insert\s+into|delete\s+from|(?<!\b(?:do|for|key)\s+)update)\s+(\w+)/gi
const isQuery = /^\s*(?:select|with|insert|update|delete|set|fetch|declare|savepoint|rollback|release|lock)\b/i

/** The groups that a statement may change. */
export const groupsWrittenBy = (sql: string): readonly TableGroup[] =>
  isQuery.test(sql)
    ? [...new Set(Array.from(sql.matchAll(writtenTable), ([, table = '']) => groupOfTable(table)))]
    : ['other']
