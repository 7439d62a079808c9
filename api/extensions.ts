// Endpoints beyond the specification, by id. They are described in the same words as the contract's eight, so that
// validation, client, OpenAPI and documents come from one place; they are kept apart so that the contract stays the
// specification (decision 0049).
import type { Endpoint } from './kit.ts'
import type { ExtensionId } from './routes.ts'
import { checkSignature, quote, receipt, receiptKey, setRate } from './wire/fx-desk.ts'
import { changeStream, changes, changesBySlug } from './wire/market-changes.ts'
import { trail } from './wire/trail.ts'

export const extensions = {
  'explorer.trail': trail,
  'fx.quote': quote,
  'fx.receipt': receipt,
  'fx.checkSignature': checkSignature,
  'fx.receiptKey': receiptKey,
  'fx.setRate': setRate,
  'markets.changesBySlug': changesBySlug,
  'markets.changes': changes,
  'markets.changeStream': changeStream,
} as const satisfies Record<ExtensionId, Endpoint>

export type Extensions = typeof extensions
