// In-memory state of the FX group.
import { Fault } from '#core/fault.ts'
import { CallerQueue } from '#http/caller-queue.ts'
import type { Context } from '#http/context.ts'
import { LogThrottle } from '#http/log-throttle.ts'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { cacheUntilVersionChanges } from '#storage/version-cache.ts'
import type { DatesFile } from './pricing/dates-file.ts'
import type { HourSum } from './pricing/hour-limit.ts'
import type { StoredRate } from './pricing/mid.ts'
import type { Overrides } from './pricing/overrides.ts'
import type { ReceiptKey } from './receipts/receipt-key.ts'

/** The group uses only what requests write. */
export type FxContext = Omit<Context, 'ingest' | 'duties'> & { readonly fx: ReturnType<typeof createFxCaches> }

/** What is needed to read rates and the status of their sources. */
export type RatesContext = Pick<FxContext, 'state' | 'settings' | 'clock'>

/** The calls into the node that run code of a caller's choice. One takes at most five seconds. */
const nodeCalls = {
  runningMax: 2,
  waitingMax: 8,
  refusal: () => new Fault('fx.checks_full', { retryAfterMs: 5000 }),
}

/** The same for signatures of trades, which must not wait for long: quotes expire. */
const tradeCalls = {
  ...{ runningMax: 8, waitingMax: 256 },
  refusal: () => new Fault('fx.checks_full', { retryAfterMs: 1000 }),
}

export const createFxCaches = (clock: Clock = systemClock) => ({
  nodeCalls: new CallerQueue(nodeCalls),
  tradeCalls: new CallerQueue(tradeCalls),
  nodeFailures: new LogThrottle(clock),
  /** The key that signs receipts, as last read from the store. */
  receiptKey: undefined as ReceiptKey | undefined,
  /** Dates of pricing rules, by path of their file. */
  datesFiles: new Map<string, DatesFile>(),
  /** Sums of the last hour, by rule and key. */
  hourSums: new Map<string, HourSum>(),
  overrides: cacheUntilVersionChanges<Overrides>('overrides'),
  /** By pair of currencies. Many quotes are priced between two commits. */
  latestRates: cacheUntilVersionChanges<StoredRate[]>('rates'),
})
