// Descriptions of SSZ types. One description computes the root of a value from its SSZ bytes and converts JSON to SSZ.
//
// 1. Roots are computed without copying or decoding. Offsets and lengths are checked, so that invalid bytes are an
//    error.
// 2. The limit of a list sets the depth of its tree. Limits come from the node's preset. A list with the limit
//    `progressive` has a tree that grows with the list; its bytes are those of any other list.
import { InvalidResponseError, readBytes, readFields, readList } from './json.ts'
import { bufferFor, chunk, merkleize, mixIn, mixInLength, packed, progressive } from './merkle.ts'
import { SszError } from './ssz.ts'

export interface SszType {
  /** Bytes; undefined: variable length. */
  readonly size: number | undefined
  /** Writes the root of the value in bytes `from` to `until` to `output` at `to`. */
  root(bytes: Uint8Array, from: number, until: number, output: Uint8Array, to: number): void
  /** SSZ bytes of a value in the JSON of the Beacon API. `name` is for error messages. */
  fromJson(value: unknown, name: string): Uint8Array
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

/** One byte; in JSON true or false. */
export const booleanType: SszType = {
  ...bytesType(1),
  fromJson(value, name) {
    if (typeof value !== 'boolean') throw new InvalidResponseError(`${name} is not a boolean`)
    return Uint8Array.of(value ? 1 : 0)
  },
}

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
      const starts = of.size === undefined ? offsetsOf(bytes, from, until) : startsOfElements(of.size, from, until)
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
function startsOfElements(size: number, from: number, until: number): number[] {
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
export const containerType = <F extends SszFields>(fields: F): SszType & { readonly fields: F } => ({
  ...typeOfFields(fields, Object.keys(fields).length),
  fields,
})

/** Bits of the fields that a progressive container has. All containers of the present forks have all their fields. */
const activeFields = (count: number): Uint8Array => {
  const bits = new Uint8Array(chunk)
  for (let field = 0; field < count; field++) bits[field >> 3] = (bits[field >> 3] as number) | (1 << (field & 7))
  return bits
}

/** A container whose tree keeps its shape when fields are appended (EIP-7495). */
export function progressiveContainerType(fields: SszFields): SszType {
  const type = typeOfFields(fields, progressive)
  const active = activeFields(Object.keys(fields).length)
  return {
    ...type,
    root(bytes, from, until, output, to) {
      type.root(bytes, from, until, output, to)
      mixIn(active, output, to)
    },
  }
}

function typeOfFields(fields: SszFields, limit: number): SszType {
  const types = Object.entries(fields)
  const isFixed = types.every(([, { size }]) => size !== undefined)
  const head = types.reduce((sum, [, { size }]) => sum + (size ?? 4), 0)
  return {
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
      merkleize(roots, types.length, limit, output, to)
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
