// Encodes RLP, and computes the root of the Merkle-Patricia trie of a list, as headers have it for receipts and
// withdrawals. Texts are hexadecimal digits with 0x, as JSON has them.
import { keccak256 } from './keccak256.ts'

/** A text of bytes, or a list. `bytes`: one that is encoded already, without its length. */
export type RlpItem = string | Uint8Array | readonly RlpItem[]

/** A text has an odd number of digits, or one that is not hexadecimal. */
export class MalformedHex extends Error {}

export function encodeRlp(item: RlpItem): Buffer {
  const bytes = Buffer.allocUnsafe(encodedSize(item))
  writeItem(bytes, item, 0)
  return bytes
}

/** The bytes of a number, from a quantity such as `0x0`. */
export function numberBytes(quantity: string): string {
  const digits = quantity.slice(2).replace(/^0+/, '')
  return digits.length % 2 === 0 ? `0x${digits}` : `0x0${digits}`
}

const shortMax = 55
const stringOffset = 0x80
const listOffset = 0xc0

/** Of what precedes the bytes of a text or the items of a list. */
export const prefixSize = (size: number): number => (size <= shortMax ? 1 : 1 + byteCount(size))

function writePrefix(bytes: Uint8Array, at: number, size: number, offset: number): number {
  if (size <= shortMax) {
    bytes[at] = offset + size
    return at + 1
  }
  bytes[at] = offset + shortMax + byteCount(size)
  return writeBytes(bytes, at + 1, size)
}

/** Returns the position after the prefix. */
export const writeStringPrefix = (bytes: Uint8Array, at: number, size: number): number =>
  writePrefix(bytes, at, size, stringOffset)

/** Returns the position after the prefix. */
export const writeListPrefix = (bytes: Uint8Array, at: number, size: number): number =>
  writePrefix(bytes, at, size, listOffset)

type Bytes = Uint8Array | number[]

export const numberSize = (value: number): number => (value < stringOffset ? 1 : 1 + byteCount(value))

/** Returns the position after the number. */
export function writeNumber(bytes: Bytes, at: number, value: number): number {
  if (value < stringOffset) {
    bytes[at] = value === 0 ? stringOffset : value
    return at + 1
  }
  bytes[at] = stringOffset + byteCount(value)
  return writeBytes(bytes, at + 1, value)
}

/** Most significant byte first. */
function writeBytes(bytes: Bytes, at: number, value: number): number {
  const end = at + byteCount(value)
  for (let left = value, digit = end - 1; digit >= at; digit--, left = Math.floor(left / 0x100))
    bytes[digit] = left % 0x100
  return end
}

function byteCount(value: number): number {
  let count = 1
  for (let left = value; left >= 0x100; left /= 0x100) count += 1
  return count
}

function sizeOf(item: string | Uint8Array): number {
  if (typeof item !== 'string') return item.length
  if (item.length % 2 === 1) throw new MalformedHex()
  return item.length / 2 - 1
}

/** A byte below 0x80 is its own encoding. */
const isOwnEncoding = (text: string | Uint8Array): boolean =>
  typeof text === 'string'
    ? text.length === 4 && (text[2] as string) < '8'
    : text.length === 1 && (text[0] as number) < stringOffset

function encodedSize(item: RlpItem): number {
  if (typeof item !== 'string' && !(item instanceof Uint8Array)) {
    const size = itemsSize(item)
    return prefixSize(size) + size
  }
  const size = sizeOf(item)
  return isOwnEncoding(item) ? 1 : prefixSize(size) + size
}

function itemsSize(items: readonly RlpItem[]): number {
  let size = 0
  for (const item of items) size += encodedSize(item)
  return size
}

function writeItem(bytes: Buffer, item: RlpItem, from: number): number {
  if (typeof item !== 'string' && !(item instanceof Uint8Array)) {
    let at = writePrefix(bytes, from, itemsSize(item), listOffset)
    for (const inner of item) at = writeItem(bytes, inner, at)
    return at
  }
  const size = sizeOf(item)
  const at = isOwnEncoding(item) ? from : writePrefix(bytes, from, size, stringOffset)
  if (typeof item !== 'string') bytes.set(item, at)
  // Stops at the first digit that is not hexadecimal.
  else if (bytes.write(item.slice(2), at, size, 'hex') !== size) throw new MalformedHex()
  return at + size
}

export const hashOfRlp = (item: RlpItem): string => `0x${keccak256(encodeRlp(item))}`

/** The root of the trie in which each value has its position, encoded as RLP, as its key. */
export function rootOfList(values: readonly Uint8Array[]): string {
  if (values.length === 0) return hashOfRlp('0x')
  // In the order of the keys: position 0 has the key 0x80, between those of 127 and of 128.
  const entries = values.map((value, at): TrieEntry => ({ path: digitsOfKey(at), value }))
  const [first] = entries.splice(0, 1) as [TrieEntry]
  entries.splice(stringOffset - 1, 0, first)
  return hashOfRlp(nodeOf(entries, 0, entries.length, 0))
}

interface TrieEntry {
  /** Digits of the key; each is a step from the root. No path is the beginning of another one. */
  readonly path: readonly number[]
  readonly value: Uint8Array
}

function digitsOfKey(position: number): readonly number[] {
  const key = [0, 0, 0, 0, 0]
  key.length = writeNumber(key, 0, position)
  return key.flatMap((byte) => [byte >> 4, byte & 15])
}

/** The subtree of the entries in [from, until), whose paths agree before `depth`. */
function nodeOf(entries: readonly TrieEntry[], from: number, until: number, depth: number): RlpItem[] {
  const { path, value } = entries[from] as TrieEntry
  if (until - from === 1) return [encodePath(path, depth, path.length, true), value]
  const last = (entries[until - 1] as TrieEntry).path
  let end = depth
  // The entries are in order, so what the first and the last one share is shared by all.
  while (path[end] === last[end]) end++
  if (end > depth) return [encodePath(path, depth, end, false), referTo(nodeOf(entries, from, until, end))]
  const node: RlpItem[] = Array.from({ length: 17 }, () => '0x')
  for (let at = from; at < until; ) {
    const digit = entries[at]?.path[depth] as number
    const start = at
    while (at < until && entries[at]?.path[depth] === digit) at++
    node[digit] = referTo(nodeOf(entries, start, at, depth + 1))
  }
  return node
}

/** The digits of a path in [from, until). The first byte has a flag for a leaf, and the first digit of an odd number. */
function encodePath(path: readonly number[], from: number, until: number, isLeaf: boolean): Uint8Array {
  const isOdd = (until - from) % 2 === 1
  const bytes = new Uint8Array(1 + ((until - from) >> 1))
  bytes[0] = (isLeaf ? 0x20 : 0) + (isOdd ? 0x10 + (path[from] as number) : 0)
  for (let at = 1, digit = isOdd ? from + 1 : from; at < bytes.length; at++, digit += 2)
    bytes[at] = 16 * (path[digit] as number) + (path[digit + 1] as number)
  return bytes
}

const hashBytes = 32

/** A short node is part of its parent; of a long one the parent has the hash. */
function referTo(node: RlpItem[]): RlpItem {
  const encoded = encodeRlp(node)
  return encoded.length < hashBytes ? node : `0x${keccak256(encoded)}`
}
