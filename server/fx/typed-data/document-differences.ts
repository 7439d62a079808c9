// Where a document that was signed differs from a quote's typed data, in the fields that reach the digest. Pure.
import type { TypedData } from '#api/wire/fx.ts'
import type { SignatureFinding } from '#api/wire/fx-extensions.ts'
import { encodeType, parseInteger, TypedDataTooLarge, type Types } from './hash-typed-data.ts'

const valueCharsMax = 400

export function findDifferences(ours: TypedData, signed: unknown): readonly SignatureFinding[] {
  const theirs = signed as Partial<TypedData> | null
  if (typeof theirs !== 'object' || theirs === null) return [{ field: 'typedData', message: 'is not an object' }]
  return [
    ...valueDifferences('domain', ours.domain, theirs.domain),
    ...typeDifferences(ours, theirs),
    ...valueDifferences('message', ours.message, theirs.message),
  ]
}

function typeDifferences(ours: TypedData, theirs: Partial<TypedData>): readonly SignatureFinding[] {
  const primary = theirs.primaryType ?? ours.primaryType
  const expected = encodeType(ours.types, ours.primaryType)
  const found = typesText(theirs.types as Types | undefined, primary)
  return found === expected
    ? []
    : [{ field: 'types', message: 'are other types', ...expectedAndFound(expected, found) }]
}

function typesText(types: Types | undefined, primary: string): string {
  try {
    return encodeType(types ?? {}, primary)
  } catch (error) {
    if (error instanceof TypedDataTooLarge) throw error
    return (error as Error).message
  }
}

function valueDifferences(path: string, ours: unknown, theirs: unknown): readonly SignatureFinding[] {
  if (typeof ours === 'object' && ours !== null) {
    const other = typeof theirs === 'object' && theirs !== null ? (theirs as Record<string, unknown>) : {}
    const names = new Set([...Object.keys(ours), ...Object.keys(other)])
    return [...names].flatMap((name) =>
      valueDifferences(`${path}.${name}`, (ours as Record<string, unknown>)[name], other[name]),
    )
  }
  if (isSame(ours, theirs)) return []
  const message = theirs === undefined ? 'is missing' : ours === undefined ? 'has no place here' : 'is another value'
  return [{ field: path, message, ...expectedAndFound(ours, theirs) }]
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

const expectedAndFound = (ours: unknown, theirs: unknown) => ({
  ...(ours !== undefined && { expected: valueText(ours) }),
  ...(theirs !== undefined && { found: valueText(theirs) }),
})

/** A stranger's list or object is only named: written out it may be of any depth, or bring its own `toString`. */
function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value).slice(0, valueCharsMax)
  return Array.isArray(value) ? 'a list' : 'an object'
}
