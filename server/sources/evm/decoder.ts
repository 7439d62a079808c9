// Decodes responses. The traces of a block are megabytes, and decoding them would block the event loop, so large
// responses are decoded on a worker thread (decisions/decode-large-node-answers-on-a-thread.md).

import { openThread, type WorkerThread } from '#runtime/worker-thread.ts'
import { FetchError } from '../http-client.ts'
import { type BatchOutcomes, type DecodableCall, outcomesIn } from './batch-results.ts'
import type { DecoderHandlers } from './decoder-thread.ts'

/** Takes about two milliseconds here; passing it to the thread costs as much. */
export const inlineBytesMax = 256 * 1024

let thread: WorkerThread<DecoderHandlers> | undefined

export async function decodeBatch(
  response: Uint8Array | string,
  firstId: number,
  calls: readonly DecodableCall[],
): Promise<BatchOutcomes> {
  // A `validate` function cannot be passed to a thread. The results of such calls are small.
  const isInline =
    typeof response === 'string' || response.length <= inlineBytesMax || calls.some(({ resultKind }) => !resultKind)
  if (isInline) return outcomesIn(response, firstId, calls)
  thread ??= openThread(new URL('./decoder-thread.ts', import.meta.url), undefined)
  const plainCalls = calls.map(({ method, resultKind }) => ({ method, resultKind }))
  try {
    return await thread.call('outcomes', { response, firstId, calls: plainCalls })
  } catch (cause) {
    throw new FetchError('text', 'the response of a node cannot be decoded', { cause })
  }
}
