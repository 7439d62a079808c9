// Merges ticks into packs, and old packs into longer ones, in the background: in one of the servers that share a database.
import { errorMessage } from '#core/error-message.ts'
import type { Context } from '#http/context.ts'
import { poll } from '#ingest/poll.ts'
import { mergePacks } from '#markets/ticks/merge-packs.ts'
import { mergeTicks } from '#markets/ticks/merge-ticks.ts'
import { endFullHistory } from '#markets/write/version-writer.ts'

const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000]

type MergeContext = Omit<Context, 'state' | 'duties'>

/** Runs until the signal aborts. */
export const startMarketMerges = async (context: MergeContext, signal: AbortSignal): Promise<void> => {
  await Promise.all([
    repeat(context, minuteMs, (stop) => mergeTicks(context.ingest, stop), signal),
    repeat(context, hourMs, (stop) => mergeOldPacks(context, stop), signal),
  ])
}

/** Packs that are older than `markets.history.fullDays`. */
export async function mergeOldPacks(
  { ingest, settings, provenTime }: Pick<MergeContext, 'ingest' | 'settings' | 'provenTime'>,
  signal?: AbortSignal,
): Promise<number> {
  const cutoffMs = provenTime.forDeletions() - settings.markets.history.fullDays * dayMs
  const untilSeq = await ingest.write((tx) => endFullHistory(tx, cutoffMs), { lock: 'markets' })
  return mergePacks(ingest, untilSeq, signal)
}

/** Each merge is a transaction of its own. */
const repeat = (
  context: MergeContext,
  everyMs: number,
  work: (stop: AbortSignal) => Promise<number>,
  signal: AbortSignal,
): Promise<void> =>
  poll(
    context,
    {
      ...{ everyMs, work, timeoutMs: hourMs, backoffMaxMs: hourMs },
      report: (outcome) => {
        if (outcome.is === 'failed') {
          const { error, failures } = outcome
          context.log.warn({ reason: errorMessage(error), failures }, 'cannot merge changes of markets')
        }
      },
    },
    signal,
  )
