// Stores which trades have expired, and sends the deliveries to the webhooks of trades. Runs in one of the servers.
import { logOutcome, poll, WakeSignal } from '#ingest/poll.ts'
import { runSenders } from '#webhooks/send.ts'
import type { FxContext } from '../../context.ts'
import { expireTrades, tradeDeliveries } from './trade-store.ts'

const everyMs = 5000
const timeoutMs = 60_000
const backoffMaxMs = 60_000

/** Runs until the signal aborts. */
export async function followTrades(context: FxContext, signal: AbortSignal): Promise<void> {
  const { settings, state, provenTime } = context
  const wakes = new Map(settings.fx.webhooks.map((webhook) => [webhook, new WakeSignal()]))
  const expiring = poll(
    context,
    {
      ...{ everyMs, timeoutMs, backoffMaxMs },
      work: async () => {
        while ((await expireTrades(context, provenTime.forDeletions())) > 0 && !signal.aborted)
          for (const wake of wakes.values()) wake.wake()
      },
      report: (outcome) =>
        logOutcome(context, outcome, {}, { failed: 'trades: failed; will retry', recovered: 'trades: working again' }),
    },
    signal,
  )
  await Promise.all([expiring, runSenders(context, { state, table: tradeDeliveries }, wakes, () => {}, signal)])
}
