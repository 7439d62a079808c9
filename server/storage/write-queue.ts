// Runs writes one after another, in the order of their arrival, for both engines. PostgreSQL has a queue for each lock
// (postgres/writers.ts). A bulk write consists of many transactions, and the next one arrives after the previous one. So
// another write waits for one of them only. The queue is limited, so that a slow disk does not fill the memory.
import { strict as assert } from 'node:assert'
import { AsyncLocalStorage } from 'node:async_hooks'
import { Fault } from '#core/fault.ts'

export type WriteQueue = ReturnType<typeof createWriteQueue>

/** The write that runs the current code. Queues of one database share it. */
type CurrentWrite = AsyncLocalStorage<{ over: boolean }>

/** `name` is the file in faults. */
export function createWriteQueue(
  name: string,
  waitingMax: number,
  currentWrite: CurrentWrite = new AsyncLocalStorage(),
) {
  /** Each starts one waiting write. */
  const starts: (() => void)[] = []
  const onEmpty: (() => void)[] = []
  let isRunning = false
  /** Includes the running write. */
  let waiting = 0
  let isClosed = false

  /** Throws what `run` would throw if `more` additional writes were waiting. */
  function refuseIfFull(more: number): void {
    // A write inside a write would wait for itself.
    assert(
      currentWrite.getStore()?.over !== false,
      'a write was started inside another one; use the existing transaction',
    )
    if (isClosed) throw closedFault(name)
    if (waiting + more >= waitingMax) throw queueFullFault(name, waiting + more)
  }

  function startNext(): void {
    const start = starts.shift()
    if (start) {
      start()
      return
    }
    isRunning = false
    for (const resolve of onEmpty.splice(0)) resolve()
  }

  return {
    refuseIfFull,
    async run<T>(work: () => Promise<T>): Promise<T> {
      refuseIfFull(0)
      waiting += 1
      const current = { over: false }
      if (isRunning) await new Promise<void>((resolve) => starts.push(resolve))
      isRunning = true
      try {
        return await currentWrite.run(current, work)
      } finally {
        current.over = true
        waiting -= 1
        startNext()
      }
    },
    /** Accepts no more work and resolves when the accepted work is done. */
    async close(): Promise<void> {
      isClosed = true
      if (isRunning) await new Promise<void>((resolve) => onEmpty.push(resolve))
    },
  }
}

export const closedFault = (file: string): Fault =>
  new Fault('store.unavailable', { detail: `${file} is closed because the process is stopping` })

/** For failures that may be over after a second. */
export const unavailable = (detail: string, cause?: unknown): Fault =>
  new Fault('store.unavailable', { detail, cause, retryAfterMs: 1000 })

const queueFullFault = (file: string, waiting: number): Fault =>
  unavailable(`${waiting} writes are waiting for ${file}, which is the limit; the disk is too slow or a write hangs`)

/** Concurrent reads of results that may not fit in memory. */
export const iterationsMax = 16

export const tooManyIterations = (name: string): Fault =>
  unavailable(`${iterationsMax} long reads of ${name} are running, which is the limit`)
