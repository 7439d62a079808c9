// Lets writes of requests begin before those of ingest in `ingest.sqlite`. Another thread of the same server writes almost
// everything there; requests write only fundings that they find on a node. SQLite has no queue: whoever waits for a
// transaction tries again every few milliseconds, and a thread that writes all the time would almost always begin first.
//
// 1. SQLite's own lock excludes the other thread. This only decides who tries, so the death of a thread does no harm.
// 2. A write of ingest waits for at most `waitMaxMs`. So a steady flow of requests does not stop it.
import { systemClock } from '#runtime/clock.ts'

export interface WriteTurns {
  /** The number of writes of requests that wait for their transaction, in memory that the threads share. */
  readonly waiting: Int32Array
  readonly isIngest: boolean
}

const waitMaxMs = 1000
const stepMs = 1

export const createWaitingCount = (): Int32Array => new Int32Array(new SharedArrayBuffer(4))

/** Runs `begin`, which begins a transaction, when it is the turn of this thread. */
export async function takeTurn(turns: WriteTurns | undefined, begin: () => Promise<unknown>): Promise<void> {
  if (!turns) return void (await begin())
  const { waiting, isIngest } = turns
  if (isIngest) {
    const endMs = systemClock.monotonicMs() + waitMaxMs
    while (Atomics.load(waiting, 0) > 0 && systemClock.monotonicMs() < endMs) await systemClock.sleep(stepMs)
    return void (await begin())
  }
  Atomics.add(waiting, 0, 1)
  try {
    await begin()
  } finally {
    Atomics.sub(waiting, 0, 1)
  }
}
