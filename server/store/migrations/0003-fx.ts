// Tables of: fx. Rates keep their history; the latest of each source and pair stands beside it, because a quote needs
// only that. A quote keeps its reply as it was sent, what it was priced from, and the signature over that with the id of the key.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 3,
  name: 'fx',
  up: ({ bytes, strict, clustered }) => [
    `create table fx_rates (
      source text not null,
      base text not null,
      quote text not null,
      at_ms bigint not null,
      rate text not null,
      received_ms bigint not null,
      primary key (source, base, quote, at_ms)
    ) ${clustered}`,
    `create table fx_latest (
      source text not null,
      base text not null,
      quote text not null,
      at_ms bigint not null,
      rate text not null,
      received_ms bigint not null,
      confirmed_ms bigint not null,
      primary key (source, base, quote)
    ) ${clustered}`,
    `create table fx_quotes (
      id text primary key,
      key_id text not null,
      kind text not null,
      tenor text not null,
      created_ms bigint not null,
      expires_ms bigint not null,
      as_of_ms bigint not null,
      nonce bigint unique,
      priced_from text not null,
      receipt_key text not null,
      receipt_signature ${bytes} not null,
      reply ${bytes} not null
    ) ${strict}`,
    `create table fx_idempotency (
      key_id text not null,
      idempotency_key text not null,
      body_hash text not null,
      quote_id text not null references fx_quotes (id),
      created_ms bigint not null,
      primary key (key_id, idempotency_key)
    ) ${strict}`,
    'create index fx_idempotency_age on fx_idempotency (created_ms)',
  ],
}
