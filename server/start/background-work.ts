// The work of a server that runs beside its requests until it stops: preparing files, ingesters, rates, retention.
import { prepareLists } from '#explorer/labels/lists/prepare-lists.ts'
import { followTrades } from '#fx/extensions/trades/follow-trades.ts'
import { startRates } from '#fx/rates/poll-rates.ts'
import { paceOf, runInOneProcess } from '#ingest/lease.ts'
import { keepProvenTime, type TimeKeeper } from '#operations/proven-time/keep-proven-time.ts'
import { startRetention } from '#operations/retention.ts'
import type { Metrics } from '#runtime/metrics.ts'
import { ratesTakeoverMs } from '#runtime/settings/fx-sources.ts'
import type { Ingest } from '../background/start-ingest.ts'
import type { AppContext } from '../context.ts'
import { extensionLoops } from '../extensions.ts'

export interface BackgroundParts {
  readonly ingest: Ingest
  readonly metrics: Metrics
  readonly timeKeeper: TimeKeeper
  readonly hasExtensions: boolean
}

/** Disposing stops all of it and waits for its end. */
export class BackgroundWork implements AsyncDisposable {
  readonly #stop = new AbortController()
  readonly #running: Promise<void>[] = []

  /** Call this after the server listens, which the first work would delay. */
  start(context: AppContext, { ingest, metrics, timeKeeper, hasExtensions }: BackgroundParts): void {
    const { signal } = this.#stop
    this.#running.push(prepareLists(context, signal), ingest.run(signal), keepProvenTime(context, timeKeeper, signal))
    if (hasExtensions) this.#running.push(...extensionLoops.map((run) => run(context, signal)))
    if (!context.settings.ingest.enabled) return
    for (const [name, work] of Object.entries(ingestersOnThisThread(context, metrics, hasExtensions))) {
      const reportHolding = (holds: boolean | undefined) => metrics.leased(name, holds)
      // Quotes need rates that are fresh, whichever server polls them.
      const pace = name === 'rates' ? { pace: paceOf(ratesTakeoverMs(context.settings.fx.sources)) } : {}
      this.#running.push(runInOneProcess(context, { name, work, reportHolding, ...pace }, signal))
    }
  }

  /** Waits for this work too before the databases are closed. */
  add(work: Promise<void>): void {
    this.#running.push(work)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#running)
  }
}

/** They do little, and only for what requests write or quotes read. Other ingesters: background/ingesters.ts. */
const ingestersOnThisThread = (
  context: AppContext,
  metrics: Metrics,
  hasExtensions: boolean,
): Readonly<Record<string, (signal: AbortSignal) => Promise<void>>> => ({
  rates: (signal) => startRates(context, signal, (notice) => metrics.ingested(notice.source, notice.is)),
  retention: (signal) => startRetention(context, signal),
  ...(hasExtensions && { trades: (signal: AbortSignal) => followTrades(context, signal) }),
})
