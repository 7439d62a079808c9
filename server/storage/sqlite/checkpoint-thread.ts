// The thread of all Checkpointers of a process. It opens a file for each checkpoint, so that it never keeps it open.
import { DatabaseSync } from 'node:sqlite'
import { serveThread } from '#runtime/worker-thread.ts'

serveThread({
  checkpoint: async (file: string) => {
    using db = new DatabaseSync(file, { timeout: 0 })
    db.exec('pragma synchronous = full; pragma wal_checkpoint(passive)')
    return { value: undefined }
  },
})
