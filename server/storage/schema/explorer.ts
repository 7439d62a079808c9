// Tables of the explorer: labels, their history, and the first funding of each address.
// `chain` is the chain id as text, such as 1. Addresses and hashes are bytes, which take half the space of their text.
import type { StateDialect } from '../state.ts'

export const explorerSchema = (dialect: StateDialect): readonly string[] => [
  ...labelTables(dialect),
  ...importTables(dialect),
  ...fundingTables(dialect),
]

const labelTables = ({ bytes, strict, clustered }: StateDialect): readonly string[] => [
  // Labelled entities, one row for each chain the entity is on. Written by `tetrad labels`.
  `create table labels (
    chain text not null,
    slug text not null,
    name text not null,
    description text not null,
    notes text not null, -- may be empty
    updated_unix bigint not null, -- seconds
    primary key (chain, slug)
  ) ${clustered}`,
  // One row for each chain that has ever had a label. The revision grows with every change, so that lists can be
  // cached.
  `create table label_lists (
    chain text primary key,
    revision bigint not null,
    entries bigint not null -- rows of this chain in labels
  ) ${strict}`,
  // Addresses with a name. Several sources may name the same address, each once.
  `create table tagged_addresses (
    chain text not null,
    address ${bytes} not null,
    source text not null,
    name text not null,
    entity text not null, -- slug in labels; may be empty
    confidence bigint not null, -- percent
    evidence_url text not null, -- may be empty
    updated_unix bigint not null, -- seconds
    primary key (chain, address, source)
  ) ${clustered}`,
  'create index tagged_addresses_by_entity on tagged_addresses (entity, chain)',
  // One row for each transaction that changed labels or tagged addresses. The highest number is the registry's
  // revision.
  `create table label_changes (
    change bigint primary key,
    at_ms bigint not null,
    author text not null, -- person or program
    via text not null -- the command, or the import with its file
  ) ${strict}`,
  // What each of those transactions changed. Rows are never updated or deleted. A number without a row in label_changes
  // belongs to a large import that is under way; its rows are not read.
  `create table label_history (
    change bigint not null, -- in label_changes, or in label_imports
    item bigint not null, -- position within the change, from 0
    kind text not null, -- entity or address
    chain text not null,
    subject text not null, -- slug, or address as hexadecimal text
    source text not null, -- of a tagged address; empty for entities
    action text not null, -- added, changed or removed
    before text, -- JSON object: the changed fields before the change; null: added
    after text, -- the same fields after the change; null: removed
    primary key (change, item)
  ) ${clustered}`,
  'create index label_history_by_subject on label_history (subject, change)',
]

/** Written by requests, unlike the other tables. */
export const explorerSecretsSchema = ({ bytes, strict }: StateDialect): readonly string[] => [
  // The secret that signs download links. Created by the first server that needs it.
  `create table explorer_secrets (
    name text primary key,
    secret ${bytes} not null
  ) ${strict}`,
]

const importTables = ({ bytes, strict, clustered }: StateDialect): readonly string[] => [
  // Large label imports that are under way, or were interrupted. A later import deletes the leftovers
  // (labels/import/staging.ts).
  `create table label_imports (
    change bigint primary key, -- reserved for the import; in label_changes when it has finished
    at_ms bigint not null -- start of the import
  ) ${strict}`,
  // The rows of labels and tagged_addresses that those imports will write in one transaction. Columns that only the
  // other kind has are null.
  `create table label_import_rows (
    change bigint not null, -- in label_imports
    item bigint not null,
    kind text not null, -- entity or address
    chain text not null,
    slug text,
    source text,
    name text not null,
    description text,
    notes text,
    address ${bytes},
    entity text,
    confidence bigint,
    evidence_url text,
    updated_unix bigint not null,
    primary key (change, item)
  ) ${clustered}`,
]

const fundingTables = ({ bytes, strict, clustered }: StateDialect): readonly string[] => {
  const transfer = `block bigint not null,
    tx_index bigint not null, -- position of the transaction in the block
    position bigint not null, -- within the transaction: 0 is its own value, then internal transfers in order
    time_unix bigint not null, -- of the block, in seconds
    funder ${bytes} not null,
    tx ${bytes} not null, -- transaction hash
    value_wei text not null, -- decimal; exceeds 64 bits`
  return [
    // The earliest known transfer to each address, from finalized blocks. Written by the indexer and by funding
    // searches.
    // A setting adds two indexes (explorer/extensions/reverse-lookups).
    `create table fundings (
    chain text not null,
    address ${bytes} not null,
    ${transfer}
    ground bigint not null default 0, -- of the search that proved it, in funding_grounds; 0: only complete coverage proves it
    primary key (chain, address)
  ) ${clustered}`,
    // On what searches have proven fundings. A row is shared by all fundings with the same ground.
    `create table funding_grounds (
    chain text not null,
    ground bigint not null,
    method text not null, -- state, trace_filter or logs: how the first transfer was found
    lists text not null, -- of trace_filter. asked, not needed, or missing: no node had it
    nodes text not null, -- that trace_filter was asked of, as a JSON list
    is_void bigint not null default 0, -- 1: one of these nodes returned an incomplete list later, so nothing is proven
    primary key (chain, ground)
  ) ${clustered}`,
    // Nodes whose trace_filter left out a transfer. A row is deleted when the same list is complete.
    `create table distrusted_nodes (
    chain text not null,
    node text not null, -- its URL without key
    address text not null, -- whose transfers were not all listed
    reason text not null,
    at_ms bigint not null,
    primary key (chain, node, address)
  ) ${clustered}`,
    // The end of each chain, as the nodes report it.
    `create table chain_heads (
    chain text primary key,
    final_until bigint not null, -- the number after the newest finalized block
    confirmed_ms bigint not null default 0, -- when a node last reported this head while all blocks were indexed; 0: never
    head_block bigint not null default 0, -- the newest block at that time
    head_unix bigint not null default 0 -- its time in seconds; 0: not known, or not checked
  ) ${strict}`,
    // Hashes at the ends of each covered range of blocks, to detect a node that serves another chain
    // (funding/index/continuity.ts).
    `create table range_boundaries (
    chain text not null,
    at bigint not null, -- where a range begins or ends
    hash ${bytes} not null, -- of block at - 1
    primary key (chain, at)
  ) ${clustered}`,
    // Indexed blocks that are not finalized. They form an unbroken sequence that begins with the newest finalized
    // block.
    `create table unfinalized_blocks (
    chain text not null,
    block bigint not null,
    hash ${bytes} not null,
    primary key (chain, block)
  ) ${clustered}`,
    // The first transfer to each address in each of those blocks. Moved to fundings on finality, deleted on a reorg.
    `create table unfinalized_fundings (
    chain text not null,
    address ${bytes} not null,
    ${transfer}
    primary key (chain, address, block)
  ) ${clustered}`,
    'create index unfinalized_fundings_by_block on unfinalized_fundings (chain, block)',
  ]
}
