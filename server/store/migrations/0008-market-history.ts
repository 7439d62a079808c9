// Group D: every version of every record, how far each feed has been read, and what did not fit.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 8,
  name: 'market-history',
  up: ({ bytes, strict, clustered }) => [
    // One row per change of one record, as a difference; `seq` and `at_ms` rise together.
    `create table market_versions (
      seq bigint primary key,
      at_ms bigint not null,
      kind text not null,
      id text not null,
      what text not null, -- created, changed, vanished, returned
      diff text not null -- JSON: field → [before, after], null for "without a value"; empty unless changed
    ) ${strict}`,
    'create index market_versions_record on market_versions (kind, id, seq)',
    'create index market_versions_time on market_versions (at_ms)',
    'alter table market_revision add column seq bigint not null default 0',
    'alter table market_revision add column at_ms bigint not null default 0',
    'alter table market_revision add column horizon_ms bigint', // versions before this time have been dropped
    // Links that a record no longer has: where to look when asked about the past.
    `create table market_former_links (
      to_kind text not null,
      to_id text not null,
      from_kind text not null,
      from_id text not null,
      primary key (to_kind, to_id, from_kind, from_id)
    ) ${clustered}`,
    'alter table market_slugs add column seq bigint not null default 0', // when its market last changed by itself
    'alter table market_slugs add column since bigint not null default 0', // the version with which the market got it
    `alter table market_documents add column packed ${bytes}`, // the body, gzipped
    'alter table market_documents add column vanished_ms bigint', // last seen in any feed, once none shows it any more
    // Records whose documents are still to be written: a large import leaves them for its end.
    `create table market_unsettled (
      kind text not null,
      id text not null,
      primary key (kind, id)
    ) ${clustered}`,
    // How far a feed has been read, and who is reading it.
    `create table market_feeds (
      source text primary key,
      pass text not null, -- full, recent
      cursor text not null, -- the next page's offset or token; empty: the first page
      page bigint not null, -- pages read in this pass
      sweep bigint not null, -- number of the full pass under way or last finished
      started_ms bigint not null, -- when this pass began
      mark_ms bigint, -- everything the source changed before this is here (source time)
      reached_ms bigint, -- newest change met in this pass (source time)
      full_at_ms bigint, -- when the last full pass was finished
      done_at_ms bigint, -- when the last pass of either kind was finished
      absent bigint not null, -- markets that the last full pass did not show, if too many to be marked as vanished; else 0
      holder text not null,
      held_until_ms bigint not null
    ) ${strict}`,
    `create table market_sightings (
      source text not null,
      market_id text not null,
      sweep bigint not null, -- the source's full pass in which it was last seen
      seen_ms bigint not null,
      primary key (source, market_id)
    ) ${clustered}`,
    'create index market_sightings_market on market_sightings (market_id)',
    `create table market_drift (
      source text not null,
      kind text not null,
      field text not null,
      problem text not null, -- unknown, converted, left out
      records bigint not null,
      first_ms bigint not null,
      last_ms bigint not null,
      sample text not null,
      primary key (source, kind, field, problem)
    ) ${clustered}`,
    `create table market_rejects (
      source text not null,
      kind text not null,
      id text not null, -- empty where the record has none
      slug text not null, -- the one it states, or the one the market is known by; empty where there is none
      field text not null,
      reason text not null,
      place text not null,
      times bigint not null,
      first_ms bigint not null,
      last_ms bigint not null,
      primary key (source, kind, id, slug, field)
    ) ${clustered}`,
    'create index market_rejects_slug on market_rejects (slug)',
  ],
}
