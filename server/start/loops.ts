// The work of a server that runs until it stops: preparing files, ingesters, rates, retention.
import { prepareLists } from '#explorer/labels/lists/prepare-lists.ts'
import { startRates } from '#fx/rates/poll-rates.ts'
import { runInOneProcess } from '#ingest/lease.ts'
import { startRetention } from '#operations/retention.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Ingest } from '../background/start-ingest.ts'
import type { AppContext } from '../context.ts'
import { extensionLoops } from '../extensions.ts'

/** Disposing stops all loops and waits for their end. */
export class Loops implements AsyncDisposable {
  readonly #stop = new AbortController()
  readonly #running: Promise<void>[] = []

  /** Call this after the server listens: the first work of the loops would delay it. */
  start(context: AppContext, ingest: Ingest, metrics: Metrics, hasExtensions: boolean): void {
    const { signal } = this.#stop
    this.#running.push(prepareLists(context, signal), ingest.run(signal))
    if (hasExtensions) this.#running.push(...extensionLoops.map((run) => run(context, signal)))
    if (!context.settings.ingest.enabled) return
    for (const [name, work] of Object.entries(ownLoops(context, metrics))) {
      const reportHolding = (holds: boolean | undefined) => metrics.leased(name, holds)
      this.#running.push(runInOneProcess(context, { name, work, reportHolding }, signal))
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

/** What is small and concerns only what requests write, or what quotes read. Other ingesters: background/ingesters.ts. */
const ownLoops = (
  context: AppContext,
  metrics: Metrics,
): Readonly<Record<string, (signal: AbortSignal) => Promise<void>>> => ({
  rates: (signal) => startRates(context, signal, (notice) => metrics.ingested(notice.source, notice.is)),
  retention: (signal) => startRetention(context, signal),
})
