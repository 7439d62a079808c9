// Group D: what markets are found by (decision 0128): each in the place where it is shown, and each word with the markets
// that have it.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 15,
  name: 'market-search',
  up: ({ bytes, clustered }) => [
    `create table market_search (
      rank bigint not null, -- open ones above the others, then by what was traded
      market_id text not null,
      words text not null, -- of question, slug and tags: small letters, each word with a space before it
      primary key (rank, market_id)
    ) ${clustered}`,
    'create unique index market_search_market on market_search (market_id)',
    // Bytes are compared alike by every engine, so that a word's beginning is a range.
    `create table market_words (
      word ${bytes} not null, -- UTF-8
      market_id text not null,
      primary key (word, market_id)
    ) ${clustered}`,
    // Markets that are there already get their words when the server settles what was left for later.
    `insert into market_unsettled (kind, id) select 'market', market_id from market_documents where true
     on conflict (kind, id) do nothing`,
  ],
}
