// Where a document that was signed differs from a quote's typed data, in the fields that reach the digest. Pure.
import type { TypedData } from '#api/wire/fx.ts'
import type { SignatureFinding } from '#api/wire/fx-desk.ts'
import { encodeType, parseInteger, TypedDataTooLarge, type Types } from './hash-typed-data.ts'

const valueCharsMax = 400

export function differences(ours: TypedData, signed: unknown): readonly SignatureFinding[] {
  const theirs = signed as Partial<TypedData> | null
  if (typeof theirs !== 'object' || theirs === null) return [{ field: 'typedData', says: 'is not an object' }]
  return [
    ...values('domain', ours.domain, theirs.domain),
    ...typeDifferences(ours, theirs),
    ...values('message', ours.message, theirs.message),
  ]
}

function typeDifferences(ours: TypedData, theirs: Partial<TypedData>): readonly SignatureFinding[] {
  const primary = theirs.primaryType ?? ours.primaryType
  const expected = encodeType(ours.types, ours.primaryType)
  const found = textOfTypes(theirs.types as Types | undefined, primary)
  return found === expected ? [] : [{ field: 'types', says: 'are other types', ...shown(expected, found) }]
}

function textOfTypes(types: Types | undefined, primary: string): string {
  try {
    return encodeType(types ?? {}, primary)
  } catch (error) {
    if (error instanceof TypedDataTooLarge) throw error
    return (error as Error).message
  }
}

function values(path: string, ours: unknown, theirs: unknown): readonly SignatureFinding[] {
  if (typeof ours === 'object' && ours !== null) {
    const other = typeof theirs === 'object' && theirs !== null ? (theirs as Record<string, unknown>) : {}
    const names = new Set([...Object.keys(ours), ...Object.keys(other)])
    return [...names].flatMap((name) => values(`${path}.${name}`, (ours as Record<string, unknown>)[name], other[name]))
  }
  if (isSame(ours, theirs)) return []
  const says = theirs === undefined ? 'is missing' : ours === undefined ? 'has no place here' : 'is another value'
  return [{ field: path, says, ...shown(ours, theirs) }]
}

/** Integers by value, however they are written; hexadecimal in any case. */
function isSame(ours: unknown, theirs: unknown): boolean {
  const [one, other] = [parseInteger(ours), parseInteger(theirs)]
  if (one !== undefined && other !== undefined) return one === other
  if (typeof ours === 'string' && typeof theirs === 'string' && /^0x/i.test(ours)) {
    return ours.toLowerCase() === theirs.toLowerCase()
  }
  return ours === theirs
}

const shown = (ours: unknown, theirs: unknown) => ({
  ...(ours !== undefined && { expected: textOf(ours) }),
  ...(theirs !== undefined && { found: textOf(theirs) }),
})

/** A stranger's list or object is only named: written out it may be of any depth, or bring its own `toString`. */
function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value).slice(0, valueCharsMax)
  return Array.isArray(value) ? 'a list' : 'an object'
}
