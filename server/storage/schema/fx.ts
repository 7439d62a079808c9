// Tables of FX: rates, quotes, and the keys that sign receipts.
// Rates are decimal text: 1 `base` costs `rate` `quote`. Columns that end in `_ms` are Unix times in milliseconds.
import type { StateDialect } from '../state.ts'

export const fxSchema = ({ bytes, strict, clustered }: StateDialect): readonly string[] => [
  // Every rate that was received. Written by the server that polls the sources; old rates are deleted (fx.historyDays).
  `create table fx_rates (
    source text not null, -- id in the settings
    base text not null,
    quote text not null,
    at_ms bigint not null, -- time of the rate, as the source states it
    rate text not null,
    received_ms bigint not null,
    primary key (source, base, quote, at_ms)
  ) ${clustered}`,
  // The newest rate of each source and pair, which is all that a quote needs.
  `create table fx_latest (
    source text not null,
    base text not null,
    quote text not null,
    at_ms bigint not null,
    rate text not null,
    bid text, -- with ask: prices of the two directions, whose mean is the rate; null: the rate prices both
    ask text,
    confirmed_ms bigint not null, -- when the source last returned this rate; 0: it returned another one for the same time
    primary key (source, base, quote)
  ) ${clustered}`,
  // The newest contradiction of each source and pair: several prices for one time. Deleted when it ends.
  `create table fx_contradictions (
    source text not null,
    pair text not null, -- both currencies in alphabetical order, for both orientations
    at_ms bigint not null, -- time of the rates
    statement text not null, -- the prices that the source returned last for this time
    reason text not null,
    seen_ms bigint not null, -- when the source last contradicted itself
    primary key (source, pair)
  ) ${clustered}`,
  // The result of polling each source. Written by the server, read by commands and doctor.
  `create table fx_source_status (
    source text primary key,
    tried_ms bigint not null, -- last attempt
    good_ms bigint, -- last success; null: none yet
    failures bigint not null, -- consecutive failures
    took_ms bigint, -- how long the last success took; null: none yet
    reason text -- why the last attempt failed; null: it succeeded
  ) ${strict}`,
  // Keys that sign receipts. One key has no retired_ms; it signs. The others only verify.
  `create table fx_receipt_keys (
    id text primary key, -- fingerprint of the public key
    private_key ${bytes} not null, -- Ed25519 seed; empty when retired
    public_key ${bytes} not null,
    created_ms bigint not null,
    retired_ms bigint
  ) ${strict}`,
  // What the operator has changed about pricing while servers run. Written by `tetrad fx` and the console.
  `create table fx_overrides (
    pair text primary key, -- two tokens in alphabetical order, such as EURC/USDC; empty: all pairs
    paused bigint not null, -- 1: there are no quotes
    spread_ppm bigint, -- instead of the spread of terms and rules; null: no other spread
    changed_ms bigint not null, -- last change
    changed_by text not null -- who made it
  ) ${strict}`,
  // One row. The number grows with every change. Storing a quote locks it, so that no quote misses a change.
  `create table fx_override_revision (revision bigint not null) ${strict}`,
  'insert into fx_override_revision (revision) values (0)',
  // Quotes with their response as it was sent. Deleted by age (retention.quotesDays).
  `create table fx_quotes (
    id text primary key,
    key_id text not null, -- the API key that asked for it
    created_ms bigint not null,
    as_of_ms bigint not null, -- time of the oldest rate it was computed from
    nonce bigint unique, -- of the typed data to sign; null: nothing to sign
    priced_from text not null, -- the receipt as canonical JSON: rates, mid and terms
    receipt_key text not null, -- id in fx_receipt_keys
    receipt_signature ${bytes} not null, -- over priced_from
    reply ${bytes} not null, -- body of the response
    overrides bigint not null default 0, -- revision of the overrides it was priced with
    hour_rule text, -- rule that limits the sum of an hour (fx.rules[].maxPerHour); null: none
    hour_size bigint -- in millionths of the first token of that rule
  ) ${strict}`,
  'create index fx_quotes_age on fx_quotes (created_ms)',
  `create index fx_quotes_hours on fx_quotes (hour_rule, key_id, created_ms, hour_size) where hour_rule is not null`,
  'create index fx_quotes_by_key on fx_quotes (key_id, created_ms, id)',
  // Accepted quotes. Deleted by age (retention.tradesDays), and their quotes with them.
  `create table fx_trades (
    id text primary key references fx_quotes (id),
    key_id text not null, -- the API key that created quote and trade
    address text not null, -- who signed
    signature ${bytes} not null, -- whoever has it may be able to settle the trade
    signed_by text not null, -- key, or contract: EIP-1271
    state text not null, -- accepted, expired, settled or failed
    accepted_ms bigint not null, -- by the clock of the database
    deadline_ms bigint not null, -- of the permit
    updated_ms bigint not null, -- last change of the state
    tx_hash text, -- the reported transaction; null: no report
    reported_by text, -- null: no report
    reply ${bytes} not null -- body of the response
  ) ${strict}`,
  'create index fx_trades_age on fx_trades (accepted_ms, id)',
  'create index fx_trades_by_key on fx_trades (key_id, accepted_ms, id)',
  "create index fx_trades_open on fx_trades (deadline_ms) where state = 'accepted'",
  // Requests to the webhooks of trades: those to send, and a log of the last ones (server/webhooks). Stored with the change
  // that they are about.
  `create table fx_deliveries (
    id text primary key, -- sent as webhook-id
    webhook text not null,
    event text not null,
    trade text not null, -- id in fx_trades
    body text not null,
    status text not null, -- pending, delivered or failed
    attempts bigint not null,
    created_ms bigint not null,
    next_attempt_ms bigint, -- null: delivered or failed
    finished_ms bigint, -- null: pending
    last_error text -- of the last attempt, if it failed
  ) ${strict}`,
  'create index fx_deliveries_by_time on fx_deliveries (status, next_attempt_ms)',
  // Idempotency keys of the last day, with the quote to return again.
  `create table fx_idempotency (
    key_id text not null,
    idempotency_key text not null,
    body_hash text not null, -- of the request; a different one is refused
    quote_id text not null references fx_quotes (id) deferrable initially deferred, -- the key is stored first
    created_ms bigint not null,
    primary key (key_id, idempotency_key)
  ) ${strict}`,
  'create index fx_idempotency_age on fx_idempotency (created_ms)',
  'create index fx_idempotency_quote on fx_idempotency (quote_id)',
]
