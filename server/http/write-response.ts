// Writes responses at the speed of the caller (behaviour/http.md#callers-that-do-not-read).
//
// 1. At most one part is passed to the connection: the next one is created after the last one was sent.
// 2. A caller that does not read one part within `slowMs` is disconnected. If the caller leaves, the response ends.
// 3. When the server stops, an endless response ends and its connection is closed properly.
import type { ServerResponse } from 'node:http'
import type { Clock } from '#runtime/clock.ts'

const slowMs = 30_000
export const partBytes = 64 * 1024

export interface ResponseWriter {
  readonly clock: Clock
  /** Reports how many bytes are kept until the caller reads them. */
  readonly keepUnsent: (response: ServerResponse, bytes: number) => void
}

/** An endless response, until the caller leaves or the server stops. */
export async function writeStream(
  writer: ResponseWriter,
  response: ServerResponse,
  chunks: (signal: AbortSignal) => AsyncIterable<string>,
  stopping: AbortSignal,
): Promise<void> {
  response.flushHeaders()
  const ended = AbortSignal.any([callerGone(response), stopping])
  await writeParts(writer, response, chunks(ended), ended)
}

/** A long body. `ownBytes`: what this response alone keeps in memory. */
export async function writeBody(
  writer: ResponseWriter,
  response: ServerResponse,
  parts: Iterable<Uint8Array>,
  ownBytes = 0,
): Promise<void> {
  await writeParts(writer, response, parts, callerGone(response), ownBytes)
}

/** Waits until the end of a response, which has been written, is sent. */
export async function waitUntilSent({ clock, keepUnsent }: ResponseWriter, response: ServerResponse): Promise<void> {
  if (response.writableLength === 0) return
  keepUnsent(response, response.writableLength)
  const gone = callerGone(response)
  await clock.sleep(slowMs, gone)
  if (!gone.aborted) response.destroy()
}

async function writeParts(
  writer: ResponseWriter,
  response: ServerResponse,
  parts: Iterable<Uint8Array> | AsyncIterable<string>,
  ended: AbortSignal,
  ownBytes = 0,
): Promise<void> {
  try {
    for await (const part of parts) {
      if (ended.aborted) break
      if (response.write(part)) continue
      writer.keepUnsent(response, Math.max(ownBytes, response.writableLength))
      if (!(await waitForDrain(response, writer.clock, ended))) return void response.destroy()
      writer.keepUnsent(response, ownBytes)
    }
  } catch (error) {
    // A stream whose end is requested during a read ends with an error.
    if (!ended.aborted) {
      response.destroy()
      throw error
    }
  }
  response.end()
  await waitUntilSent(writer, response)
}

/** Aborts when the response has been sent, and when the caller has left. */
function callerGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  if (response.closed) gone.abort()
  response.on('close', () => gone.abort())
  response.on('error', () => gone.abort())
  return gone.signal
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

/** Parts of a body that share its memory. */
export function* splitBody(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += partBytes) yield bytes.subarray(from, from + partBytes)
}
