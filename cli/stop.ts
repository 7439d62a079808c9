// How a server is asked to stop. The first signal lets calls in flight finish; one that comes clearly later ends the
// process at once. A signal right after the first is the same wish: a terminal sends Ctrl-C to the whole family of
// processes, and npm and the launcher pass it on as well (decision 0056).
import { constants } from 'node:os'
import type { Clock } from '#io/clock.ts'

const sameWishMs = 500
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Resolves when a signal has come and `close` is done. */
export function untilStopped(clock: Clock, close: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    let firstMs: number | undefined
    const onSignal = (signal: (typeof signals)[number]) => {
      if (firstMs === undefined) {
        firstMs = clock.monotonicMs()
        close().then(resolve, reject)
      } else if (clock.monotonicMs() - firstMs > sameWishMs) {
        process.exit(128 + constants.signals[signal])
      }
    }
    for (const signal of signals) process.on(signal, onSignal)
  })
}
