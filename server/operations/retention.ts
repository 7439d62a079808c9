// Deletes old quotes in small steps, so that no request waits for it (behaviour/operations.md#retention). Rates, usage,
// market versions and hourly duties are deleted where they are written. Expired idempotency keys are deleted here too,
// because they refer to quotes.
import { errorMessage } from '#core/error-message.ts'
import { dropReplays } from '#fx/pricing/quotes.ts'
import type { Context } from '#http/context.ts'
import { poll } from '#ingest/poll.ts'

const dayMs = 86_400_000
/** A quote may be needed for two days: the longest tenor is a day, and it may be replayed for another. */
const quotesDaysMin = 7
/** Per transaction, which keeps other writes waiting. */
const rowsPerStep = 500
const stepsMax = 100_000
const timeoutMs = 3_600_000
const backoffMaxMs = 3_600_000

/** Runs until the signal aborts. */
export async function startRetention(context: Omit<Context, 'duties'>, signal: AbortSignal): Promise<void> {
  const { everyMs, quotesDays } = context.settings.retention
  if (quotesDays === 0) return
  await poll(
    context,
    {
      everyMs,
      timeoutMs,
      backoffMaxMs,
      work: (stop) => dropQuotes(context, stop),
      report: (outcome) => {
        if (outcome.is === 'failed') {
          const { error, failures } = outcome
          context.log.warn({ reason: errorMessage(error), failures }, 'cannot delete old quotes')
        } else if (outcome.value > 0) context.log.info({ quotes: outcome.value }, 'deleted old quotes')
      },
    },
    signal,
  )
}

/** Returns the number of deleted quotes. A quote that may still be replayed stays. */
export async function dropQuotes(
  context: Pick<Context, 'state' | 'settings' | 'clock'>,
  signal: AbortSignal,
): Promise<number> {
  const days = Math.max(quotesDaysMin, context.settings.retention.quotesDays)
  const nowMs = context.clock.now()
  await inSteps(signal, () => context.state.write((tx) => dropReplays(tx, nowMs, rowsPerStep)))
  return inSteps(signal, () =>
    context.state.write((tx) =>
      tx.run(
        `delete from fx_quotes where id in (select q.id from fx_quotes q where q.created_ms < ?
           and not exists (select 1 from fx_idempotency i where i.quote_id = q.id) limit ?)`,
        ...[nowMs - days * dayMs, rowsPerStep],
      ),
    ),
  )
}

async function inSteps(signal: AbortSignal, deleteSome: () => Promise<number>): Promise<number> {
  let deleted = 0
  for (let step = 0; step < stepsMax && !signal.aborted; step++) {
    const count = await deleteSome()
    deleted += count
    if (count < rowsPerStep) break
  }
  return deleted
}
