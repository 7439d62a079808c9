// Descriptions of SSZ types. One description computes the root of a value from its SSZ bytes and converts JSON to SSZ.
//
// 1. Roots are computed without copying or decoding. Offsets and lengths are checked, so that invalid bytes are an
//    error.
// 2. The limit of a list sets the depth of its tree. Limits come from the node's preset.
import { InvalidResponseError, readBytes, readFields, readList } from './json.ts'
import { hashPair } from './sha256.ts'
import { SszError } from './ssz.ts'

export interface SszType {
  /** Bytes; undefined: variable length. */
  readonly size: number | undefined
  /** Writes the root of the value in bytes `from` to `until` to `output` at `to`. */
  root(bytes: Uint8Array, from: number, until: number, output: Uint8Array, to: number): void
  /** SSZ bytes of a value in the JSON of the Beacon API. `name` is for error messages. */
  fromJson(value: unknown, name: string): Uint8Array
}

const chunk = 32

const zeroHashes: Uint8Array[] = [new Uint8Array(2 * chunk)]
for (let depth = 1; depth < 64; depth++) {
  const pair = new Uint8Array(2 * chunk)
  hashPair(zeroHashes[depth - 1] as Uint8Array, 0, pair, 0)
  pair.copyWithin(chunk, 0, chunk)
  zeroHashes.push(pair)
}

const depthOf = (chunks: number): number => Math.ceil(Math.log2(Math.max(1, chunks)))

/**
 * Root of the first `count` chunks in a tree for `limit` chunks. Overwrites `chunks`, which needs space for one more.
 */
function merkleize(chunks: Uint8Array, count: number, limit: number, output: Uint8Array, to: number): void {
  const depth = depthOf(limit)
  if (count === 0) return void output.set((zeroHashes[depth] as Uint8Array).subarray(0, chunk), to)
  let left = count
  for (let level = 0; level < depth; level++) {
    if (left % 2 === 1) {
      chunks.set((zeroHashes[level] as Uint8Array).subarray(0, chunk), left * chunk)
      left += 1
    }
    for (let at = 0; at < left / 2; at++) hashPair(chunks, at * 2 * chunk, chunks, at * chunk)
    left /= 2
  }
  output.set(chunks.subarray(0, chunk), to)
}

/** Space for this many chunks and the extra one of `merkleize`. */
const bufferFor = (count: number): Uint8Array => new Uint8Array((count + 1) * chunk)

function packed(bytes: Uint8Array, from: number, until: number, limit: number, output: Uint8Array, to: number): void {
  const count = Math.ceil((until - from) / chunk)
  if (count > limit) throw new SszError(`${until - from} bytes do not fit into ${limit} chunks`)
  const chunks = bufferFor(count)
  chunks.set(bytes.subarray(from, until))
  merkleize(chunks, count, limit, output, to)
}

/** Hashes the length of a list into the root at `to`. */
function mixInLength(length: number, output: Uint8Array, to: number): void {
  const pair = new Uint8Array(2 * chunk)
  pair.set(output.subarray(to, to + chunk))
  new DataView(pair.buffer).setUint32(chunk, length, true)
  hashPair(pair, 0, output, to)
}

/** Caches the root of the empty list: most lists of a block are empty. */
function emptyOnce(type: SszType): SszType {
  let empty: Uint8Array | undefined
  return {
    ...type,
    root(bytes, from, until, output, to) {
      if (from !== until) return type.root(bytes, from, until, output, to)
      if (!empty) {
        empty = new Uint8Array(chunk)
        type.root(bytes, from, until, empty, 0)
      }
      output.set(empty, to)
    },
  }
}

function checkSize(size: number, from: number, until: number): void {
  if (until - from !== size) throw new SszError(`${until - from} bytes instead of ${size}`)
}

