// Finished bytes in the packings that callers accept, each made once and kept: a list of 100 000 labels travels at a
// seventh of its size, and nobody waits for that twice (decisions 0095, 0175).
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { encodingFor } from '#core/accept-encoding.ts'
import { etagOf } from '#core/etag.ts'

export type Packing = 'br' | 'gzip' | 'identity'

export interface Packed {
  readonly bytes: Uint8Array
  /** Strong tags are of bytes, so each packing has its own. */
  readonly etag: string
  readonly headers: { readonly vary: string; readonly 'content-encoding'?: string }
}

/** Below this the headers would cost what the packing saves. */
const packedBytesMin = 1024

/** Middle levels: the last tenth of size would take ten times as long. */
const packers: Record<Exclude<Packing, 'identity'>, (bytes: Uint8Array) => Promise<Uint8Array>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: 5,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      },
    }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 6 }),
}

export class FinishedBytes {
  readonly plain: Packed
  readonly #packed = new Map<Packing, Promise<Packed>>()
  #packedBytes = 0

  constructor(bytes: Uint8Array) {
    this.plain = { bytes, etag: etagOf(bytes), headers: { vary: 'accept-encoding' } }
  }

  /** Bytes held in memory, the packings that were made included. */
  get size(): number {
    return this.plain.bytes.length + this.#packedBytes
  }

  as(packing: Packing): Promise<Packed> {
    const { bytes } = this.plain
    if (packing === 'identity' || bytes.length < packedBytesMin) return Promise.resolve(this.plain)
    const known = this.#packed.get(packing)
    if (known) return known
    const packed = this.#pack(packing)
    this.#packed.set(packing, packed)
    packed.catch(() => this.#packed.delete(packing))
    return packed
  }

  async #pack(packing: Exclude<Packing, 'identity'>): Promise<Packed> {
    const bytes = await packers[packing](this.plain.bytes)
    this.#packedBytes += bytes.length
    const etag = this.plain.etag.replace(/"$/, `-${packing}"`)
    return { bytes, etag, headers: { ...this.plain.headers, 'content-encoding': packing } }
  }
}

/** The packing to answer with, by the caller's accept-encoding. */
export const packingFor = (accepted: string | undefined): Packing => encodingFor(accepted, ['br', 'gzip']) ?? 'identity'
