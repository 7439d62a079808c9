// Converts a record from the form of the source to the stored form. Nulls are removed
// (behaviour/markets.md#fields-without-a-value), values of a wrong type are converted or removed, and unknown fields are
// stored separately (behaviour/markets.md#unknown-fields).
import type { TSchema } from '#api/contract/kit.ts'
import type { Problem } from '#core/fault.ts'
import { convertValue, type ValueSchema } from './convert-value.ts'
import { type KindName, kinds, ownFields } from './kinds.ts'

/** Ids of other records by field, in the order of the response; null: the source has none. */
type RecordLinks = Readonly<Record<string, readonly string[] | null>>

export interface MarketRecord {
  readonly kind: KindName
  readonly id: string
  /** Own values by field; `id` is optional. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Missing fields stay unchanged. */
  readonly links?: RecordLinks
  /** Part of another record: missing fields stay unchanged (behaviour/markets.md#partial-records). */
  readonly partial?: boolean
  /** File and line, or URL and page. */
  readonly location?: string
  /** Why it cannot be stored. */
  readonly problems?: readonly Problem[]
}

export interface NormalizedRecord {
  readonly fields: Readonly<Record<string, unknown>>
  /** Own fields that are present without a usable value. */
  readonly emptied: readonly string[]
  readonly links: RecordLinks
  /** Unknown fields and unusable values; stored, but not served. */
  readonly extraFields: Readonly<Record<string, unknown>> | undefined
  /** Values that differ from the contract. */
  readonly drift: readonly FieldProblem[]
  /** Why the record is rejected. */
  readonly problems: readonly Problem[]
}

/** Some own fields, in the order of the names. */
export function normalizeFields(kind: KindName, names: Iterable<string>, given: MarketRecord['fields']) {
  const fields: Record<string, unknown> = {}
  const emptied: string[] = []
  const drift: FieldProblem[] = []
  const properties = kinds[kind].schema.properties as Record<string, TSchema>
  for (const name of names) {
    const value = readValue(properties[name] as TSchema, given[name], name, drift)
    if (value !== undefined) fields[name] = value
    else if (given[name] !== undefined) emptied.push(name)
  }
  return { fields, emptied, drift }
}

/** Fields are in the order of the contract, so the same content gives the same text. */
export function normalizeRecord(record: MarketRecord): NormalizedRecord {
  const { kind, id, links = {} } = record
  const given: Record<string, unknown> = { ...record.fields, id: record.fields.id ?? id }
  const { fields, emptied, drift } = normalizeFields(kind, ownFields[kind], given)
  const { properties } = kinds[kind].schema
  for (const [name, value] of Object.entries(given)) {
    if (ownFields[kind].has(name) || isNullish(value)) continue
    drift.push({ field: name, value, problem: Object.hasOwn(properties, name) ? 'left out' : 'unknown' })
  }
  const kindLinks = Object.keys(kinds[kind].links).flatMap((name) => {
    const ids = links[name]
    return ids === undefined ? [] : [[name, ids && [...new Set(ids)]] as const]
  })
  return {
    fields,
    emptied,
    links: Object.fromEntries(kindLinks),
    extraFields: toExtraFields(drift),
    drift,
    problems: [...(record.problems ?? []), ...missingSlug(record, fields.slug), ...invalidLinks(kind, links)],
  }
}

const isNullish = (value: unknown): boolean => value === null || value === undefined

/** The value in the type of the contract; undefined if it cannot be used. */
function readValue(schema: TSchema, value: unknown, name: string, drift: FieldProblem[]): unknown {
  if (isNullish(value)) return undefined
  const { type, items, properties } = schema as ValueSchema
  if (type === 'array' && items && Array.isArray(value)) {
    return value.map((item) => readValue(items, item, name, drift)).filter((item) => item !== undefined)
  }
  if (type === 'object' && properties && typeof value === 'object' && !Array.isArray(value)) {
    return readMembers(properties, value as Readonly<Record<string, unknown>>, name, drift)
  }
  const converted = convertValue(schema, value)
  if (converted === undefined) drift.push({ field: name, value, problem: 'left out' })
  else if (converted !== value) drift.push({ field: name, value, problem: 'converted' })
  return converted
}

function readMembers(
  properties: Readonly<Record<string, TSchema>>,
  value: Readonly<Record<string, unknown>>,
  name: string,
  drift: FieldProblem[],
): Record<string, unknown> {
  const members: Record<string, unknown> = {}
  for (const [member, schema] of Object.entries(properties)) {
    const converted = readValue(schema, value[member], `${name}.${member}`, drift)
    if (converted !== undefined) members[member] = converted
  }
  for (const [member, inner] of Object.entries(value)) {
    if (Object.hasOwn(properties, member) || isNullish(inner)) continue
    drift.push({ field: `${name}.${member}`, value: inner, problem: 'unknown' })
  }
  return members
}

function toExtraFields(drift: readonly FieldProblem[]): Record<string, unknown> | undefined {
  const unserved = drift.filter(({ problem }) => problem !== 'converted')
  if (unserved.length === 0) return undefined
  return Object.fromEntries(
    unserved.map(({ field, value }) => [field, value] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** A market without a slug could not be requested. Other kinds are found by id. */
function missingSlug({ kind, partial, problems = [] }: MarketRecord, slug: unknown): Problem[] {
  if (kind !== 'market' || partial || problems.length > 0 || (slug !== undefined && slug !== '')) return []
  return [{ at: ['slug'], message: 'is required' }]
}

function invalidLinks(kind: KindName, links: RecordLinks): Problem[] {
  const linksOfKind = kinds[kind].links
  return Object.entries(links).flatMap(([name, ids]) => {
    const link = linksOfKind[name]
    if (!link) return [{ at: [name], message: 'is not a link of this kind' }]
    return link.one && ids && ids.length > 1 ? [{ at: [name], message: 'must name at most one record' }] : []
  })
}

const slugText = /^[A-Za-z0-9._~-]{1,256}$/

/** Sources write past slugs as a JSON list in a string, or separated by commas (behaviour/markets.md#past-slugs). */
export function parsePastSlugs(text: unknown): string[] {
  if (typeof text !== 'string') return []
  const values = text.trimStart().startsWith('[') ? parseJsonList(text) : text.split(',')
  const slugs = values.filter((value) => !isNullish(value)).map((value) => String(value).trim())
  return [...new Set(slugs)].filter((value) => slugText.test(value))
}

function parseJsonList(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

/** `unknown`: not in the contract. `converted`: served in the contract's type. `left out`: cannot be used, not served. */
export type DriftProblem = 'unknown' | 'converted' | 'left out'

/** A value that differs from the contract; `field` is `name.member` inside an object. */
export interface FieldProblem {
  readonly field: string
  readonly value: unknown
  readonly problem: DriftProblem
}
