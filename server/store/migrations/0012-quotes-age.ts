// So that quotes can be let go of by age without reading all of them, and without reading every idempotency key for each.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 12,
  name: 'quotes age',
  up: () => [
    'create index fx_quotes_age on fx_quotes (created_ms)',
    'create index fx_idempotency_quote on fx_idempotency (quote_id)',
  ],
}
