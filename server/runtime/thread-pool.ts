// Several threads that run the same file.
import { openThread, type ThreadHandlers, type ThreadOptions, type WorkerThread } from './worker-thread.ts'

/** A call goes to the first of the least busy threads, so that the others are not started while one is enough. */
export function openThreadPool<Handlers extends ThreadHandlers>(
  file: URL,
  start: unknown,
  { threads: count, ...options }: ThreadOptions & { readonly threads: number },
): WorkerThread<Handlers> {
  const threads = Array.from({ length: count }, () => ({
    thread: openThread<Handlers>(file, start, options),
    running: 0,
  }))
  return {
    async call(...call) {
      const least = Math.min(...threads.map(({ running }) => running))
      const chosen = threads.find(({ running }) => running === least) as (typeof threads)[number]
      chosen.running += 1
      try {
        return await chosen.thread.call(...call)
      } finally {
        chosen.running -= 1
      }
    },
    async close() {
      await Promise.all(threads.map(({ thread }) => thread.close()))
    },
  }
}
