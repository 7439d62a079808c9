// Encodes RLP, and computes the root of the Merkle-Patricia trie of a list, as headers have it for receipts and
// withdrawals. All values are hexadecimal digits without 0x: most of them come from JSON as such.
import { keccak256 } from './keccak256.ts'

export const rlpString = (hex: string): string =>
  hex.length === 2 && hex < '80' ? hex : `${rlpLength(hex.length / 2, 0x80)}${hex}`

/** A list of encoded items. */
export function rlpList(items: readonly string[]): string {
  const body = items.join('')
  return `${rlpLength(body.length / 2, 0xc0)}${body}`
}

/** A number, from a quantity such as `0x0`. */
export const rlpNumber = (quantity: string): string => rlpString(evenDigits(quantity.slice(2).replace(/^0+/, '')))

const shortMax = 55

function rlpLength(bytes: number, offset: number): string {
  if (bytes <= shortMax) return toDigits(offset + bytes)
  const length = toDigits(bytes)
  return `${toDigits(offset + shortMax + length.length / 2)}${length}`
}

const toDigits = (value: number): string => evenDigits(value.toString(16))
const evenDigits = (hex: string): string => (hex.length % 2 === 0 ? hex : `0${hex}`)

export const keccakOfHex = (hex: string): string => `0x${keccak256(Buffer.from(hex, 'hex'))}`

interface TrieEntry {
  /** Digits of the key; each is a step from the root. */
  readonly path: string
  readonly value: string
}

/** The root of the trie in which each value has its position, encoded as RLP, as its key. */
export function rootOfList(values: readonly string[]): string {
  const entries = values.map((value, at): TrieEntry => ({ path: rlpNumber(`0x${at.toString(16)}`), value }))
  return keccakOfHex(values.length === 0 ? rlpString('') : encodeNode(entries, 0))
}

/** The subtree of the entries, whose paths agree before `depth`. No path is the beginning of another one. */
function encodeNode(entries: readonly TrieEntry[], depth: number): string {
  const [first] = entries as readonly [TrieEntry]
  if (entries.length === 1) return rlpList([encodePath(first.path.slice(depth), true), rlpString(first.value)])
  const end = commonLength(entries, depth)
  if (end > depth) return rlpList([encodePath(first.path.slice(depth, end), false), referTo(encodeNode(entries, end))])
  const children = Map.groupBy(entries, ({ path }) => path[depth])
  const slots = Array.from(hexDigits, (digit) => {
    const child = children.get(digit)
    return child ? referTo(encodeNode(child, depth + 1)) : rlpString('')
  })
  return rlpList([...slots, rlpString('')])
}

const hexDigits = '0123456789abcdef'

function commonLength(entries: readonly TrieEntry[], from: number): number {
  const [first] = entries as readonly [TrieEntry]
  let end = from
  while (end < first.path.length && entries.every(({ path }) => path[end] === first.path[end])) end++
  return end
}

const encodePath = (path: string, isLeaf: boolean): string =>
  rlpString(path.length % 2 === 0 ? `${isLeaf ? '20' : '00'}${path}` : `${isLeaf ? '3' : '1'}${path}`)

const hashBytes = 32

/** A short node is part of its parent; of a long one the parent has the hash. */
const referTo = (node: string): string => (node.length / 2 < hashBytes ? node : rlpString(keccakOfHex(node).slice(2)))
