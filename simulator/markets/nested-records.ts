// Nests flat records as a source delivers them.
import { type KindName, kinds } from '#markets/records/kinds.ts'

export interface FlatRecord {
  readonly kind: KindName
  readonly id: string
  readonly fields: Record<string, unknown>
  readonly links: Record<string, string[]>
}

export type FlatRecords = ReadonlyMap<string, FlatRecord>

export const flatName = (kind: KindName, id: string): string => `${kind}/${id}`

/** The record as a source delivers it: complete, with nulls and empty lists. */
export function stated(records: FlatRecords, kind: KindName, id: string): Record<string, unknown> | undefined {
  const record = records.get(flatName(kind, id))
  if (!record) return undefined
  const nested: Record<string, unknown> = { id, ...record.fields }
  for (const [name, link] of Object.entries(kinds[kind].links)) {
    const inner = (record.links[name] ?? []).map((target) => stated(records, link.to, target)).filter(Boolean)
    nested[name] = link.one ? (inner[0] ?? null) : inner
  }
  return nested
}
