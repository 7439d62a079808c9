// In-memory state of the FX group.
import type { Context } from '#http/context.ts'
import type { ReceiptKey } from './receipts/receipt-key.ts'

export interface FxCaches {
  /** The key that signs receipts, as last read from the store. */
  receiptKey: ReceiptKey | undefined
}

/** The group does not use the duties database. */
export type FxContext = Omit<Context, 'duties'> & { readonly fx: FxCaches }

export const createFxCaches = (): FxCaches => ({ receiptKey: undefined })
