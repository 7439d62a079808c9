// Where an answer is taken apart. The traces of a full block are megabytes, and several come in one answer: on this thread
// nobody would be answered meanwhile, so large ones go to a thread of their own (decision 0067).
import { FetchError } from '../fetch.ts'
import { openThread, type Thread } from '../thread.ts'
import { type Answered, type Asked, outcomesIn } from './outcomes.ts'

/** Taken apart here within about two milliseconds; the way to the thread and back costs as much. */
const bytesHereMax = 256 * 1024

let thread: Thread | undefined

export async function decode(answer: Uint8Array | string, firstId: number, calls: readonly Asked[]): Promise<Answered> {
  // What is checked by a function cannot be sent away. Those answers are small, whatever the node says.
  const stays = typeof answer === 'string' || answer.length <= bytesHereMax || calls.some(({ reading }) => !reading)
  if (stays) return outcomesIn(typeof answer === 'string' ? answer : textOf(answer), firstId, calls)
  thread ??= openThread(new URL('./decoder-thread.ts', import.meta.url), undefined)
  const asked = calls.map(({ method, reading }) => ({ method, reading }))
  try {
    return await thread.ask<Answered>('outcomes', { answer, firstId, calls: asked })
  } catch (cause) {
    throw new FetchError('text', 'an answer of a node could not be taken apart', { cause })
  }
}

export const textOf = (bytes: Uint8Array): string => new TextDecoder('utf-8').decode(bytes)
