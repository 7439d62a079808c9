// Writes SSZ containers and bit fields of the simulated network.

/** A field of a container: of fixed length, or variable with an offset. */
export type Part = { readonly fixed: Buffer } | { readonly variable: Buffer }

export const fixed = (bytes: Buffer): Part => ({ fixed: bytes })
export const variable = (bytes: Buffer): Part => ({ variable: bytes })
export const zeros = (count: number): Part => fixed(Buffer.alloc(count))
export const hex = (text: string): Buffer => Buffer.from(text.slice(2), 'hex')

export function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value === Number.POSITIVE_INFINITY ? 2n ** 64n - 1n : BigInt(value))
  return bytes
}

export function container(parts: readonly Part[]): Buffer {
  let offset = parts.reduce((sum, part) => sum + ('fixed' in part ? part.fixed.length : 4), 0)
  const heads: Buffer[] = []
  const tails: Buffer[] = []
  for (const part of parts) {
    if ('fixed' in part) {
      heads.push(part.fixed)
      continue
    }
    const pointer = Buffer.alloc(4)
    pointer.writeUInt32LE(offset)
    heads.push(pointer)
    tails.push(part.variable)
    offset += part.variable.length
  }
  return Buffer.concat([...heads, ...tails])
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
