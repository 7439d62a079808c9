// Keeps the ClickHouse mirror up to date until the server stops.
import type { Context } from '#http/context.ts'
import { logOutcome, poll, WakeSignal } from '#ingest/poll.ts'
import { openClickhouse } from './clickhouse-client.ts'
import { prepareTables, sendNext } from './mirror.ts'

/** How soon a unit that is over is noticed. */
const everyMs = 30_000
/** For one unit: the hour or the day of a million validators. */
const timeoutMs = 3_600_000
const backoffMaxMs = 300_000

/** Runs until the signal aborts. `report` is called after each attempt: `ok` or `failed`. */
export async function startMirror(
  context: Omit<Context, 'state'>,
  signal: AbortSignal,
  report: (outcome: 'ok' | 'failed') => void,
): Promise<void> {
  const { url } = context.settings.mirrors.clickhouse
  if (url === '') return
  const clickhouse = openClickhouse(url)
  const wakeSignal = new WakeSignal()
  await poll(
    context,
    {
      everyMs,
      timeoutMs,
      backoffMaxMs,
      wakeSignal,
      work: async (stop) => {
        await prepareTables(context, clickhouse, stop)
        const rows = await sendNext(context, clickhouse, stop)
        // There may be more to send.
        if (rows !== undefined) wakeSignal.wake()
      },
      report: (outcome) => {
        report(outcome.is === 'done' ? 'ok' : 'failed')
        const failed = 'cannot write to the ClickHouse mirror; will retry'
        logOutcome(context, outcome, {}, { failed, recovered: 'writing to the ClickHouse mirror again' })
      },
    },
    signal,
  )
}
