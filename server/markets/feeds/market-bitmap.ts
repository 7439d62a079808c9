// A set of markets by their numbers (storage/schema/markets.ts): one bit for each, compressed when it is stored.
import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Beyond any number of markets; a larger bitmap is damaged. */
const bytesMax = 16 * 2 ** 20

export class MarketBitmap {
  #bits: Uint8Array

  constructor(bits = new Uint8Array(0)) {
    this.#bits = bits
  }

  static decode(stored: Uint8Array): MarketBitmap {
    return new MarketBitmap(new Uint8Array(inflateRawSync(stored, { maxOutputLength: bytesMax })))
  }

  /** Without the zero bytes at the end, so that the same set has the same bytes. */
  encode(): Uint8Array {
    let end = this.#bits.length
    while (end > 0 && this.#bits[end - 1] === 0) end -= 1
    return deflateRawSync(this.#bits.subarray(0, end), { level: 1 })
  }

  add(number: number): void {
    const at = number >> 3
    if (at >= this.#bits.length) this.#grow(at + 1)
    this.#bits[at] = (this.#bits[at] ?? 0) | (1 << (number & 7))
  }

  has(number: number): boolean {
    return (((this.#bits[number >> 3] ?? 0) >> (number & 7)) & 1) === 1
  }

  /** Adds the markets of another set. */
  addAll(other: MarketBitmap): void {
    if (other.#bits.length > this.#bits.length) this.#grow(other.#bits.length)
    for (const [at, byte] of other.#bits.entries()) this.#bits[at] = (this.#bits[at] ?? 0) | byte
  }

  /** Removes the markets of another set. */
  removeAll(other: MarketBitmap): void {
    for (const [at, byte] of this.#bits.entries()) this.#bits[at] = byte & ~(other.#bits[at] ?? 0)
  }

  *numbers(): Generator<number, undefined> {
    for (const [at, byte] of this.#bits.entries())
      for (let bit = 0; byte >> bit > 0; bit++) if ((byte >> bit) & 1) yield at * 8 + bit
  }

  get size(): number {
    let count = 0
    for (const _ of this.numbers()) count += 1
    return count
  }

  #grow(length: number): void {
    const bits = new Uint8Array(Math.max(length, this.#bits.length * 2))
    bits.set(this.#bits)
    this.#bits = bits
  }
}
