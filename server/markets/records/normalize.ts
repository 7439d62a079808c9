// From a record as a source states it to the record as it is stored: null is left out (behaviour/markets.md#fields-without-a-value), a value of another
// type is converted or left out, and what the contract does not know is put aside (behaviour/markets.md#unknown-fields).
import type { TSchema } from '#api/kit.ts'
import type { Problem } from '#core/fault.ts'
import { convertValue } from './convert-value.ts'
import type { FieldProblem } from './drift.ts'
import { type KindName, kinds, ownFields } from './kinds.ts'

/** Ids of other records by field, in the order they are shown; null: the source says that there are none. */
type StatedLinks = Readonly<Record<string, readonly string[] | null>>

export interface MarketRecord {
  readonly kind: KindName
  readonly id: string
  /** Own values by field; `id` need not be repeated. */
  readonly fields: Readonly<Record<string, unknown>>
  /** A field left out stays as it was. */
  readonly links?: StatedLinks
  /** Seen inside another record, where sources cut it short: fields left out stay as they were (behaviour/markets.md#partial-records). */
  readonly partial?: boolean
  /** Where it was stated: file and line, or address and page. */
  readonly place?: string
  /** Why it cannot be stored, where that was found on the way here. */
  readonly problems?: readonly Problem[]
}

export interface NormalizedRecord {
  readonly fields: Readonly<Record<string, unknown>>
  /** Own fields that were stated and have no value that can be used. */
  readonly emptied: readonly string[]
  readonly links: StatedLinks
  /** What is stored beside the record and not served: unknown fields, and values that cannot be used. */
  readonly aside: Readonly<Record<string, unknown>> | undefined
  /** Values that differ from the contract. */
  readonly drift: readonly FieldProblem[]
  /** Why the record is rejected. */
  readonly problems: readonly Problem[]
}

/** Names come out in the order of the contract, so the same content is always the same text. */
export function normalizeRecord(record: MarketRecord): NormalizedRecord {
  const { kind, id, links = {} } = record
  const stated: Record<string, unknown> = { ...record.fields, id: record.fields.id ?? id }
  const fields: Record<string, unknown> = {}
  const emptied: string[] = []
  const drift: FieldProblem[] = []
  const properties = kinds[kind].schema.properties as Record<string, TSchema>
  for (const name of ownFields[kind]) {
    const value = readValue(properties[name] as TSchema, stated[name], name, drift)
    if (value !== undefined) fields[name] = value
    else if (stated[name] !== undefined) emptied.push(name)
  }
  for (const [name, value] of Object.entries(stated)) {
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
    aside: toAside(drift),
    drift,
    problems: [...(record.problems ?? []), ...missingSlug(record, fields.slug), ...invalidLinks(kind, links)],
  }
}

const isNullish = (value: unknown): boolean => value === null || value === undefined

/** The value as the contract wants it; undefined where there is none that can be used. */
function readValue(schema: TSchema, value: unknown, name: string, drift: FieldProblem[]): unknown {
  if (isNullish(value)) return undefined
  const { type, items, properties } = schema as ContainerSchema
  if (type === 'array' && items && Array.isArray(value)) {
    return value.map((item) => readValue(items, item, name, drift)).filter((item) => item !== undefined)
  }
  if (type === 'object' && properties && typeof value === 'object' && !Array.isArray(value)) {
    return readMembers(properties, value as Readonly<Record<string, unknown>>, name, drift)
  }
  const found = convertValue(schema, value)
  if (found === undefined) drift.push({ field: name, value, problem: 'left out' })
  else if (found !== value) drift.push({ field: name, value, problem: 'converted' })
  return found
}

interface ContainerSchema {
  readonly type?: string
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
}

function readMembers(
  properties: Readonly<Record<string, TSchema>>,
  value: Readonly<Record<string, unknown>>,
  name: string,
  drift: FieldProblem[],
): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const [member, schema] of Object.entries(properties)) {
    const found = readValue(schema, value[member], `${name}.${member}`, drift)
    if (found !== undefined) kept[member] = found
  }
  for (const [member, inner] of Object.entries(value)) {
    if (Object.hasOwn(properties, member) || isNullish(inner)) continue
    drift.push({ field: `${name}.${member}`, value: inner, problem: 'unknown' })
  }
  return kept
}

function toAside(drift: readonly FieldProblem[]): Record<string, unknown> | undefined {
  const kept = drift.filter(({ problem }) => problem !== 'converted')
  if (kept.length === 0) return undefined
  return Object.fromEntries(
    kept.map(({ field, value }) => [field, value] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** Nobody could ask for a market without a slug. Records of other kinds are found by id. */
function missingSlug({ kind, partial, problems = [] }: MarketRecord, slug: unknown): Problem[] {
  if (kind !== 'market' || partial || problems.length > 0 || (slug !== undefined && slug !== '')) return []
  return [{ at: ['slug'], message: 'is required' }]
}

function invalidLinks(kind: KindName, links: StatedLinks): Problem[] {
  const known = kinds[kind].links
  return Object.entries(links).flatMap(([name, ids]) => {
    const link = known[name]
    if (!link) return [{ at: [name], message: 'is not a link of this kind' }]
    return link.one && ids && ids.length > 1 ? [{ at: [name], message: 'must name at most one record' }] : []
  })
}

const slugText = /^[A-Za-z0-9._~-]{1,256}$/

/** Past slugs as sources write them: JSON in a string, or words with commas between (behaviour/markets.md#past-slugs). */
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
