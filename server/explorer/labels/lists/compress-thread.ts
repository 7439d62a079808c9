// The thread that compresses files (compress-on-thread.ts).

import { type Compression, compressOnThisThread } from '#http/compressed-bytes.ts'
import { serveThread } from '#runtime/worker-thread.ts'

interface CompressInput {
  readonly bytes: Uint8Array
  readonly compression: Compression
}

serveThread({
  compress: async ({ bytes, compression }: CompressInput) => {
    const compressed = compressOnThisThread(bytes, compression)
    const value = new Uint8Array(new SharedArrayBuffer(compressed.length))
    value.set(compressed)
    return { value }
  },
})
