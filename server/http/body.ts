// Reads the body of a request up to a limit.
import type { IncomingMessage } from 'node:http'
import { Fault } from '#core/fault.ts'
import { CallerGone } from './deadline.ts'

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Undefined without a body. Throws a Fault if it is too large, and CallerGone if it does not arrive in full. */
export function readBody(raw: IncomingMessage, bytesMax: number): Promise<Uint8Array | undefined> | undefined {
  if (!hasBody(raw)) return undefined
  if (Number(raw.headers['content-length'] ?? 0) > bytesMax) throw new Fault('body.too_large')
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    raw.on('data', (chunk: Uint8Array) => {
      bytes += chunk.byteLength
      if (bytes <= bytesMax) chunks.push(chunk)
      else {
        raw.pause()
        reject(new Fault('body.too_large'))
      }
    })
    raw.on('end', () => resolve(Buffer.concat(chunks, bytes)))
    raw.on('error', () => reject(new CallerGone()))
  })
}
