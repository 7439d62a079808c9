// Waits for several nodes that are asked at the same time: a slow one must not delay what the others know.
import type { Clock } from '#runtime/clock.ts'
import type { RpcCallOptions } from './rpc.ts'

/**
 * Until all are done, the first has succeeded and `graceMs` are over, or the deadline. Each of `asked` resolves to whether
 * it succeeded, and never rejects.
 */
export async function waitForFirst(
  clock: Clock,
  asked: readonly Promise<boolean>[],
  graceMs: number,
  { untilMs, signal }: RpcCallOptions,
): Promise<void> {
  const done = new AbortController()
  const stop = signal ? AbortSignal.any([signal, done.signal]) : done.signal
  const first = new Promise<void>((resolve) => {
    for (const one of asked) void one.then((isDone) => isDone && resolve())
  })
  const ends = [Promise.all(asked), first.then(() => clock.sleep(graceMs, stop))]
  if (untilMs !== undefined && untilMs < Number.POSITIVE_INFINITY)
    ends.push(clock.sleep(Math.max(0, untilMs - clock.monotonicMs()), stop))
  try {
    await Promise.race<unknown>(ends)
  } finally {
    done.abort()
  }
}
