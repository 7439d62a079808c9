// EIP-712: from typed data to the 32 bytes that are signed. Our own, so that the server can say what a signature is over
// without trusting the library that made it; tests hold it against three of those.
//
// 1. Values are taken as a JSON document writes them: integers as number, bigint, decimal or 0x text; bytes as 0x text.
// 2. Anything that is not a value of its type is an error with the path to it, never silently another value.
// 3. Documents come from strangers: names, types, fields, depth and values are bounded, and the hash of a type is made once
//    a digest, so that the work is about as long as the document.
import { keccak256 } from './keccak.ts'

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
/** Of all types together. */
const fieldsMax = 128
const nameCharsMax = 64
/** Structs, items of lists and single values, of domain and message together. */
const valuesMax = 1024
const utf8 = new TextEncoder()

/** The document is of a size that nobody signs; the message goes behind its name. */
export class TooLarge extends Error {}

/** What one digest is made with. */
interface Work {
  readonly types: Types
  readonly typeHashes: Map<string, Uint8Array>
  values: number
}

function workOn(types: Types): Work {
  checkSize(types)
  return { types, typeHashes: new Map(), values: 0 }
}

function checkSize(types: Types): void {
  const described = Object.entries(types)
  if (described.length > typesMax) throw new TooLarge(`must have at most ${typesMax} types`)
  const fields = described.flatMap(([, list]) => list)
  if (fields.length > fieldsMax) throw new TooLarge(`must have at most ${fieldsMax} fields in its types`)
  const names = [...described.map(([name]) => name), ...fields.flatMap(({ name, type }) => [name, type])]
  if (names.some((name) => name.length > nameCharsMax)) {
    throw new TooLarge(`must have names and types of at most ${nameCharsMax} characters`)
  }
}

/** The digest; `types` must hold EIP712Domain. */
export function typedDigest({ domain, types, primaryType, message }: TypedDocument): Uint8Array {
  const work = workOn(types)
  const domainHash = hashed(work, 'EIP712Domain', domain, 'EIP712Domain', 0)
  const messageHash = hashed(work, primaryType, message, primaryType, 0)
  return keccak256(join([Uint8Array.of(0x19, 0x01), domainHash, messageHash]))
}

/** `Mail(Person from,…)Person(…)`: the primary type, then the others it reaches, by name. */
export function typeString(types: Types, primary: string): string {
  checkSize(types)
  const [first, ...others] = reached(types, primary)
  return [first, ...others.sort()].map((name) => `${name}(${fieldsOf(types, name ?? '')})`).join('')
}

export const structHash = (types: Types, name: string, value: unknown): Uint8Array =>
  hashed(workOn(types), name, value, name, 0)

function hashed(work: Work, name: string, value: unknown, path: string, depth: number): Uint8Array {
  if (typeof value !== 'object' || value === null) throw new Error(`${path} is not an object`)
  const words = (work.types[name] ?? []).map((field) => {
    const member = (value as Record<string, unknown>)[field.name]
    return encoded(work, field.type, member, `${path}.${field.name}`, depth)
  })
  return keccak256(join([typeHash(work, name), ...words]))
}

function typeHash({ types, typeHashes }: Work, name: string): Uint8Array {
  const known = typeHashes.get(name)
  if (known) return known
  const hash = keccak256(utf8.encode(typeString(types, name)))
  typeHashes.set(name, hash)
  return hash
}

const fieldsOf = (types: Types, name: string): string =>
  (types[name] ?? []).map((field) => `${field.type} ${field.name}`).join(',')

function reached(types: Types, name: string, found: string[] = []): string[] {
  if (found.includes(name)) return found
  if (!Object.hasOwn(types, name)) throw new Error(`the type ${name} is not described`)
  found.push(name)
  for (const { type } of types[name] ?? []) {
    const inner = type.replace(/(\[\d*\])+$/, '')
    if (Object.hasOwn(types, inner)) reached(types, inner, found)
  }
  return found
}

function encoded(work: Work, type: string, value: unknown, path: string, depth: number): Uint8Array {
  if (++work.values > valuesMax) throw new TooLarge(`must have at most ${valuesMax} values`)
  if (depth > depthMax) throw new TooLarge(`must not be nested too deep: ${depthMax} levels at most`)
  const [, inner, items = ''] = /^(.*)\[(\d*)\]$/.exec(type) ?? []
  if (inner !== undefined) {
    if (!Array.isArray(value)) throw new Error(`${path} is not a list`)
    if (items !== '' && value.length !== Number(items)) throw new Error(`${path} does not have ${items} items`)
    return keccak256(join(value.map((item, at) => encoded(work, inner, item, `${path}.${at}`, depth + 1))))
  }
  if (Object.hasOwn(work.types, type)) return hashed(work, type, value, path, depth + 1)
  if (type === 'string') return keccak256(utf8.encode(textOf(value, path)))
  if (type === 'bytes') return keccak256(bytesOf(value, path))
  if (type === 'bool') {
    if (typeof value !== 'boolean') throw new Error(`${path} is not true or false`)
    return wordOf(value ? 1n : 0n)
  }
  if (type === 'address') {
    const bytes = bytesOf(value, path)
    if (bytes.length !== 20) throw new Error(`${path} is not an address`)
    return join([new Uint8Array(12), bytes])
  }
  const [, signed, bits] = /^(u?)int([1-9]\d{0,2})$/.exec(type) ?? []
  if (isWidth(bits)) return integer(value, Number(bits), signed === '', path)
  const [, size] = /^bytes([1-9]\d?)$/.exec(type) ?? []
  if (size === undefined || Number(size) > 32) throw new Error(`${path} has the unknown type ${type.slice(0, 40)}`)
  const bytes = bytesOf(value, path)
  if (bytes.length !== Number(size)) throw new Error(`${path} does not have ${size} bytes`)
  return join([bytes, new Uint8Array(32 - bytes.length)])
}

const isWidth = (bits: string | undefined): bits is string =>
  bits !== undefined && Number(bits) % 8 === 0 && Number(bits) <= 256

function integer(value: unknown, bits: number, signed: boolean, path: string): Uint8Array {
  const read = integerOf(value)
  if (read === undefined) throw new Error(`${path} is not an integer`)
  const max = 1n << BigInt(signed ? bits - 1 : bits)
  if (read >= max || read < (signed ? -max : 0n)) throw new Error(`${path} does not fit ${bits} bits`)
  return wordOf(BigInt.asUintN(256, read))
}

/** Undefined for what is no whole number, and for a number that may have been rounded. */
export function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  if (typeof value !== 'string' || !/^(-?\d{1,80}|0x[0-9a-fA-F]{1,64})$/.test(value)) return undefined
  return BigInt(value)
}

function textOf(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new Error(`${path} is not a text`)
  return value
}

function bytesOf(value: unknown, path: string): Uint8Array {
  if (typeof value !== 'string' || !/^0x([0-9a-fA-F]{2})*$/.test(value)) throw new Error(`${path} is not 0x bytes`)
  return Uint8Array.fromHex(value.slice(2))
}

const wordOf = (value: bigint): Uint8Array => Uint8Array.fromHex(value.toString(16).padStart(64, '0'))

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