/** Bytes of fixed length; in JSON a hexadecimal string. */
export const bytesType = (size: number): SszType => ({
  size,
  root(bytes, from, until, output, to) {
    checkSize(size, from, until)
    if (size > chunk) return packed(bytes, from, until, Math.ceil(size / chunk), output, to)
    output.fill(0, to, to + chunk)
    output.set(bytes.subarray(from, until), to)
  },
  fromJson(value, name) {
    const bytes = readBytes(value, name)
    if (bytes.length !== size) throw new InvalidResponseError(`${name} has ${bytes.length} bytes, not ${size}`)
    return bytes
  },
})

/** An unsigned integer, little-endian; in JSON a decimal string. */
export const uintType = (size: number): SszType => ({
  ...bytesType(size),
  fromJson(value, name) {
    if (typeof value !== 'string' || !/^\d{1,78}$/.test(value))
      throw new InvalidResponseError(`${name} is not a decimal string`)
    const bytes = new Uint8Array(size)
    let rest = BigInt(value)
    for (let at = 0; at < size; at++, rest >>= 8n) bytes[at] = Number(rest & 0xffn)
    if (rest > 0n) throw new InvalidResponseError(`${name} does not fit into ${size} bytes`)
    return bytes
  },
})

export const bitvectorType = (bits: number): SszType => bytesType(Math.ceil(bits / 8))

export const byteListType = (limit: number): SszType =>
  emptyOnce({
    size: undefined,
    root(bytes, from, until, output, to) {
      packed(bytes, from, until, Math.ceil(limit / chunk), output, to)
      mixInLength(until - from, output, to)
    },
    fromJson: readBytes,
  })

/** The highest set bit marks the length and is not part of the tree. */
export const bitlistType = (limit: number): SszType => ({
  size: undefined,
  root(bytes, from, until, output, to) {
    const last = until > from ? (bytes[until - 1] as number) : 0
    if (last === 0) throw new SszError('a bit list has no end marker')
    const high = 31 - Math.clz32(last)
    const length = (until - from - 1) * 8 + high
    if (length > limit) throw new SszError(`a bit list of ${length} bits exceeds the limit of ${limit}`)
    const bits = new Uint8Array(bytes.subarray(from, until))
    bits[bits.length - 1] = last & ~(1 << high)
    packed(bits, 0, Math.ceil(length / 8), Math.ceil(limit / (8 * chunk)), output, to)
    mixInLength(length, output, to)
  },
  fromJson: readBytes,
})

/** A vector of roots, which are the chunks of its tree; in JSON a list. */
export const rootVectorType = (length: number): SszType => ({
  ...bytesType(length * chunk),
  fromJson(value, name) {
    const list = readList(value, name)
    if (list.length !== length) throw new InvalidResponseError(`${name} has ${list.length} members, not ${length}`)
    return Buffer.concat(list.map((member) => bytesType(chunk).fromJson(member, name)))
  },
})

/** A list of uint64: four values share a chunk. */
export const uint64ListType = (limit: number): SszType =>
  emptyOnce({
    size: undefined,
    root(bytes, from, until, output, to) {
      if ((until - from) % 8 !== 0) throw new SszError(`${until - from} bytes are not a list of uint64`)
      packed(bytes, from, until, Math.ceil((limit * 8) / chunk), output, to)
      mixInLength((until - from) / 8, output, to)
    },
    fromJson: (value, name) => Buffer.concat(readList(value, name).map((member) => uintType(8).fromJson(member, name))),
  })

export const listType = (of: SszType, limit: number): SszType =>
  emptyOnce({
    size: undefined,
    root(bytes, from, until, output, to) {
      const starts = of.size === undefined ? offsetsOf(bytes, from, until) : stepsOf(of.size, from, until)
      const count = starts.length - 1
      if (count > limit) throw new SszError(`a list of ${count} members exceeds the limit of ${limit}`)
      const roots = bufferFor(count)
      for (let at = 0; at < count; at++)
        of.root(bytes, starts[at] as number, starts[at + 1] as number, roots, at * chunk)
      merkleize(roots, count, limit, output, to)
      mixInLength(count, output, to)
    },
    fromJson(value, name) {
      const members = readList(value, name).map((member) => of.fromJson(member, name))
      return of.size === undefined
        ? withOffsets(members.map((bytes) => ({ bytes, isFixed: false })))
        : Buffer.concat(members)
    },
  })

