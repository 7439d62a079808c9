// From one nested record, as sources write them, to the records it is made of: a market with its events, their series,
// and so on down. A rename table says how the source spells what the contract knows. Pure.
//
// 1. What stands inside another record is partial: it adds to what is known of it (behaviour/markets.md#partial-records).
// 2. A field that is left out says nothing about a link; null and an empty list say that there is none. A link that cannot
//    be read counts as null, and its value is handed on as a field, where it is reported as drift.
// 3. Lists that close a circle are derived here (behaviour/markets.md#references) and not read, except the markets of an event that is
//    itself on top: there they are how markets arrive.
import { Text } from '#api/kit.ts'
import { convertValue } from './convert-value.ts'
import { type KindName, kindNames, kinds } from './kinds.ts'
import type { MarketRecord } from './normalize.ts'

/** Kind, or `all` → name in the source → name here. */
export type RenameTable = Readonly<Record<string, Readonly<Record<string, string>>>>

type Members = Readonly<Record<string, unknown>>

/** What is inside comes before what it is inside of. */
export function decompose(value: unknown, kind: KindName, renames: Renames, location = ''): MarketRecord[] {
  const found: MarketRecord[] = []
  addRecord(value, kind, renames, found, false)
  return location === '' ? found : found.map((record) => ({ ...record, place: location }))
}

/** A rename table, ready to use. */
export class Renames {
  readonly #byKind: ReadonlyMap<KindName, ReadonlyMap<string, string>>

  constructor(table: RenameTable = {}) {
    const names = kindNames.map((kind) => {
      const entries = Object.entries({ ...table.all, ...table[kind] })
      return [kind, new Map(entries)] as const
    })
    this.#byKind = new Map(names.filter(([, map]) => map.size > 0))
  }

  /** The record in our spelling. Where a source has both spellings, ours wins. */
  apply(kind: KindName, members: Members): Members {
    const map = this.#byKind.get(kind)
    if (!map) return members
    const renamed: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(members)) {
      const ours = map.get(name)
      if (ours === undefined) renamed[name] ??= value
      else renamed[ours] = members[ours] ?? value ?? renamed[ours]
    }
    return renamed
  }
}

/** Adds the record and what is inside it; resolves to its id, undefined where it has none. */
function addRecord(
  value: unknown,
  kind: KindName,
  renames: Renames,
  found: MarketRecord[],
  partial: boolean,
  extra: Readonly<Record<string, readonly string[]>> = {},
): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    found.push({ kind, id: '', fields: {}, problems: [{ at: [], message: 'must be an object' }] })
    return undefined
  }
  const members = renames.apply(kind, value as Members)
  const id = idOf(members.id)
  if (id === undefined) {
    const message =
      members.id === undefined || members.id === null || members.id === '' ? 'is required' : 'must be string'
    found.push({ kind, id: '', fields: { slug: members.slug }, problems: [{ at: ['id'], message }] })
    return undefined
  }
  const fields: Record<string, unknown> = {}
  const links: Record<string, readonly string[] | null> = { ...extra }
  for (const [name, member] of Object.entries(members)) {
    const link = ownMember(kinds[kind].links, name)
    const reference = ownMember(kinds[kind].references, name)
    if (member === undefined || name === '__proto__' || (reference && partial)) continue
    const ids = link && addLinked(member, link, renames, found)
    // What a market is inside of holds unless the market itself names others.
    if (link) links[name] = ids?.length ? ids : (extra[name] ?? ids ?? null)
    if (reference?.from === 'market' && Array.isArray(member)) {
      for (const one of member) addNestedMarket(one, id, renames, found)
    } else if (!ids) fields[name] = member
  }
  found.push({ kind, id, fields, links, partial })
  return id
}

/** A source may have a field with a name that every object inherits. */
const ownMember = <T>(members: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined

/** A number is an id too. */
function idOf(value: unknown): string | undefined {
  const text = convertValue(Text, value) as string | undefined
  return text === '' ? undefined : text
}

/** A market inside its event. One that is only named there, cut to its reference or its id, says nothing new. */
function addNestedMarket(value: unknown, eventId: string, renames: Renames, found: MarketRecord[]): void {
  if (value === null || idOf(value) !== undefined) return
  if (typeof value === 'object' && Object.keys(value).length <= 3) return
  addRecord(value, 'market', renames, found, false, { events: [eventId] })
}

interface LinkTarget {
  readonly to: KindName
  readonly one?: true
}

/** Undefined for null, and for what is neither a record nor a list of records where one is due. */
function addLinked(
  member: unknown,
  { to, one }: LinkTarget,
  renames: Renames,
  found: MarketRecord[],
): string[] | undefined {
  const isList = Array.isArray(member)
  if (one ? isList || (typeof member !== 'object' && idOf(member) === undefined) : !isList) return undefined
  if (member === null) return undefined
  const list: readonly unknown[] = isList ? member : [member]
  return list.flatMap((value) => {
    // An id alone points to a record that is stated elsewhere.
    const id = value === null ? undefined : (idOf(value) ?? addRecord(value, to, renames, found, true))
    return id === undefined ? [] : [id]
  })
}
