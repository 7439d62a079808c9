// A pool of readers with one queue: the next free reader takes the first waiting job. The queue is limited, and aborted
// jobs leave it.
import { closedFault, unavailable } from './write-queue.ts'

/** `name` is the file or server in faults, `advice` what helps if too many wait. */
export function createReaderPool<Reader>(
  name: string,
  readers: readonly Reader[],
  waitingMax: number,
  advice = 'send fewer at once',
) {
  const free = [...readers]
  const waiting = new Set<(reader: Reader) => void>()
  const over = Promise.withResolvers<void>()
  let isClosed = false

  function acquire(signal: AbortSignal | undefined): Promise<Reader> {
    const { size } = waiting
    if (size >= waitingMax) throw unavailable(`${size} queries are waiting for ${name}, which is the limit; ${advice}`)
    return new Promise((resolve, reject) => {
      const grant = (reader: Reader) => {
        signal?.removeEventListener('abort', leave)
        resolve(reader)
      }
      const leave = () => {
        waiting.delete(grant)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', leave, { once: true })
      waiting.add(grant)
    })
  }

  function release(reader: Reader): void {
    const [next] = waiting
    if (next) {
      waiting.delete(next)
      next(reader)
      return
    }
    free.push(reader)
    endIfOver()
  }

  function endIfOver(): void {
    if (isClosed && free.length === readers.length) over.resolve()
  }

  return {
    /** If the signal aborts before the work has started, it does not start, and the reason of the signal is thrown. */
    async run<T>(work: (reader: Reader) => Promise<T>, signal?: AbortSignal): Promise<T> {
      if (isClosed) throw closedFault(name)
      signal?.throwIfAborted()
      const reader = free.pop() ?? (await acquire(signal))
      try {
        return await work(reader)
      } finally {
        release(reader)
      }
    },
    /** Accepts no more work and resolves when the accepted work is done. */
    close(): Promise<void> {
      isClosed = true
      endIfOver()
      return over.promise
    },
  }
}
