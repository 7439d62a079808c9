// EIP-712: computes the digest that a wallet signs for typed data. Written here on top of a library's Keccak-256, see
// docs/decisions/hash-typed-data-without-a-client-library.md. Tests compare it with three libraries.
//
// 1. Values are as in JSON: integers as number, bigint, decimal text or 0x text; bytes as 0x text.
// 2. A value that does not fit its type is an error. It is never converted silently.
// 3. Callers send typed data of any size. Types, fields, names, depth and values have limits, and each type is hashed once
//    per digest, so that the work grows with the size of the document only.
import { keccak_256 } from '@noble/hashes/sha3.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'

export interface TypedField {
  readonly name: string
  readonly type: string
}

export type Types = Readonly<Record<string, readonly TypedField[]>>

export interface TypedDocument {
  readonly domain: Readonly<Record<string, unknown>>
  readonly types: Types
  readonly primaryType: string
  readonly message: Readonly<Record<string, unknown>>
}

const depthMax = 16
const typesMax = 16
/** All types together. */
const fieldsMax = 128
const nameCharsMax = 64
/** Structs, list items and single values of domain and message together. */
const valuesMax = 1024

/** Typed data beyond the limits. The message follows the name of the field. */
export class TypedDataTooLarge extends Error {}

/** `types` must contain EIP712Domain. */
export function hashTypedData({ domain, types, primaryType, message }: TypedDocument): Uint8Array {
  const hash = structHasher(types)
  return keccak_256(concatBytes(Uint8Array.of(0x19, 0x01), hash('EIP712Domain', domain), hash(primaryType, message)))
}

export const hashStruct = (types: Types, name: string, value: unknown): Uint8Array => structHasher(types)(name, value)

/** `Mail(Person from,…)Person(…)`: the primary type, then the types it uses, sorted by name. */
export function encodeType(types: Types, primaryType: string): string {
  checkLimits(types)
  const used = new Set([primaryType])
  // Iterating a set also visits members that are added during the iteration.
  for (const name of used) {
    if (!Object.hasOwn(types, name)) throw new Error(`type ${name} is not defined`)
    for (const { type } of types[name] ?? []) {
      const itemType = type.replace(/(\[\d*\])+$/, '')
      if (Object.hasOwn(types, itemType)) used.add(itemType)
    }
  }
  const fields = (name: string) => (types[name] ?? []).map((field) => `${field.type} ${field.name}`).join(',')
  const [, ...others] = used
  return [primaryType, ...others.sort()].map((name) => `${name}(${fields(name)})`).join('')
}

/** Undefined if the value is not an integer, or a number that may have been rounded. */
export function parseInteger(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  if (typeof value !== 'string' || !/^(-?\d{1,80}|0x[0-9a-fA-F]{1,64})$/.test(value)) return undefined
  return BigInt(value)
}

function checkLimits(types: Types): void {
  const defined = Object.entries(types)
  if (defined.length > typesMax) throw new TypedDataTooLarge(`must have at most ${typesMax} types`)
  const fields = defined.flatMap(([, list]) => list)
  if (fields.length > fieldsMax) throw new TypedDataTooLarge(`must have at most ${fieldsMax} fields in its types`)
  const names = [...defined.map(([name]) => name), ...fields.flatMap(({ name, type }) => [name, type])]
  if (names.some((name) => name.length > nameCharsMax)) {
    throw new TypedDataTooLarge(`must have names and types of at most ${nameCharsMax} characters`)
  }
}

/** `hashStruct` of EIP-712. All structs that one hasher hashes share the limits and the type hashes. */
function structHasher(types: Types): (name: string, value: unknown) => Uint8Array {
  checkLimits(types)
  const typeHashes = new Map<string, Uint8Array>()
  let values = 0

  function hash(name: string, value: unknown, depth: number): Uint8Array {
    if (typeof value !== 'object' || value === null) throw new Error(`${name} is not an object`)
    const typeHash = typeHashes.getOrInsertComputed(name, () => keccak_256(utf8ToBytes(encodeType(types, name))))
    const members = (types[name] ?? []).map((field) =>
      encode(field.type, (value as Record<string, unknown>)[field.name], depth),
    )
    return keccak_256(concatBytes(typeHash, ...members))
  }

  function encode(type: string, value: unknown, depth: number): Uint8Array {
    if (++values > valuesMax) throw new TypedDataTooLarge(`must have at most ${valuesMax} values`)
    if (depth > depthMax) throw new TypedDataTooLarge(`must not be nested too deep: ${depthMax} levels at most`)
    const [, itemType, length] = /^(.*)\[(\d*)\]$/.exec(type) ?? []
    if (itemType === undefined) {
      return Object.hasOwn(types, type) ? hash(type, value, depth + 1) : encodeAtom(type, value)
    }
    if (!Array.isArray(value)) throw new Error(`${type} is not a list`)
    if (length !== '' && value.length !== Number(length)) throw new Error(`${type} has ${value.length} items`)
    return keccak_256(concatBytes(...value.map((item) => encode(itemType, item, depth + 1))))
  }

  return (name, value) => hash(name, value, 0)
}

function encodeAtom(type: string, value: unknown): Uint8Array {
  if (type === 'string' && typeof value === 'string') return keccak_256(utf8ToBytes(value))
  if (type === 'bool' && typeof value === 'boolean') return word(value ? '1' : '0')
  if (/^u?int\d+$/.test(type)) return encodeInteger(type, value)
  if (typeof value === 'string' && /^0x([0-9a-fA-F]{2})*$/.test(value)) {
    const size = value.length / 2 - 1
    if (type === 'bytes') return keccak_256(Uint8Array.fromHex(value.slice(2)))
    if (type === 'address' && size === 20) return word(value.slice(2))
    if (type === `bytes${size}` && size >= 1 && size <= 32) return Uint8Array.fromHex(value.slice(2).padEnd(64, '0'))
  }
  throw new Error(`not a value of type ${type.slice(0, nameCharsMax)}`)
}

function encodeInteger(type: string, value: unknown): Uint8Array {
  const [, unsigned, bits = 0] = /^(u?)int([1-9]\d*)$/.exec(type) ?? []
  const width = Number(bits)
  if (width === 0 || width % 8 !== 0 || width > 256) throw new Error(`${type} is not a type`)
  const integer = parseInteger(value)
  const max = 1n << BigInt(unsigned ? width : width - 1)
  if (integer === undefined || integer >= max || integer < (unsigned ? 0n : -max)) {
    throw new Error(`not a value of type ${type}`)
  }
  return word(BigInt.asUintN(256, integer).toString(16))
}

const word = (hex: string): Uint8Array => Uint8Array.fromHex(hex.padStart(64, '0'))
