// Splits a nested record of a source into single records: a market, its events, their series and so on. A rename table
// maps the source's field names to those of the contract. Pure.
//
// 1. A record inside another record is partial: it only adds to the stored record (behaviour/markets.md#partial-records).
// 2. A missing field does not change a link; null and an empty list remove it. An invalid link counts as null, and its
//    value is passed on as a field, where it is reported as drift.
// 3. Back references are derived (behaviour/markets.md#references), so they are not read. The exception are the markets of
//    a top-level event, because event feeds deliver their markets that way.
import { Text } from '#api/contract/kit.ts'
import { convertValue } from './convert-value.ts'
import { type KindName, kindNames, kinds, type LinkField } from './kinds.ts'
import type { MarketRecord } from './normalize.ts'

/** Kind, or `all` → name in the source → name in the contract. */
export type RenameTable = Readonly<Record<string, Readonly<Record<string, string>>>>

type Members = Readonly<Record<string, unknown>>

/** Inner records come before the records that contain them. */
export function decompose(value: unknown, kind: KindName, renames: Renames, location = ''): MarketRecord[] {
  const records: MarketRecord[] = []
  addRecord(value, kind, renames, records, false)
  return location === '' ? records : records.map((record) => ({ ...record, location }))
}

/** A rename table, indexed by kind. */
export class Renames {
  readonly #byKind: ReadonlyMap<KindName, ReadonlyMap<string, string>>

  constructor(table: RenameTable = {}) {
    const names = kindNames.map((kind) => {
      const entries = Object.entries({ ...table.all, ...table[kind] })
      return [kind, new Map(entries)] as const
    })
    this.#byKind = new Map(names.filter(([, map]) => map.size > 0))
  }

  /** If a source has both names, the contract's name wins. */
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

/** Adds the record and the records inside it. Returns its id; undefined if it has none. */
function addRecord(
  value: unknown,
  kind: KindName,
  renames: Renames,
  records: MarketRecord[],
  partial: boolean,
  extra: Readonly<Record<string, readonly string[]>> = {},
): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    records.push({ kind, id: '', fields: {}, problems: [{ at: [], message: 'must be an object' }] })
    return undefined
  }
  const members = renames.apply(kind, value as Members)
  const id = idOf(members.id)
  if (id === undefined) {
    const message =
      members.id === undefined || members.id === null || members.id === '' ? 'is required' : 'must be string'
    records.push({ kind, id: '', fields: { slug: members.slug }, problems: [{ at: ['id'], message }] })
    return undefined
  }
  const fields: Record<string, unknown> = {}
  const links: Record<string, readonly string[] | null> = { ...extra }
  for (const [name, member] of Object.entries(members)) {
    const link = ownMember(kinds[kind].links, name)
    const reference = ownMember(kinds[kind].references, name)
    if (member === undefined || name === '__proto__' || (reference && partial)) continue
    const ids = link && addLinked(member, link, renames, records)
    // A market inside an event links to that event, unless it lists events itself.
    if (link) links[name] = ids?.length ? ids : (extra[name] ?? ids ?? null)
    if (reference?.from === 'market' && Array.isArray(member)) {
      for (const market of member) addNestedMarket(market, id, renames, records)
    } else if (!ids) fields[name] = member
  }
  records.push({ kind, id, fields, links, partial })
  return id
}

/** A field of a source may have the name of an inherited property, such as `constructor`. */
const ownMember = <T>(members: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined

/** Ids may be numbers. */
function idOf(value: unknown): string | undefined {
  const text = convertValue(Text, value) as string | undefined
  return text === '' ? undefined : text
}

/** A market inside its event. An id or a short reference is ignored. */
function addNestedMarket(value: unknown, eventId: string, renames: Renames, records: MarketRecord[]): void {
  if (value === null || idOf(value) !== undefined) return
  if (typeof value === 'object' && Object.keys(value).length <= 3) return
  addRecord(value, 'market', renames, records, false, { events: [eventId] })
}

/** Undefined for null, and if a list was expected instead of a record or the reverse. */
function addLinked(
  member: unknown,
  { to, one }: LinkField,
  renames: Renames,
  records: MarketRecord[],
): string[] | undefined {
  const isList = Array.isArray(member)
  if (one ? isList || (typeof member !== 'object' && idOf(member) === undefined) : !isList) return undefined
  if (member === null) return undefined
  const list: readonly unknown[] = isList ? member : [member]
  return list.flatMap((value) => {
    // A plain id refers to a record that is delivered elsewhere.
    const id = value === null ? undefined : (idOf(value) ?? addRecord(value, to, renames, records, true))
    return id === undefined ? [] : [id]
  })
}
