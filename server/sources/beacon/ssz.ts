// Reads integers, roots and variable fields from SSZ bytes without copying. Every read and every offset is checked, so
// that invalid bytes are an error and not a wrong number.

export class SszError extends Error {
  override readonly name = 'SszError'
}

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

  /** Values above 2^53, such as FAR_FUTURE_EPOCH, become Infinity. */
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
      throw new SszError(`the range ${from} to ${until} does not fit into ${this.length} bytes`)
    }
    return new View(this.bytes.subarray(from, until))
  }

  /** The variable field whose offset is at `at`. It ends where the field whose offset is at `next` starts. */
  variable(at: number, next?: number): View {
    return this.part(this.u32(at), next === undefined ? this.length : this.u32(next))
  }

  /** Members of fixed size. */
  list(size: number): View[] {
    if (this.length % size !== 0) throw new SszError(`${this.length} bytes are not a list of members of ${size} bytes`)
    return Array.from({ length: this.length / size }, (_, at) => this.part(at * size, (at + 1) * size))
  }

  /** The number of members of a list of variable-size members. */
  countVariable(): number {
    if (this.length === 0) return 0
    const first = this.u32(0)
    if (first === 0 || first % 4 !== 0 || first > this.length)
      throw new SszError(`a list starts with the invalid offset ${first}`)
    return first / 4
  }

  listVariable(): View[] {
    return this.lastVariable(Number.POSITIVE_INFINITY)
  }

  /** The last members of a list of variable-size members. */
  lastVariable(max: number): View[] {
    const count = this.countVariable()
    const first = Math.max(0, count - max)
    return Array.from({ length: count - first }, (_, offset) => {
      const at = first + offset
      return this.part(this.u32(at * 4), at + 1 < count ? this.u32(at * 4 + 4) : this.length)
    })
  }

  #checkBounds(at: number, size: number): void {
    if (at < 0 || at + size > this.length)
      throw new SszError(`${size} bytes at ${at} are beyond the end at ${this.length}`)
  }
}
