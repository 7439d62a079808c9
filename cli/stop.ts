// Waits for a signal that stops the server (behaviour/operations.md#stopping).
//
// - The first signal lets calls in flight finish. A second one ends the process, unless it follows within half a
//   second: a terminal sends Ctrl-C to all processes, and npm and the launcher forward it too.
// - SIGHUP stops only a process with a terminal. Node cannot tell whether nohup or a unit file ignores the signal.
// - The end of the shell in which npm started this process counts as SIGTERM, unless a signal came before (parent.js).
import { constants } from 'node:os'
import type { Clock } from '#runtime/clock.ts'
import { watchParent } from './parent.js'
import { note } from './print.ts'

const duplicateMs = 500
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const hasTerminal = (): boolean => [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY)

interface StopOptions {
  readonly report?: (text: string) => void
  readonly isOnTerminal?: () => boolean
  /** Shows a text to the user who pressed Ctrl-C. */
  readonly announce?: (text: string) => void
  readonly watch?: typeof watchParent
}

/** Resolves when a signal has arrived and `close` is done. `report` gets a message about an ignored SIGHUP. */
export function untilStopped(
  clock: Clock,
  close: () => Promise<void>,
  { report = note, isOnTerminal = hasTerminal, announce = note, watch = watchParent }: StopOptions = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    let firstMs: number | undefined
    const onSignal = (signal: (typeof signals)[number]) => {
      stopWatching()
      if (signal === 'SIGHUP' && !isOnTerminal()) {
        report('ignored SIGHUP: stop the server with SIGTERM; settings are read only at the start')
      } else if (firstMs === undefined) {
        firstMs = clock.monotonicMs()
        if (isOnTerminal()) announce('Stopping. Press Ctrl-C again to end at once.')
        close().then(resolve, reject)
      } else if (clock.monotonicMs() - firstMs > duplicateMs) {
        process.exit(128 + constants.signals[signal])
      }
    }
    const stopWatching = watch(() => onSignal('SIGTERM'))
    for (const signal of signals) process.on(signal, onSignal)
  })
}

/** For commands that do not handle signals themselves: says that they ended early. */
export function reportInterrupts(report: (text: string) => void = note): void {
  process.once('SIGINT', () => {
    // This listener is removed already. Others stop the command.
    if (process.listenerCount('SIGINT') > 0) return
    report('Interrupted.')
    // Without a listener, the signal ends the process, and the shell sees it.
    process.kill(process.pid, 'SIGINT')
  })
}

/** Aborts at the first signal that stops the command. */
export function stopSignal(clock: Clock): AbortSignal {
  const stop = new AbortController()
  void untilStopped(clock, async () => stop.abort())
  return stop.signal
}
