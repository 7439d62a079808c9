// Deletes expired idempotency keys, old quotes and market versions in small steps, so that no request waits for it
// (behaviour/operations.md#retention). Rates, usage and hourly duties are deleted where they are written. Market versions
// are deleted by the thread of the ingesters.
import { errorMessage } from '#core/error-message.ts'
import { deleteExpiredIdempotencyKeys } from '#fx/pricing/quotes.ts'
import type { Context } from '#http/context.ts'
import { poll } from '#ingest/poll.ts'
import { dropVersionsBefore } from '#markets/write/version-writer.ts'
import { type Clock, timeoutSignal } from '#runtime/clock.ts'
import { trustClock } from './proven-time/keep-proven-time.ts'

const dayMs = 86_400_000
/** The longest tenor is a day, and the quote may be replayed for another. */
const quotesDaysMin = 2
/** Per transaction. On SQLite, deleting 100 quotes takes the thread of requests about 2 ms. */
const rowsPerStep = 100
/** Requests come first: this leaves them nine tenths of a core, and still deletes some thousand rows per second. */
const pauseMs = 20
/** Of each kind and run. Both kinds together end before `retentionTimeoutMs`. */
const stepsMax = 70_000
export const retentionTimeoutMs = 3_600_000
const backoffMaxMs = 3_600_000

/** Runs until the signal aborts. */
export const startRetention = (context: Omit<Context, 'duties'>, signal: AbortSignal): Promise<void> =>
  deleteRegularly(context, signal, (stop) => dropQuotesAndKeys(context, stop))

async function dropQuotesAndKeys(context: Omit<Context, 'duties'>, signal: AbortSignal) {
  const idempotencyKeys = await dropIdempotencyKeys(context, signal)
  const trades = context.settings.retention.tradesDays > 0 ? await dropTrades(context, signal) : 0
  return {
    idempotencyKeys,
    trades,
    quotes: context.settings.retention.quotesDays > 0 ? await dropQuotes(context, signal) : 0,
  }
}

export interface RetentionReport {
  /** The clock that is trusted from now on. */
  readonly clock: string
  readonly idempotencyKeys: number
  readonly trades: number
  readonly quotes: number
  readonly marketVersions: number
}

/** For `tetrad retention run`: trusts the clock of this machine, and deletes what is due. */
export async function runRetention(
  context: Omit<Context, 'duties'>,
  dropVersions = (): Promise<unknown> => dropMarketVersions(context, timeoutSignal(context.clock, retentionTimeoutMs)),
): Promise<RetentionReport> {
  await trustClock(context)
  return {
    clock: new Date(context.clock.now()).toISOString(),
    ...(await dropQuotesAndKeys(context, timeoutSignal(context.clock, retentionTimeoutMs))),
    marketVersions: Number(await dropVersions()),
  }
}

/** The same for market versions. Resolves at once if all of them are kept. */
export async function startMarketRetention(
  context: Omit<Context, 'state' | 'duties'>,
  signal: AbortSignal,
): Promise<void> {
  if (context.settings.markets.history.keep === 'forever') return
  await deleteRegularly(context, signal, async (stop) => ({ marketVersions: await dropMarketVersions(context, stop) }))
}

/** `work` returns the number of deleted rows by kind. */
async function deleteRegularly(
  context: Pick<Context, 'settings' | 'clock' | 'random' | 'log'>,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Readonly<Record<string, number>>>,
): Promise<void> {
  await poll(
    context,
    {
      everyMs: context.settings.retention.everyMs,
      timeoutMs: retentionTimeoutMs,
      backoffMaxMs,
      work,
      report: (outcome) => {
        if (outcome.is === 'failed') {
          const { error, failures } = outcome
          context.log.warn({ reason: errorMessage(error), failures }, 'cannot delete old data')
        } else if (Object.values(outcome.value).some((rows) => rows > 0))
          context.log.info(outcome.value, 'deleted old data')
      },
    },
    signal,
  )
}

/** Returns the number of deleted versions. */
export async function dropMarketVersions(
  { ingest, settings, clock, provenTime }: Pick<Context, 'ingest' | 'settings' | 'clock' | 'provenTime'>,
  signal: AbortSignal,
): Promise<number> {
  const { keep, keptDays } = settings.markets.history
  if (keep === 'forever') return 0
  const cutoffMs = provenTime.forDeletions() - (keep === 'off' ? 0 : keptDays * dayMs)
  return inSteps(clock, signal, () =>
    ingest.write((tx) => dropVersionsBefore(tx, cutoffMs, rowsPerStep), { lock: 'markets' }),
  )
}

/** Those that have expired. Returns their number. */
export const dropIdempotencyKeys = (
  { state, clock, provenTime }: Pick<Context, 'state' | 'clock' | 'provenTime'>,
  signal: AbortSignal,
): Promise<number> => {
  const nowMs = provenTime.forDeletions()
  return inSteps(clock, signal, () => state.write((tx) => deleteExpiredIdempotencyKeys(tx, nowMs, rowsPerStep)))
}

/** Returns the number of deleted quotes. A quote that may still be replayed, or has a trade, stays. */
export async function dropQuotes(
  context: Pick<Context, 'state' | 'settings' | 'clock' | 'provenTime'>,
  signal: AbortSignal,
): Promise<number> {
  const days = Math.max(quotesDaysMin, context.settings.retention.quotesDays)
  const nowMs = context.provenTime.forDeletions()
  return inSteps(context.clock, signal, () =>
    context.state.write((tx) =>
      tx.run(
        `delete from fx_quotes where id in (select q.id from fx_quotes q where q.created_ms < ?
           and not exists (select 1 from fx_idempotency i where i.quote_id = q.id)
           and not exists (select 1 from fx_trades t where t.id = q.id) limit ?)`,
        ...[nowMs - days * dayMs, rowsPerStep],
      ),
    ),
  )
}

/** Returns the number of deleted trades. Those that are not settled before their deadline stay until it has passed. */
export const dropTrades = (
  { state, settings, clock, provenTime }: Pick<Context, 'state' | 'settings' | 'clock' | 'provenTime'>,
  signal: AbortSignal,
): Promise<number> => {
  const cutoffMs = provenTime.forDeletions() - Math.max(quotesDaysMin, settings.retention.tradesDays) * dayMs
  return inSteps(clock, signal, () =>
    state.write((tx) =>
      tx.run(
        `delete from fx_trades where id in (select id from fx_trades
           where accepted_ms < ? and state <> 'accepted' order by accepted_ms limit ?)`,
        ...[cutoffMs, rowsPerStep],
      ),
    ),
  )
}

async function inSteps(clock: Clock, signal: AbortSignal, deleteSome: () => Promise<number>): Promise<number> {
  let deleted = 0
  for (let step = 0; step < stepsMax && !signal.aborted; step++) {
    const count = await deleteSome()
    deleted += count
    if (count < rowsPerStep) break
    await clock.sleep(pauseMs, signal)
  }
  return deleted
}
