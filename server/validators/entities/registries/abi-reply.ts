// Decodes ABI replies of contracts, strictly: what does not fit is undefined. Replies are hexadecimal digits after 0x.
import { strict as assert } from 'node:assert'

const wordBytes = 32

export class AbiReply {
  readonly #bytes: Buffer
  readonly #start: number

  /** `start`: where the offsets of this tuple begin. */
  constructor(bytes: Buffer, start = 0) {
    this.#bytes = bytes
    this.#start = start
  }

  static of(reply: string): AbiReply {
    assert(/^0x([0-9a-f]{2})*$/i.test(reply), 'not bytes')
    return new AbiReply(Buffer.from(reply.slice(2), 'hex'))
  }

  get size(): number {
    return this.#bytes.length
  }

  /** The number in a word; undefined: there is none, or it is too large to be one of these. */
  number(field: number): number | undefined {
    return this.#numberAt(this.#start + field * wordBytes)
  }

  word(field: number): string | undefined {
    return this.#wordAt(this.#start + field * wordBytes)?.toString('hex')
  }

  address(field: number): string | undefined {
    const word = this.word(field)
    return word !== undefined && /^0{24}/.test(word) ? `0x${word.slice(24)}` : undefined
  }

  /** `bytes` or `string`, whose offset is in this field. */
  bytes(field: number): Buffer | undefined {
    const at = this.#offset(field)
    const size = at === undefined ? undefined : this.#numberAt(at)
    if (at === undefined || size === undefined) return undefined
    const value = this.#bytes.subarray(at + wordBytes, at + wordBytes + size)
    return value.length === size ? value : undefined
  }

  /** The tuple whose offset is in this field. */
  tuple(field: number): AbiReply | undefined {
    const at = this.#offset(field)
    return at === undefined ? undefined : new AbiReply(this.#bytes, at)
  }

  /** The items of a list of tuples or of words: how many, and the tuple of their offsets or words. */
  list(field: number, countMax: number): { readonly count: number; readonly items: AbiReply } | undefined {
    const at = this.#offset(field)
    const count = at === undefined ? undefined : this.#numberAt(at)
    if (at === undefined || count === undefined || count > countMax) return undefined
    return { count, items: new AbiReply(this.#bytes, at + wordBytes) }
  }

  #offset(field: number): number | undefined {
    const offset = this.number(field)
    return offset === undefined ? undefined : this.#start + offset
  }

  #wordAt(at: number): Buffer | undefined {
    return at + wordBytes <= this.#bytes.length ? this.#bytes.subarray(at, at + wordBytes) : undefined
  }

  #numberAt(at: number): number | undefined {
    const word = this.#wordAt(at)
    return word?.subarray(0, 28).every((byte) => byte === 0) ? word.readUInt32BE(28) : undefined
  }
}

const nameCharsMax = 100

/** A name that anybody may have written: without control, invisible and direction characters, and not too long. */
export function cleanName(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8').decode(bytes).normalize('NFC')
  const visible = text
    .replace(/[\p{C}\p{Zl}\p{Zp}\uFFFD]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return [...visible].slice(0, nameCharsMax).join('').trim()
}
