// Merges ticks into packs in the background (merge-ticks.ts), in one of the servers that share a database.
import { errorMessage } from '#core/error-message.ts'
import { poll } from '#ingest/poll.ts'
import type { MarketsContext } from '../context.ts'
import { mergeTicks } from './merge-ticks.ts'

const everyMs = 60_000
/** A merge of all blocks takes minutes. Each of them is a transaction of its own. */
const timeoutMs = 3_600_000
const backoffMaxMs = 600_000

/** Runs until the signal aborts. */
export const startMerges = (
  context: Pick<MarketsContext, 'ingest' | 'settings' | 'clock' | 'random' | 'log'>,
  signal: AbortSignal,
): Promise<void> =>
  poll(
    context,
    {
      ...{ everyMs, timeoutMs, backoffMaxMs },
      work: (stop) => mergeTicks(context.ingest, stop),
      report: (outcome) => {
        if (outcome.is === 'failed') {
          const { error, failures } = outcome
          context.log.warn({ reason: errorMessage(error), failures }, 'cannot merge changes of markets')
        }
      },
    },
    signal,
  )
