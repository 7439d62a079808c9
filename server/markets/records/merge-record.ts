// Merges a record of a source into the stored one (behaviour/markets.md#partial-records). Pure.
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { StoredRecord } from './documents.ts'
import { type KindName, kinds, ownFields } from './kinds.ts'
import type { MarketRecord, NormalizedRecord } from './normalize.ts'
import { sourceMs } from './source-time.ts'

/** The new state of a record, fields in the order of the contract. */
export function mergeRecord(
  old: StoredRecord | undefined,
  { kind, partial }: MarketRecord,
  normalized: NormalizedRecord,
): StoredRecord {
  const links = orderLinks(kind, { ...old?.links, ...normalized.links })
  if (!old || !partial) return { fields: normalized.fields, links }
  const emptied = new Set(normalized.emptied)
  const fields: Record<string, unknown> = {}
  for (const name of ownFields[kind]) {
    const value = normalized.fields[name] ?? (emptied.has(name) ? undefined : old.fields[name])
    if (value !== undefined) fields[name] = value
  }
  return { fields, links }
}

export function mergeExtraFields(
  old: string | null | undefined,
  { partial, fields }: MarketRecord,
  { extraFields }: NormalizedRecord,
): string | null {
  if (!partial || !old) return extraFields ? stringifyJson(extraFields) : null
  const unchanged = Object.entries(parseJson(old) as object).filter(([name]) => fields[name] === undefined)
  const merged = { ...Object.fromEntries(unchanged), ...extraFields }
  return Object.keys(merged).length > 0 ? stringifyJson(merged) : null
}

/** An empty list is a value (behaviour/markets.md#fields-without-a-value); a missing single record is not. */
const orderLinks = (kind: KindName, links: NormalizedRecord['links']): StoredRecord['links'] =>
  Object.fromEntries(
    Object.entries(kinds[kind].links).flatMap(([name, { one }]) => {
      const ids = links[name]
      return ids && (ids.length > 0 || !one) ? [[name, ids]] : []
    }),
  )

/** How far the clock of a source may be ahead of ours. */
const aheadMaxMs = 60_000

export function isOlder(incoming: unknown, stored: unknown, nowMs: number): boolean {
  if (incoming === stored) return false
  const [incomingMs, storedMs] = [sourceMs(incoming), sourceMs(stored)]
  if (incomingMs === undefined || storedMs === undefined) return false
  return incomingMs < storedMs && storedMs <= nowMs + aheadMaxMs
}

export const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
