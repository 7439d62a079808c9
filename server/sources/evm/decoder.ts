// Where an answer is taken apart. The traces of a full block are megabytes, and several come in one answer: on this thread
// nobody would be answered meanwhile, so large ones go to a thread of their own (decisions/decode-large-node-answers-on-a-thread.md).

import { openThread, type WorkerThread } from '#runtime/worker-thread.ts'
import { FetchError } from '../http-client.ts'
import { type BatchOutcomes, type DecodableCall, outcomesIn } from './batch-results.ts'

/** Taken apart here within about two milliseconds; the way to the thread and back costs as much. */
const bytesHereMax = 256 * 1024

let thread: WorkerThread | undefined

export async function decodeBatch(
  response: Uint8Array | string,
  firstId: number,
  calls: readonly DecodableCall[],
): Promise<BatchOutcomes> {
  // What is checked by a function cannot be sent away. Those answers are small, whatever the node says.
  const isInline =
    typeof response === 'string' || response.length <= bytesHereMax || calls.some(({ resultKind }) => !resultKind)
  if (isInline) return outcomesIn(typeof response === 'string' ? response : toText(response), firstId, calls)
  thread ??= openThread(new URL('./decoder-thread.ts', import.meta.url), undefined)
  const call = calls.map(({ method, resultKind }) => ({ method, resultKind }))
  try {
    return await thread.call<BatchOutcomes>('outcomes', { response, firstId, calls: call })
  } catch (cause) {
    throw new FetchError('text', 'an answer of a node could not be taken apart', { cause })
  }
}

export const toText = (bytes: Uint8Array): string => new TextDecoder('utf-8').decode(bytes)
