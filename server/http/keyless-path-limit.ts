// Limits calls of paths that need no key and are not in the contract, by network address
// (behaviour/http.md#paths-outside-the-contract). Each path has its own count, so that a flood on one of them does not
// stop the monitoring of another. Counted in this process.
import { Fault } from '#core/fault.ts'
import type { Context } from './context.ts'
import { SlidingWindows } from './sliding-window.ts'

const windowMs = 1000
/** Number of callers within two seconds; further ones must wait (sliding-window.ts, 2). */
const networksMax = 100_000

/** Counts a call by a network or a key. Throws a Fault if the limit is reached. 0: no limit. */
export type KeylessPathLimit = (path: string, caller: string, limit?: number) => void

export function createKeylessPathLimit({ settings, clock }: Pick<Context, 'settings' | 'clock'>): KeylessPathLimit {
  const byPath = new Map<string, SlidingWindows>()
  return (path, caller, limit = settings.server.anonymousPerSecond) => {
    if (limit === 0) return
    const windows = byPath.getOrInsertComputed(path, () => new SlidingWindows(windowMs, networksMax))
    const nowMs = clock.monotonicMs()
    const retryAfterMs = windows.waitMs(caller, limit, nowMs)
    if (retryAfterMs > 0) throw new Fault('limit.second', { textValues: { limit }, retryAfterMs })
    windows.add(caller, nowMs)
  }
}
