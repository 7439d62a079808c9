// In-memory state of the FX group.
import type { Context } from '#http/context.ts'
import { cacheUntilVersionChanges, type VersionCache } from '#storage/version-cache.ts'
import type { StoredRate } from './pricing/mid.ts'
import type { ReceiptKey } from './receipts/receipt-key.ts'

export interface FxCaches {
  /** The key that signs receipts, as last read from the store. */
  receiptKey: ReceiptKey | undefined
  /** By pair of currencies. Many quotes are priced between two commits. */
  readonly latestRates: VersionCache<StoredRate[]>
}

/** The group does not use the duties database. */
export type FxContext = Omit<Context, 'duties'> & { readonly fx: FxCaches }

export const createFxCaches = (): FxCaches => ({
  receiptKey: undefined,
  latestRates: cacheUntilVersionChanges(),
})
