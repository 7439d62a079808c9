// What the FX group keeps in memory while the server runs.
import type { Context } from '#http/context.ts'
import type { ReceiptKey } from './receipts/receipt-key.ts'

export interface FxCaches {
  /** The key that signs receipts, as last read. */
  receiptKey: ReceiptKey | undefined
}

/** The group keeps nothing in the duties database. */
export type FxContext = Omit<Context, 'duties'> & { readonly fx: FxCaches }

export const createFxCaches = (): FxCaches => ({ receiptKey: undefined })
