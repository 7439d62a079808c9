// Compresses on a thread with a lower priority than requests. The thread pool of Node has the priority of requests.

import type { Compress } from '#http/compressed-bytes.ts'
import { openThread } from '#runtime/worker-thread.ts'

/** The bytes must be in shared memory, otherwise they are copied. */
export function openCompressor(): { readonly compress: Compress; close(): Promise<void> } {
  const thread = openThread(new URL('./compress-thread.ts', import.meta.url), undefined, { isBackground: true })
  return {
    compress: (bytes, compression) => thread.call('compress', { bytes, compression }),
    close: () => thread.close(),
  }
}
