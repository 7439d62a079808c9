// Copies committed pages from the WAL to the database file on a thread. Otherwise the commit that fills the WAL does it:
// it takes several times as long as other commits, and requests wait for it.
//
// 1. A checkpoint does not block readers or writers. A write that finds all pages copied starts at the beginning of the
//    WAL again.
// 2. If checkpoints fail or do not keep up, commits do them from `pagesMax` pages on, so that the WAL stays limited.
// 3. Nothing here fails a write, because its commit is over.
import { openThread, type WorkerThread } from '#runtime/worker-thread.ts'
import type { Connection } from './connection.ts'

/** The default of SQLite for its own checkpoints. */
const pagesMin = 1000
/** Without many writes, there are minutes or hours between checkpoints. */
const idleMs = 10_000
/** About 64 MB. */
export const pagesMax = 16_000

const resourceLimits = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 16 }

/** One for all files of a process. Starts with the first checkpoint. The caller closes it after the files. */
export const openCheckpointThread = (): WorkerThread =>
  openThread(new URL('./checkpoint-thread.ts', import.meta.url), undefined, { resourceLimits, idleMs })

export function createCheckpointer(file: string, thread: WorkerThread) {
  let running: Promise<void> | undefined
  /** A commit has ended since the running checkpoint began. */
  let isDue = false
  let isClosed = false

  function start(writer: Connection): void {
    isDue = false
    if (!isWalShort(writer)) running = checkpoint(writer)
  }

  async function checkpoint(writer: Connection): Promise<void> {
    try {
      await thread.call('checkpoint', file)
    } catch {
      // Rule 2.
    }
    running = undefined
    if (isDue && !isClosed) start(writer)
  }

  return {
    /** Call after every commit of the writer. */
    afterCommit(writer: Connection): void {
      isDue = true
      if (!running && !isClosed) start(writer)
    },
    async close(): Promise<void> {
      isClosed = true
      await running
    },
  }
}

function isWalShort(writer: Connection): boolean {
  try {
    return writer.countWalPages() < pagesMin
  } catch {
    // Rule 3.
    return true
  }
}
