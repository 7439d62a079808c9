// Flat records put together: as a source states them (everything in full, empty things said to be empty), and as the
// server must answer them (spec 2.4, behaviour/markets.md#fields-without-a-value, behaviour/markets.md#references). Written apart from the server's own code on purpose: it is
// the other witness.
import { type KindName, kinds } from '#markets/records/kinds.ts'

export interface FlatRecord {
  readonly kind: KindName
  readonly id: string
  readonly fields: Record<string, unknown>
  readonly links: Record<string, string[]>
}

export type FlatRecords = ReadonlyMap<string, FlatRecord>

export const flatName = (kind: KindName, id: string): string => `${kind}/${id}`

/** As a source states it. */
export function stated(records: FlatRecords, kind: KindName, id: string): Record<string, unknown> | undefined {
  const record = records.get(flatName(kind, id))
  if (!record) return undefined
  const nested: Record<string, unknown> = { id, ...record.fields }
  for (const [name, link] of Object.entries(kinds[kind].links)) {
    const inner = (record.links[name] ?? []).map((target) => stated(records, link.to, target)).filter((one) => one)
    nested[name] = link.one ? (inner[0] ?? null) : inner
  }
  return nested
}

/** As the server must answer it. */
export function toExpectedResponse(
  records: FlatRecords,
  kind: KindName,
  id: string,
): Record<string, unknown> | undefined {
  const record = records.get(flatName(kind, id))
  if (!record) return undefined
  const response: Record<string, unknown> = { id }
  for (const [name, value] of Object.entries(record.fields)) if (!isNone(value)) response[name] = value
  for (const [name, link] of Object.entries(kinds[kind].links)) {
    const ids = record.links[name] ?? []
    const inner = ids.map((target) => toExpectedResponse(records, link.to, target)).filter((one) => one)
    // An empty list is a value; a list of records that are not there yet is left out.
    if (inner.length > 0 || (ids.length === 0 && !link.one)) response[name] = link.one ? inner[0] : inner
  }
  for (const [name, { from, title }] of Object.entries(kinds[kind].references)) {
    const through = kinds[from].shownThrough ?? ''
    const there = [...records.values()].filter((one) => one.kind === from && one.links[through]?.includes(id))
    const inOrder = there.sort((a, b) => Number(a.id) - Number(b.id))
    if (inOrder.length > 0) response[name] = inOrder.map((one) => reference(one, title))
  }
  return response
}

function reference({ id, fields }: FlatRecord, title: string): Record<string, unknown> {
  const parts = { id, slug: fields.slug, [title]: fields[title] }
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => !isNone(value)))
}

const isNone = (value: unknown): boolean => value === undefined || value === null
