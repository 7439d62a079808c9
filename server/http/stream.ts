// Writes an endless response at the speed of the caller.
//
// 1. At most one chunk is buffered: the next one is created after the last one was sent.
// 2. If the caller reads nothing for `slowMs`, the connection is closed. If the caller leaves, the stream ends.
// 3. When the server stops, the response ends and the connection is closed properly.
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
      if (!(await waitForDrain(response, clock, ended))) {
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

/** False if the caller read nothing in time. */
async function waitForDrain(response: ServerResponse, clock: Clock, ended: AbortSignal): Promise<boolean> {
  const drained = new AbortController()
  const done = () => drained.abort()
  response.once('drain', done)
  await clock.sleep(slowMs, AbortSignal.any([drained.signal, ended]))
  response.off('drain', done)
  return drained.signal.aborted || ended.aborted
}