/** The start of each member, and the end of the last one. */
function stepsOf(size: number, from: number, until: number): number[] {
  if ((until - from) % size !== 0)
    throw new SszError(`${until - from} bytes are not a list of members of ${size} bytes`)
  return Array.from({ length: (until - from) / size + 1 }, (_, at) => from + at * size)
}

function offsetsOf(bytes: Uint8Array, from: number, until: number): number[] {
  if (from === until) return [until]
  const first = offsetAt(bytes, from, until, from)
  if (first === from || (first - from) % 4 !== 0)
    throw new SszError(`a list starts with the invalid offset ${first - from}`)
  const starts: number[] = []
  for (let at = from; at < first; at += 4) starts.push(offsetAt(bytes, from, until, at))
  return checkAscending([...starts, until])
}

function offsetAt(bytes: Uint8Array, from: number, until: number, at: number): number {
  if (at + 4 > until) throw new SszError(`the offset at ${at} is beyond the end at ${until}`)
  const offset =
    ((bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24)) >>>
    0
  return from + offset
}

function checkAscending(starts: number[]): number[] {
  if (starts.some((start, at) => at > 0 && start < (starts[at - 1] as number)))
    throw new SszError('offsets are not in ascending order')
  return starts
}

export type SszFields = Readonly<Record<string, SszType>>

/** `fields`: in the order of the specification, with their JSON names. */
export function containerType<F extends SszFields>(fields: F): SszType & { readonly fields: F } {
  const types = Object.entries(fields)
  const isFixed = types.every(([, { size }]) => size !== undefined)
  const head = types.reduce((sum, [, { size }]) => sum + (size ?? 4), 0)
  return {
    fields,
    size: isFixed ? head : undefined,
    root(bytes, from, until, output, to) {
      if (until - from < head) throw new SszError(`a container of ${until - from} bytes needs at least ${head}`)
      const starts: number[] = []
      let at = from
      for (const [, { size }] of types) {
        if (size === undefined) starts.push(offsetAt(bytes, from, until, at))
        at += size ?? 4
      }
      if ((starts[0] ?? until) !== from + head)
        throw new SszError('the first variable field does not follow the fixed fields')
      checkAscending([...starts, until])
      const roots = bufferFor(types.length)
      let part = 0
      at = from
      types.forEach(([, type], field) => {
        if (type.size === undefined) {
          type.root(bytes, starts[part] as number, starts[part + 1] ?? until, roots, field * chunk)
          part += 1
        } else type.root(bytes, at, at + type.size, roots, field * chunk)
        at += type.size ?? 4
      })
      merkleize(roots, types.length, types.length, output, to)
    },
    fromJson(value, name) {
      const values = readFields(value, name)
      return withOffsets(
        types.map(([field, type]) => ({
          bytes: type.fromJson(values[field], field),
          isFixed: type.size !== undefined,
        })),
      )
    },
  }
}

/** A container of these fields: those of variable length are after the others, with an offset in their place. */
export function withOffsets(parts: readonly { readonly bytes: Uint8Array; readonly isFixed: boolean }[]): Buffer {
  let offset = parts.reduce((sum, { bytes, isFixed }) => sum + (isFixed ? bytes.length : 4), 0)
  const heads: Uint8Array[] = []
  const tails: Uint8Array[] = []
  for (const { bytes, isFixed } of parts) {
    if (isFixed) heads.push(bytes)
    else {
      const pointer = Buffer.alloc(4)
      pointer.writeUInt32LE(offset)
      heads.push(pointer)
      tails.push(bytes)
      offset += bytes.length
    }
  }
  return Buffer.concat([...heads, ...tails])
}

/** Lower-case 0x text. */
export function rootOf(type: SszType, bytes: Uint8Array): string {
  const root = Buffer.alloc(chunk)
  type.root(bytes, 0, bytes.length, root, 0)
  return `0x${root.toString('hex')}`
}
