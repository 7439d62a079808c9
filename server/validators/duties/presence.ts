// Which validators have duties in a day part: sets of numbers below 32 768. Records are counted and paged with them,
// without reading figures. In memory a set is a bitmap. It is stored as the shortest of three: a list of its members, a
// list of the numbers it does not have, or the bitmap.
//
// Bytes: kind · checksum (4; CRC-32 of all that follows, with the kind as start value) · two bytes for each number of
// the list, or the bitmap. The kind is also the version of the format: another layout needs another kind.
import { strict as assert } from 'node:assert'
import { crc32 } from 'node:zlib'
import { groupOf, presenceLevel } from './layout.ts'
import { DamagedRow } from './packed-row.ts'

const bitmapBytes = presenceLevel.validators / 8
const kinds = { members: 1, allBut: 2, bitmap: 3 } as const
const headBytes = 5

export const emptySet = (): Uint8Array => new Uint8Array(bitmapBytes)

export const hasMember = (set: Uint8Array, number: number): boolean =>
  (((set[number >> 3] as number) >> (number & 7)) & 1) === 1

export function addMember(set: Uint8Array, number: number): void {
  set[number >> 3] = (set[number >> 3] as number) | (1 << (number & 7))
}

/** Adds a validator to the set of its group. */
export function addValidator(sets: Map<number, Uint8Array>, validator: number): void {
  const group = groupOf(presenceLevel, validator)
  addMember(sets.getOrInsertComputed(group, emptySet), validator - group * presenceLevel.validators)
}

/** In ascending order. */
export const membersOf = (set: Uint8Array): number[] => listOf(set, 0)

export function packSet(set: Uint8Array): Uint8Array {
  assert.equal(set.length, bitmapBytes)
  const members = membersOf(set)
  const lacking = listOf(set, 255)
  const list = members.length <= lacking.length ? members : lacking
  if (list.length * 2 >= bitmapBytes) return withHead(kinds.bitmap, set)
  return withHead(
    list === members ? kinds.members : kinds.allBut,
    Uint8Array.from(list.flatMap((number) => [number & 255, number >> 8])),
  )
}

/** The numbers whose bit differs from those of `usual`. */
function listOf(set: Uint8Array, usual: 0 | 255): number[] {
  const list: number[] = []
  for (let at = 0; at < bitmapBytes; at++) {
    if (set[at] === usual) continue
    const bits = (set[at] as number) ^ usual
    for (let bit = 0; bit < 8; bit++) if (((bits >> bit) & 1) === 1) list.push(at * 8 + bit)
  }
  return list
}

function withHead(kind: number, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(headBytes + body.length)
  bytes[0] = kind
  new DataView(bytes.buffer).setUint32(1, crc32(body, kind), true)
  bytes.set(body, headBytes)
  return bytes
}

export function unpackSet(bytes: Uint8Array): Uint8Array {
  const body = bytes.subarray(headBytes)
  const kind = bytes[0] ?? 0
  const isWhole =
    bytes.length >= headBytes &&
    new DataView(bytes.buffer, bytes.byteOffset).getUint32(1, true) === crc32(body, kind) &&
    kind >= kinds.members &&
    kind <= kinds.bitmap
  if (!isWhole) throw new DamagedRow('a row of duty_presence')
  if (kind === kinds.bitmap) return new Uint8Array(body)
  const set = emptySet().fill(kind === kinds.allBut ? 255 : 0)
  for (let at = 0; at < body.length; at += 2) {
    const number = (body[at] as number) | ((body[at + 1] as number) << 8)
    set[number >> 3] = (set[number >> 3] as number) ^ (1 << (number & 7))
  }
  return set
}

export function addSet(into: Uint8Array, set: Uint8Array): void {
  for (let at = 0; at < bitmapBytes; at++) into[at] = (into[at] as number) | (set[at] as number)
}
