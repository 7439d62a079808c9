// Bytes together with their gzip and brotli encodings, each compressed once on demand
// (behaviour/explorer.md#caching-of-label-lists, behaviour/operations.md#console-files).
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { type BrotliOptions, brotliCompress, brotliCompressSync, constants, gzip, gzipSync } from 'node:zlib'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { encodingFor } from './accept-encoding.ts'
import { etagFromHash } from './etag.ts'

export type ContentEncoding = 'br' | 'gzip' | 'identity'
export type Compression = Exclude<ContentEncoding, 'identity'>
export type Compress = (bytes: Uint8Array, compression: Compression) => Promise<Uint8Array>

export interface EncodedBytes {
  readonly bytes: Uint8Array
  /** Each encoding has its own, because a strong etag identifies the bytes. */
  readonly etag: string
  readonly headers: { readonly vary: string; readonly 'content-encoding'?: string }
}

/** Smaller texts are not worth compressing. */
export const compressedBytesMin = 1024

/** Medium levels: saving another tenth would take ten times as long. */
const gzipOptions = { level: 6 }
const brotliOptions = (size: number): BrotliOptions => ({
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 5,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: size,
  },
})

/** For a request that waits: on the thread pool, with the priority of requests. */
const compressOnPool: Compress = (bytes, compression) =>
  compression === 'br'
    ? promisify(brotliCompress)(bytes, brotliOptions(bytes.length))
    : promisify(gzip)(bytes, gzipOptions)

/** Blocks the calling thread and has its priority. */
export const compressOnThisThread = (bytes: Uint8Array, compression: Compression): Uint8Array =>
  compression === 'br' ? brotliCompressSync(bytes, brotliOptions(bytes.length)) : gzipSync(bytes, gzipOptions)

export class CompressedBytes {
  readonly plain: EncodedBytes
  readonly #encoded = new Map<ContentEncoding, Promise<EncodedBytes>>()
  #encodedBytes = 0

  constructor(bytes: Uint8Array, etag: string) {
    this.plain = { bytes, etag, headers: { vary: 'accept-encoding' } }
  }

  /** Bytes in memory, including the encodings. */
  get size(): number {
    return this.plain.bytes.length + this.#encodedBytes
  }

  encodedAs(encoding: ContentEncoding, compress = compressOnPool): Promise<EncodedBytes> {
    const { bytes } = this.plain
    if (encoding === 'identity' || bytes.length < compressedBytesMin) return Promise.resolve(this.plain)
    return this.#encoded.getOrInsertComputed(encoding, () => {
      const compressed = this.#compress(encoding, compress)
      compressed.catch(() => this.#encoded.delete(encoding))
      return compressed
    })
  }

  async #compress(encoding: Compression, compress: Compress): Promise<EncodedBytes> {
    const bytes = await compress(this.plain.bytes, encoding)
    this.#encodedBytes += bytes.length
    const etag = this.plain.etag.replace(/"$/, `-${encoding}"`)
    return { bytes, etag, headers: { ...this.plain.headers, 'content-encoding': encoding } }
  }
}

const bytesPerYield = 1024 * 1024

/** A strong etag. Yields to the event loop, because hashing 20 MB takes 20 ms. */
export async function computeEtag(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < bytes.length; at += bytesPerYield) {
    hash.update(bytes.subarray(at, at + bytesPerYield))
    await nextEventLoopTurn()
  }
  return etagFromHash(hash.digest('base64url'))
}

export const chooseEncoding = (accepted: string | undefined): ContentEncoding =>
  encodingFor(accepted, ['br', 'gzip']) ?? 'identity'
