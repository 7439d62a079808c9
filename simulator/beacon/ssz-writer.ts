// Writes fields of SSZ containers, and bit fields, of the simulated network.

export const fixed = (bytes: Buffer) => ({ bytes, isFixed: true })
export const variable = (bytes: Buffer) => ({ bytes, isFixed: false })
export const zeros = (count: number) => fixed(Buffer.alloc(count))
export const hex = (text: string): Buffer => Buffer.from(text.slice(2), 'hex')

export function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value === Number.POSITIVE_INFINITY ? 2n ** 64n - 1n : BigInt(value))
  return bytes
}

export function bitsOf(bits: readonly boolean[], length = bits.length, end = false): Buffer {
  const bytes = Buffer.alloc(end ? Math.floor(length / 8) + 1 : Math.ceil(length / 8))
  const set = (at: number) => {
    bytes[at >> 3] = (bytes[at >> 3] as number) | (1 << (at & 7))
  }
  bits.forEach((bit, at) => {
    if (bit) set(at)
  })
  if (end) set(length)
  return bytes
}
