// How the sources of rates are doing, told by the server that asks them and read by commands beside it; and the key that
// receipts are signed with.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 9,
  name: 'fx desk',
  up: ({ bytes, strict }) => [
    `create table fx_source_status (
      source text primary key,
      tried_ms bigint not null,
      good_ms bigint,
      failures bigint not null,
      reason text
    ) ${strict}`,
    `create table fx_receipt_keys (
      id text primary key,
      private_key ${bytes} not null,
      public_key ${bytes} not null,
      created_ms bigint not null
    ) ${strict}`,
  ],
}
