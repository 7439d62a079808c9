// Nests flat market records as the server must return them (spec 2.4, behaviour/markets.md#references). Does not use the
// server's code, so that tests have an independent reference.
import { type KindName, kinds } from '#markets/records/kinds.ts'
import { type FlatRecord, type FlatRecords, flatName } from '#simulator/markets/nested-records.ts'

/** The record as the server must return it. */
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
    const inner = ids.map((target) => toExpectedResponse(records, link.to, target)).filter(Boolean)
    // An empty list is a value; a list of missing records is omitted (behaviour/markets.md#fields-without-a-value).
    if (inner.length > 0 || (ids.length === 0 && !link.one)) response[name] = link.one ? inner[0] : inner
  }
  for (const [name, { from, title }] of Object.entries(kinds[kind].references)) {
    const through = kinds[from].shownThrough ?? ''
    const referring = [...records.values()].filter((other) => other.kind === from && other.links[through]?.includes(id))
    const inOrder = referring.sort((a, b) => Number(a.id) - Number(b.id))
    if (inOrder.length > 0) response[name] = inOrder.map((other) => reference(other, title))
  }
  return response
}

function reference({ id, fields }: FlatRecord, title: string): Record<string, unknown> {
  const parts = { id, slug: fields.slug, [title]: fields[title] }
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => !isNone(value)))
}

const isNone = (value: unknown): boolean => value === undefined || value === null
