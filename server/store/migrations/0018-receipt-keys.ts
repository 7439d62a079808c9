// Keys that receipts were signed with before stay, so that old receipts can be checked; only one signs.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 18,
  name: 'receipt keys',
  up: () => ['alter table fx_receipt_keys add column retired_ms bigint'],
}
