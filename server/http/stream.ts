// Writes an answer without an end to a caller who reads at its own pace.
//
// 1. At most one chunk waits in memory: the next is made when the last has been taken.
// 2. A caller that takes nothing for `slowMs` is cut; one that leaves ends the making.
// 3. When the server stops, so does the answer, and the connection is closed properly.
import type { ServerResponse } from 'node:http'
import type { Clock } from '#runtime/clock.ts'

const slowMs = 30_000

export async function writeStream(
  response: ServerResponse,
  chunks: (signal: AbortSignal) => AsyncIterable<string>,
  clock: Clock,
  stopping: AbortSignal,
): Promise<void> {
  const callerGone = new AbortController()
  response.on('close', () => callerGone.abort())
  response.on('error', () => callerGone.abort())
  const ended = AbortSignal.any([callerGone.signal, stopping])
  response.flushHeaders()
  try {
    for await (const chunk of chunks(ended)) {
      if (ended.aborted) break
      if (response.write(chunk)) continue
      if (!(await drained(response, clock, ended))) {
        response.destroy()
        return
      }
    }
    response.end()
  } catch (error) {
    response.destroy()
    throw error
  }
}

/** False: the caller took nothing in time. */
async function drained(response: ServerResponse, clock: Clock, over: AbortSignal): Promise<boolean> {
  const drained = new AbortController()
  const done = () => drained.abort()
  response.once('drain', done)
  await clock.sleep(slowMs, AbortSignal.any([drained.signal, over]))
  response.off('drain', done)
  return drained.signal.aborted || over.aborted
}
