// Group D: when the last finished pass over a feed began, which is the time that answers rest on.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 25,
  name: 'market-feeds-as-of',
  up: () => [
    'alter table market_feeds add column as_of_ms bigint',
    // When those of before began is not known; what the source had changed by its mark is here.
    'update market_feeds set as_of_ms = mark_ms',
  ],
}
