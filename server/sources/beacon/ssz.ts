// Reads SSZ where it lies: whole numbers, roots and the offsets of variable parts, without copying. Every read is checked
// against the end of the bytes, every offset against its neighbours, so that broken bytes are an error and not a wrong number.

export class SszError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SszError'
  }
}

/** A stretch of bytes. */
export class View {
  readonly bytes: Uint8Array
  readonly #data: DataView

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.#data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get length(): number {
    return this.bytes.length
  }

  u32(at: number): number {
    this.#checkBounds(at, 4)
    return this.#data.getUint32(at, true)
  }

  /** Beyond 2^53 (far-future epochs): Infinity. */
  u64(at: number): number {
    this.#checkBounds(at, 8)
    const high = this.#data.getUint32(at + 4, true)
    return high > 0x1fffff ? Number.POSITIVE_INFINITY : high * 2 ** 32 + this.#data.getUint32(at, true)
  }

  hex(at: number, size: number): string {
    this.#checkBounds(at, size)
    return `0x${Buffer.from(this.bytes.buffer, this.bytes.byteOffset + at, size).toString('hex')}`
  }

  part(from: number, until: number): View {
    if (!(from >= 0 && from <= until && until <= this.length)) {
      throw new SszError(`a part from ${from} to ${until} does not fit into ${this.length} bytes`)
    }
    return new View(this.bytes.subarray(from, until))
  }

  /** The variable part whose offset lies at `at` and ends where the one at `next` begins. */
  variable(at: number, next?: number): View {
    return this.part(this.u32(at), next === undefined ? this.length : this.u32(next))
  }

  /** Members of one size. */
  list(size: number): View[] {
    if (this.length % size !== 0) throw new SszError(`${this.length} bytes are no list of members of ${size}`)
    return Array.from({ length: this.length / size }, (_, at) => this.part(at * size, (at + 1) * size))
  }

  /** How many members of any size. */
  countVariable(): number {
    if (this.length === 0) return 0
    const first = this.u32(0)
    if (first === 0 || first % 4 !== 0 || first > this.length)
      throw new SszError(`a list begins with the offset ${first}`)
    return first / 4
  }

  listVariable(): View[] {
    const count = this.countVariable()
    return Array.from({ length: count }, (_, at) =>
      this.part(this.u32(at * 4), at + 1 < count ? this.u32(at * 4 + 4) : this.length),
    )
  }

  #checkBounds(at: number, size: number): void {
    if (at < 0 || at + size > this.length) throw new SszError(`${size} bytes at ${at} lie beyond ${this.length}`)
  }
}
