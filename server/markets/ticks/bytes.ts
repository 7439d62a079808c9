// Writes and reads the parts of packed rows: whole numbers of up to 53 bits with as few bytes as they need, and texts.

/** A number that may be negative: small ones of both signs stay small. Exact up to 2^52. */
const toUnsigned = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value)
const toSigned = (value: number): number => (value % 2 === 0 ? value / 2 : -(value + 1) / 2)

export class ByteWriter {
  #bytes = Buffer.alloc(256)
  #length = 0

  whole(value: number): void {
    this.#reserve(8)
    let rest = value
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.#bytes[this.#length++] = (rest % 128) | 128
    this.#bytes[this.#length++] = rest
  }

  signed(value: number): void {
    this.whole(toUnsigned(value))
  }

  text(value: string): void {
    const size = Buffer.byteLength(value)
    this.whole(size)
    this.#reserve(size)
    this.#length += this.#bytes.write(value, this.#length)
  }

  bytes(value: Uint8Array): void {
    this.whole(value.length)
    this.#reserve(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
  }

  end(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return
    const larger = Buffer.alloc(2 * (this.#length + more))
    larger.set(this.end())
    this.#bytes = larger
  }
}

/** Throws a RangeError beyond the end, so that damaged bytes give no values. */
export class ByteReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  whole(): number {
    let value = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined || factor > 2 ** 49) throw new RangeError('the packed row is damaged')
      value += (byte & 127) * factor
      if (byte < 128) return value
    }
  }

  signed(): number {
    return toSigned(this.whole())
  }

  text(): string {
    return this.#take().toString()
  }

  bytes(): Uint8Array {
    return this.#take()
  }

  #take(): Buffer {
    const size = this.whole()
    if (this.#at + size > this.#bytes.length) throw new RangeError('the packed row is damaged')
    this.#at += size
    return this.#bytes.subarray(this.#at - size, this.#at)
  }
}
