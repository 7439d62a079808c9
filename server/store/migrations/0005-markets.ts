// Group D: every record once, how they hang together, and one finished document per market.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 5,
  name: 'markets',
  up: ({ bytes, strict, clustered }) => [
    `create table market_records (
      kind text not null,
      id text not null,
      slug text, -- with title, what a reference to this record shows
      title text,
      fields text not null, -- JSON object of the record's own values
      links text not null, -- JSON object: field → ids, in order
      aside text, -- JSON object of what the contract does not know
      primary key (kind, id)
    ) ${strict}`,
    // The links turned round: who shows a record, and so must be written again when it changes.
    `create table market_links (
      to_kind text not null,
      to_id text not null,
      from_kind text not null,
      from_id text not null,
      primary key (to_kind, to_id, from_kind, from_id)
    ) ${clustered}`,
    'create index market_links_from on market_links (from_kind, from_id)',
    `create table market_documents (
      market_id text primary key,
      slug text not null,
      body ${bytes} not null,
      tags_at bigint not null, -- where the tags begin in the body; they end it. -1: no tags
      etag text not null,
      modified_ms bigint not null
    ) ${strict}`,
    `create table market_slugs (
      slug text not null,
      market_id text not null,
      past bigint not null, -- 0: the present slug, 1: listed by the source as a past one, 2: seen here before
      primary key (slug, market_id)
    ) ${clustered}`,
    'create index market_slugs_market on market_slugs (market_id)',
    // One row: moves whenever a document or a slug does, so that documents can be kept in memory.
    `create table market_revision (revision bigint not null) ${strict}`,
    'insert into market_revision (revision) values (0)',
  ],
}
