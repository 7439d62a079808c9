// Opens an input of a command: a file or a pipe, plain or gzipped, or standard input (`-`).
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { CommandFailure } from './failure.ts'

export type InputFile = Awaited<ReturnType<typeof openInput>>

/** `bytes` is the size of a file; that of a pipe is unknown. `read` returns the bytes read so far. */
export async function openInput(file: string) {
  const stats = file === '-' ? undefined : await stat(file).catch(() => undefined)
  if (file !== '-' && (!stats || stats.isDirectory()))
    throw new CommandFailure('import.file', `There is no file ${file}.`)
  const input = file === '-' ? process.stdin : createReadStream(file)
  let read = 0
  const counted = async function* () {
    for await (const chunk of input as AsyncIterable<Uint8Array>) {
      read += chunk.length
      yield chunk
    }
  }
  return { chunks: unpacked(file, counted()), bytes: stats?.isFile() ? stats.size : undefined, read: () => read }
}

/** Detects gzip by its first two bytes, not by the file name. */
async function* unpacked(file: string, reader: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0)
  while (head.length < 2) {
    const { value, done } = await reader.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  const rest = async function* () {
    yield head
    yield* reader
  }
  if (head[0] !== 0x1f || head[1] !== 0x8b) return yield* rest()
  const { Readable } = await import('node:stream')
  try {
    yield* Readable.from(rest()).pipe(createGunzip()) as AsyncIterable<Uint8Array>
  } catch (error) {
    throw new CommandFailure('import.gzip', `Cannot decompress ${file} (${(error as Error).message}).`)
  }
}

/** The whole input as UTF-8 text. */
export async function readInput(
  file: string,
  bytesMax: number,
): Promise<{ readonly text: string; readonly isFile: boolean }> {
  const { chunks, bytes } = await openInput(file)
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of chunks) {
    size += part.length
    if (size > bytesMax)
      throw new CommandFailure('import.file', `${file} is larger than ${bytesMax >> 20} MiB; split it.`)
    parts.push(part)
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(parts))
    return { text, isFile: bytes !== undefined }
  } catch {
    throw new CommandFailure('import.file', `${file} is not UTF-8 text.`)
  }
}
