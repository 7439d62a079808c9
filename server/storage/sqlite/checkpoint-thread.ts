// The thread of a Checkpointer. It opens the file for each checkpoint, so that it never keeps it open.
import { DatabaseSync } from 'node:sqlite'
import { serveThread, threadStart } from '#runtime/worker-thread.ts'

const file = threadStart<string>()

serveThread({
  checkpoint: async () => {
    using db = new DatabaseSync(file, { timeout: 0 })
    db.exec('pragma synchronous = full; pragma wal_checkpoint(passive)')
    return { value: undefined }
  },
})
