// Lists the differences between the typed data that was signed and that of the quote, in the fields that affect the
// digest. Pure.
import type { TypedData } from '#api/contract/wire/fx.ts'
import type { SignatureFinding } from '#api/contract/wire/fx-signature-check.ts'
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
  return found === expected ? [] : [{ field: 'types', message: 'differ', ...expectedAndFound(expected, found) }]
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
  const message =
    theirs === undefined ? 'is missing' : ours === undefined ? 'must not be present' : 'has a different value'
  return [{ field: path, message, ...expectedAndFound(ours, theirs) }]
}

/** Compares integers by value and hexadecimal text without regard to case. */
function isSame(ours: unknown, theirs: unknown): boolean {
  const [ourInteger, theirInteger] = [parseInteger(ours), parseInteger(theirs)]
  if (ourInteger !== undefined && theirInteger !== undefined) return ourInteger === theirInteger
  if (typeof ours === 'string' && typeof theirs === 'string' && /^0x/i.test(ours)) {
    return ours.toLowerCase() === theirs.toLowerCase()
  }
  return ours === theirs
}

const expectedAndFound = (ours: unknown, theirs: unknown) => ({
  ...(ours !== undefined && { expected: valueText(ours) }),
  ...(theirs !== undefined && { found: valueText(theirs) }),
})

/** Lists and objects of the caller are not written out: they may be of any depth or have their own `toString`. */
function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value).slice(0, valueCharsMax)
  return Array.isArray(value) ? 'a list' : 'an object'
}
