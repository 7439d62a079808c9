// From a record as a source states it to the record as it is stored: values without content are left out
// (decision 0040), what the contract does not know is put aside (decision 0044), wrong types are named.
import type { Problem } from '#core/fault.ts'
import { checks, type KindName, kinds, membersOf, ownFields } from './kinds.ts'

export interface MarketRecord {
  readonly kind: KindName
  readonly id: string
  /** Own values by field; `id` need not be repeated. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Ids of other records by field, in the order they are shown. A field left out stays as it was. */
  readonly links?: Readonly<Record<string, readonly string[]>>
  /** Seen inside another record, where sources cut it short: fields left out stay as they were (decision 0046). */
  readonly partial?: boolean
  /** Where it was stated: file and line, or address and page. */
  readonly place?: string
  /** What was found wrong on the way here. */
  readonly problems?: readonly Problem[]
}

export interface Refined {
  readonly fields: Readonly<Record<string, unknown>>
  /** Own fields that were stated and have no content. */
  readonly emptied: readonly string[]
  readonly links: Readonly<Record<string, readonly string[]>>
  /** Fields unknown to the contract; undefined when there are none. */
  readonly aside: Readonly<Record<string, unknown>> | undefined
  readonly problems: readonly Problem[]
}

/** Names come out in the order of the contract, so the same content is always the same text. */
export function refine(record: MarketRecord): Refined {
  const { kind, id, links = {} } = record
  const stated: Record<string, unknown> = { ...record.fields, id }
  const fields: Record<string, unknown> = {}
  const emptied: string[] = []
  const strange: [string, unknown][] = []
  for (const name of ownFields[kind]) {
    const value = content(known(kind, name, stated[name], strange))
    if (value !== undefined) fields[name] = value
    else if (stated[name] !== undefined) emptied.push(name)
  }
  for (const [name, value] of Object.entries(stated)) {
    if (!ownFields[kind].has(name) && value !== undefined) strange.push([name, value])
  }
  const kindLinks = Object.keys(kinds[kind].links).filter((name) => links[name] !== undefined)
  return {
    fields,
    emptied,
    links: Object.fromEntries(kindLinks.map((name) => [name, [...new Set(links[name])]])),
    aside: strange.length > 0 ? Object.fromEntries(strange.sort(([a], [b]) => (a < b ? -1 : 1))) : undefined,
    problems: [...(record.problems ?? []), ...checks[kind](fields), ...strangeLinks(kind, links)],
  }
}

/** A value that is itself an object keeps the members the contract lists; the others go aside under `name.member`. */
function known(kind: KindName, name: string, value: unknown, strange: [string, unknown][]): unknown {
  const members = membersOf(kind, name)
  if (!members || typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const kept: Record<string, unknown> = {}
  for (const [member, inner] of Object.entries(value)) {
    if (members.has(member)) kept[member] = inner
    else strange.push([`${name}.${member}`, inner])
  }
  return kept
}

function strangeLinks(kind: KindName, links: Readonly<Record<string, readonly string[]>>): Problem[] {
  const known = kinds[kind].links
  return Object.entries(links).flatMap(([name, ids]) => {
    const link = known[name]
    if (!link) return [{ at: [name], says: 'is not a link of this kind' }]
    return link.one && ids.length > 1 ? [{ at: [name], says: 'must name at most one record' }] : []
  })
}

/** The value with empty members removed; undefined when nothing is left. False and 0 are values. */
function content(value: unknown): unknown {
  if (value === null || value === undefined || value === '') return undefined
  if (Array.isArray(value)) return value.length > 0 ? value : undefined
  if (typeof value !== 'object') return value
  const members = Object.entries(value).filter(([, member]) => content(member) !== undefined)
  return members.length > 0 ? Object.fromEntries(members) : undefined
}

const slugText = /^[A-Za-z0-9._~-]{1,256}$/

/** Past slugs as sources write them: JSON in a string, or words with commas between (decision 0042). */
export function pastSlugsOf(text: unknown): string[] {
  if (typeof text !== 'string') return []
  const words = text.trimStart().startsWith('[') ? jsonList(text) : text.split(',')
  return [...new Set(words.map((word) => String(word).trim()))].filter((word) => slugText.test(word))
}

function jsonList(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}
