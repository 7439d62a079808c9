// Lets go of what is over, a little at a time, so that no caller ever waits for it (behaviour/operations.md#retention). What has a limit of its
// own where it is written (rates, usage, market versions, hours of duties) is not touched here. Idempotency keys have one too,
// but nobody may write another for long, and they hold their quotes.
import { dropReplays } from '#fx/pricing/quotes.ts'
import type { Context } from '#http/context.ts'
import { poll } from '#ingest/poll.ts'

const dayMs = 86_400_000
/** Longer than any quote can still matter: the longest tenor is a day, a replay another. */
const quotesDaysMin = 7
/** In one transaction: short enough not to be felt. */
const rowsPerStep = 500
const stepsMax = 100_000
const timeoutMs = 3_600_000
const backoffMaxMs = 3_600_000

/** Resolves when the signal has ended it. */
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
          const reason = outcome.error instanceof Error ? outcome.error.message : String(outcome.error)
          context.log.warn({ reason, failures: outcome.failures }, 'old quotes could not be dropped')
        } else if (outcome.value > 0) context.log.info({ quotes: outcome.value }, 'old quotes were dropped')
      },
    },
    signal,
  )
}

/** Resolves to how many are gone. A quote that a replay may still be asked for stays; keys that are over hold none. */
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

async function inSteps(signal: AbortSignal, drop: () => Promise<number>): Promise<number> {
  let dropped = 0
  for (let step = 0; step < stepsMax && !signal.aborted; step++) {
    const count = await drop()
    dropped += count
    if (count < rowsPerStep) break
  }
  return dropped
}
