// Tables of the markets group: records and their links, the search index, the version log, and the
// state of feeds. A record is identified by kind (market, event, series, tag, …) and id. Columns that end in `_ms` are Unix
// times in milliseconds; times of a source are marked as such.
import type { StateDialect } from '../state.ts'

export const marketsSchema = (dialect: StateDialect): readonly string[] => [
  ...recordTables(dialect),
  ...searchTables(dialect),
  ...listTables(dialect),
  ...versionTables(dialect),
  ...tickTables(dialect),
  ...feedTables(dialect),
]

const recordTables = ({ strict, clustered }: StateDialect): readonly string[] => {
  const link = `to_kind text not null,
    to_id text not null,
    from_kind text not null,
    from_id text not null,
    primary key (to_kind, to_id, from_kind, from_id)`
  return [
    // Each record in its current state. Written by feeds and imports.
    `create table market_records (
    kind text not null,
    id text not null,
    slug text, -- slug and title are shown by references to this record
    title text,
    fields text not null, -- JSON object of the record's own values, without the fast ones (markets/ticks/fast-fields.ts)
    links text not null, -- JSON object: field to list of ids, in order
    extra_fields text, -- JSON object of fields that the contract does not define
    changes_since_snapshot bigint not null,
    changed_ms bigint not null, -- when documents last showed another slow field of it, or something else in its references
    vanished_ms bigint, -- of a market: when a feed last listed it; null: a feed still does
    number bigint, -- of a kind with fast fields, from 0: its place in blocks and in the bitmaps of market_feed_presence
    primary key (kind, id)
  ) ${strict}`,
    'create unique index market_records_number on market_records (number)',
    'create index market_records_slug on market_records (slug, kind)',
    // The links of all records in reverse: which records show a record, and are rewritten when it changes.
    `create table market_links (
    ${link}
  ) ${clustered}`,
    'create index market_links_from on market_links (from_kind, from_id)',
    // Links that a record no longer has, for requests about the past.
    `create table market_former_links (
    ${link}
  ) ${clustered}`,
    // Every slug that a market has or had.
    `create table market_slugs (
    slug text not null,
    market_id text not null,
    rank bigint not null, -- 0: current slug, 1: listed by the source as a past slug, 2: earlier slug here
    since_seq bigint not null, -- version with which the market first got the slug
    primary key (slug, market_id)
  ) ${clustered}`,
    'create index market_slugs_market on market_slugs (market_id)',
  ]
}

const searchTables = ({ bytes, clustered }: StateDialect): readonly string[] => [
  // The words of markets. Their rank follows from the values of lists (markets/records/list-columns.ts).
  `create table market_search (
    market_id text primary key,
    words text not null -- of question, slug and tags: lower case, each word with a space before it
  ) ${clustered}`,
  // Each word with the markets that contain it. Words are bytes, because all engines compare bytes the same way, so a
  // prefix is a range of keys.
  `create table market_words (
    word ${bytes} not null, -- UTF-8
    market_id text not null,
    primary key (word, market_id)
  ) ${clustered}`,
]

const listTables = ({ strict, clustered }: StateDialect): readonly string[] => [
  // The slow values by which lists filter and order markets, events, series and tags. Written with the record. Servers keep
  // them in memory, with the fast ones (markets/columns/list-views.ts). Flags are 0 or 1, and -9007199254740991 stands for
  // no value.
  `create table market_list (
    place bigint primary key, -- market_records.number; tags have one here only
    kind text not null, -- market, event, series or tag
    id text not null,
    number bigint not null, -- the id as a number, so that lists are in numeric order
    active bigint not null,
    closed bigint not null,
    archived bigint not null,
    featured bigint not null,
    start_ms bigint not null, -- this and the following are times of the source
    end_ms bigint not null,
    created_ms bigint not null,
    closed_ms bigint not null,
    event_start_ms bigint not null,
    tag_updated_ms bigint not null -- of other records, it is a fast value
  ) ${strict}`,
  'create unique index market_list_record on market_list (kind, id)',
  // Values by which callers look records up, or filter lists, such as ids of markets in contracts. Written with the record.
  `create table market_keys (
    kind text not null, -- market, event, series or tag
    name text not null, -- such as condition, token or recurrence (markets/write/list-rows.ts)
    value text not null,
    id text not null,
    primary key (kind, name, value, id)
  ) ${clustered}`,
  'create index market_keys_record on market_keys (kind, id)',
]

const versionTables = ({ strict }: StateDialect): readonly string[] => [
  // One row for each change of a record that is not only one of fast values. `seq` and `at_ms` grow together. Deleted by
  // age (markets.history.keptDays).
  `create table market_versions (
    seq bigint primary key,
    at_ms bigint not null,
    kind text not null,
    id text not null,
    change_type text not null, -- created, changed, vanished or returned
    diff text not null -- JSON: field to [before, after], null for "no value"; {} unless changed
  ) ${strict}`,
  'create index market_versions_record on market_versions (kind, id, seq)',
  'create index market_versions_time on market_versions (at_ms)',
  // The whole record after every hundredth change, so that reading a past state undoes few versions (snapshots.ts).
  `create table market_snapshots (
    kind text not null,
    id text not null,
    seq bigint not null, -- the record as it was after this version
    fields text not null,
    links text not null,
    primary key (kind, id, seq)
  ) ${strict}`,
  'create index market_snapshots_seq on market_snapshots (seq)',
  // One row: the head of the version log.
  `create table market_revision (
    seq bigint not null, -- of the newest version. Every change of a document has one, so documents are cached by it
    at_ms bigint not null, -- of the newest version
    horizon_ms bigint, -- versions before this time were deleted; null: none were
    horizon_seq bigint not null, -- the last of them; 0: none were
    full_seq bigint not null, -- changes of all records can be listed after this version (markets.history.fullDays)
    extras bigint not null -- how often fields that the contract does not define have changed without a version
  ) ${strict}`,
  'insert into market_revision (seq, at_ms, horizon_seq, full_seq, extras) values (0, 0, 0, 0, 0)',
]

