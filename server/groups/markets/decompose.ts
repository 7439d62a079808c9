// From one nested record, as sources write them, to the records it is made of: a market with its events, their series,
// and so on down. A rename table says how the source spells what the contract knows. Pure.
//
// 1. What stands inside another record is partial: it adds to what is known of it (decision 0046).
// 2. A field that is left out says nothing about a link; null or an empty list says that there is none.
// 3. Lists that close a circle are derived here (decision 0041) and not read, except the markets of an event that is
//    itself on top: there they are how markets arrive.
import type { Problem } from '#core/fault.ts'
import { type KindName, kindNames, kinds } from './kinds.ts'
import type { MarketRecord } from './refine.ts'

/** Kind, or `all` → name in the source → name here. */
export type RenameTable = Readonly<Record<string, Readonly<Record<string, string>>>>

type Members = Readonly<Record<string, unknown>>

/** What is inside comes before what it is inside of. */
export function decompose(value: unknown, kind: KindName, renames: Renames, place = ''): MarketRecord[] {
  const found: MarketRecord[] = []
  take(value, kind, renames, found, false)
  return place === '' ? found : found.map((record) => ({ ...record, place }))
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
      if (ours === undefined) renamed[name] = value
      else if (members[ours] === undefined) renamed[ours] = value
    }
    return renamed
  }
}

/** Adds the record and what is inside it; resolves to its id, undefined where it has none. */
function take(
  value: unknown,
  kind: KindName,
  renames: Renames,
  found: MarketRecord[],
  partial: boolean,
  extra: Readonly<Record<string, readonly string[]>> = {},
): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    found.push({ kind, id: '', fields: {}, problems: [{ at: [], says: 'must be an object' }] })
    return undefined
  }
  const members = renames.apply(kind, value as Members)
  const { id } = members
  if (typeof id !== 'string' || id === '') {
    const says = id === undefined || id === null || id === '' ? 'is required' : 'must be string'
    found.push({ kind, id: '', fields: {}, problems: [{ at: ['id'], says }] })
    return undefined
  }
  const fields: Record<string, unknown> = {}
  const links: Record<string, readonly string[]> = { ...extra }
  const problems: Problem[] = []
  for (const [name, member] of Object.entries(members)) {
    const link = kinds[kind].links[name]
    const reference = kinds[kind].references[name]
    if (link) {
      const ids = idsIn(member, name, link, renames, found, problems)
      if (ids) links[name] = ids
    } else if (reference) {
      if (!partial && reference.from === 'market' && Array.isArray(member)) {
        for (const one of member) takeBelow(one, id, renames, found)
      }
    } else fields[name] = member
  }
  found.push({ kind, id, fields, links, partial, ...(problems.length > 0 && { problems }) })
  return id
}

/** A market inside its event. One that is only named there, cut to its reference, says nothing new. */
function takeBelow(value: unknown, eventId: string, renames: Renames, found: MarketRecord[]): void {
  const size = typeof value === 'object' && value !== null ? Object.keys(value).length : 0
  if (size > 3) take(value, 'market', renames, found, false, { events: [eventId] })
}

function idsIn(
  member: unknown,
  name: string,
  link: { readonly to: KindName; readonly one?: true },
  renames: Renames,
  found: MarketRecord[],
  problems: Problem[],
): string[] | undefined {
  if (member === undefined) return undefined
  if (member === null) return []
  const list: readonly unknown[] | undefined = link.one ? [member] : Array.isArray(member) ? member : undefined
  if (!list) {
    problems.push({ at: [name], says: 'must be a list of records' })
    return undefined
  }
  return list.flatMap((one) => {
    // An id alone points to a record that is stated elsewhere.
    if (typeof one === 'string' && one !== '') return [one]
    const id = take(one, link.to, renames, found, true)
    return id === undefined ? [] : [id]
  })
}
