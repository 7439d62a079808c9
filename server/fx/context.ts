// In-memory state of the FX group.
import type { Context } from '#http/context.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { StoredRate } from './pricing/mid.ts'
import type { ReceiptKey } from './receipts/receipt-key.ts'

/** The group uses only what requests write. */
export type FxContext = Omit<Context, 'ingest' | 'duties'> & { readonly fx: ReturnType<typeof createFxCaches> }

/** What is needed to read rates and the status of their sources. */
export type RatesContext = Pick<FxContext, 'state' | 'settings' | 'clock'>

export const createFxCaches = () => ({
  /** The key that signs receipts, as last read from the store. */
  receiptKey: undefined as ReceiptKey | undefined,
  /** By pair of currencies. Many quotes are priced between two commits. */
  latestRates: cacheUntilVersionChanges<StoredRate[]>('rates'),
})
