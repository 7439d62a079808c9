// How a server is asked to stop. The first signal lets calls in flight finish; one that comes clearly later ends the
// process at once. A signal right after the first is the same wish: a terminal sends Ctrl-C to the whole family of
// processes, and npm and the launcher pass it on as well (behaviour/operations.md#stopping). A hang-up ends what belongs to a terminal; without one
// (nohup, a unit, a container) it is no wish to stop: Node forgets that a signal was to be ignored. The end of the shell that
// npm started this process in counts as a SIGTERM, unless a signal has come before (parent.js).
import { constants } from 'node:os'
import type { Clock } from '#runtime/clock.ts'
import { watchParent } from './parent.js'
import { note } from './print.ts'

const sameWishMs = 500
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const hasTerminal = (): boolean => [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)

interface StopOptions {
  readonly report?: (words: string) => void
  readonly isOnTerminal?: () => boolean
  readonly watch?: typeof watchParent
}

/** Resolves when a signal has come and `close` is done. `tell` hears of one that is passed over. */
export function untilStopped(
  clock: Clock,
  close: () => Promise<void>,
  { report = note, isOnTerminal = hasTerminal, watch = watchParent }: StopOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    let firstMs: number | undefined
    const onSignal = (signal: (typeof signals)[number]) => {
      stopWatching()
      if (signal === 'SIGHUP' && !isOnTerminal()) {
        report('a hang-up (SIGHUP) is passed over: stop with SIGTERM; settings are read at the start only')
      } else if (firstMs === undefined) {
        firstMs = clock.monotonicMs()
        close().then(resolve, reject)
      } else if (clock.monotonicMs() - firstMs > sameWishMs) {
        process.exit(128 + constants.signals[signal])
      }
    }
    const stopWatching = watch(() => onSignal('SIGTERM'))
    for (const signal of signals) process.on(signal, onSignal)
  })
}