/** A block is 50 records with neighbouring numbers (markets/ticks/block-values.ts). */
const tickTables = ({ bytes, strict }: StateDialect): readonly string[] => [
  // The fast values of each block after the version `seq`. What changed since is in market_ticks.
  `create table market_values (
    block bigint primary key,
    seq bigint not null,
    records ${bytes} not null, -- packed: time of the last change and values of each record
    listed ${bytes} not null -- packed: the values by which lists order the records (markets/records/list-columns.ts)
  ) ${strict}`,
  // The changes of the fast values of a block in one commit. Versions of other changes are in market_versions.
  `create table market_ticks (
    seq bigint primary key, -- of the first of its versions
    at_ms bigint not null,
    block bigint not null,
    slots bigint not null, -- a bit for each record that changes
    changes ${bytes} not null -- packed: record, version, and values before and after
  ) ${strict}`,
  'create index market_ticks_block on market_ticks (block, seq)',
  // Merged rows of market_ticks: of a block, all changes between two versions (markets/ticks/merge-ticks.ts).
  `create table market_packs (
    block bigint not null,
    until_seq bigint not null, -- its last version
    from_seq bigint not null, -- its first version
    changes bigint not null, -- how many
    merged bigint not null, -- 1: it was merged from packs (markets/ticks/merge-packs.ts)
    packed ${bytes} not null, -- of each record of the block: its values before, and its changes
    primary key (block, until_seq)
  ) ${strict}`,
  'create index market_packs_until on market_packs (merged, until_seq, block)',
  // The commits that have changed fast values.
  `create table market_commits (
    seq bigint primary key, -- the last version of the commit
    after_seq bigint not null, -- the last version before the commit
    at_ms bigint not null,
    blocks ${bytes} not null -- packed: the blocks that it changed, with the first version of each (market_ticks.seq)
  ) ${strict}`,
  'create index market_commits_time on market_commits (at_ms)',
]

const feedTables = ({ bytes, strict, clustered }: StateDialect): readonly string[] => [
  // How far each feed has been read, and which process reads it. Updated with every page.
  `create table market_feeds (
    source text primary key, -- id of the feed in the settings
    pass text not null, -- full or recent
    cursor text not null, -- offset or token of the next page; empty: the first page
    page bigint not null, -- pages read in this pass
    records bigint not null, -- different records read in this pass
    full_pass bigint not null, -- number of the current or last full pass
    started_ms bigint not null, -- start of this pass
    read_until_ms bigint, -- source time before which every change has been read
    newest_seen_ms bigint, -- source time of the newest change seen in this pass
    full_at_ms bigint, -- end of the last full pass
    done_at_ms bigint, -- end of the last pass of either kind
    done_pages bigint not null, -- pages of that pass
    done_records bigint not null, -- different records of that pass
    pass_end text not null, -- why that pass ended: end, last page repeats or page repeats
    as_of_ms bigint, -- start of the last finished pass: the time that responses are based on
    absent bigint not null, -- markets missing from the last full pass, if too many to mark as vanished; otherwise 0
    holder text not null, -- id of the process that reads it; empty: none
    held_until_ms bigint not null
  ) ${strict}`,
  // Which markets each feed has listed in its last passes.
  `create table market_feed_presence (
    source text not null,
    full_pass bigint not null, -- market_feeds.full_pass at that time
    seen_ms bigint not null, -- when the pass listed its first market
    markets ${bytes} not null, -- a bitmap of market_records.number, compressed (raw deflate)
    primary key (source, full_pass)
  ) ${clustered}`,
  // Fields in which a source differs from the contract, with the number of records.
  `create table market_drift (
    source text not null,
    kind text not null,
    field text not null,
    problem text not null, -- unknown, converted or left out
    records bigint not null,
    first_ms bigint not null,
    last_ms bigint not null,
    sample text not null, -- the beginning of one value
    primary key (source, kind, field, problem)
  ) ${clustered}`,
  // Records that cannot be stored. A row is deleted when the source corrects or removes the record.
  `create table market_rejects (
    source text not null,
    kind text not null,
    id text not null, -- empty: the record has none
    slug text not null, -- of the record, or the stored slug of the market; empty: none is known
    field text not null,
    reason text not null,
    location text not null, -- where in the file or page
    times bigint not null,
    first_ms bigint not null,
    last_ms bigint not null,
    primary key (source, kind, id, slug, field)
  ) ${clustered}`,
  'create index market_rejects_slug on market_rejects (slug)',
]
