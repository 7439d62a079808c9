// The thread that writes a label list with its own connection, or compresses one.
import { type Compression, compressOnThisThread } from '#http/compressed-bytes.ts'
import { serveThread } from '#runtime/worker-thread.ts'
import type { ListInput, StateLocation } from './write-list.ts'

const handlers = {
  async write({ location, ...input }: ListInput & { location: StateLocation }, signal: AbortSignal) {
    const [{ openIngest }, { abortableState }, { writeList }] = await Promise.all([
      import('#storage/open.ts'),
      import('#storage/abortable-stores.ts'),
      import('./write-list.ts'),
    ])
    const ingest = await openIngest(location.dir, location.options)
    try {
      return { value: await writeList(abortableState(ingest, { signal }), input) }
    } finally {
      await ingest.close()
    }
  },
  async compress({ bytes, compression }: { bytes: Uint8Array; compression: Compression }) {
    const compressed = compressOnThisThread(bytes, compression)
    const value = new Uint8Array(new SharedArrayBuffer(compressed.length))
    value.set(compressed)
    return { value }
  },
}

export type ListHandlers = typeof handlers

serveThread(handlers)
