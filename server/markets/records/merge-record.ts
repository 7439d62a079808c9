// Merges a record of a source into the stored one (behaviour/markets.md#partial-records). Pure.
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { StoredRecord } from './documents.ts'
import { type KindName, kinds, ownFields } from './kinds.ts'
import type { MarketRecord, NormalizedRecord } from './normalize.ts'
import { sourceMs } from './source-time.ts'

/** The new state of a record, fields in the order of the contract. */
export function mergeRecord(
  old: StoredRecord | undefined,
  record: MarketRecord,
  normalized: NormalizedRecord,
): StoredRecord {
  const { kind } = record
  const links = orderLinks(kind, { ...old?.links, ...normalized.links })
  return { fields: old ? mergeFields(ownFields[kind], old.fields, record, normalized) : normalized.fields, links }
}

/** Some of its fields, in the order of the names. */
export function mergeFields(
  names: Iterable<string>,
  old: StoredRecord['fields'],
  { partial }: Pick<MarketRecord, 'partial'>,
  { fields, emptied: emptiedNames }: Pick<NormalizedRecord, 'fields' | 'emptied'>,
): StoredRecord['fields'] {
  if (!partial) return fields
  const emptied = new Set(emptiedNames)
  const merged: Record<string, unknown> = {}
  for (const name of names) {
    const value = fields[name] ?? (emptied.has(name) ? undefined : old[name])
    if (value !== undefined) merged[name] = value
  }
  return merged
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
  if (incoming === stored || (isPlainTime(incoming) && isPlainTime(stored) && incoming > stored)) return false
  const [incomingMs, storedMs] = [sourceMs(incoming), sourceMs(stored)]
  if (incomingMs === undefined || storedMs === undefined) return false
  return incomingMs < storedMs && storedMs <= nowMs + aheadMaxMs
}

/** The usual form, whose order is that of its texts. */
const plainTime = /^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const isPlainTime = (value: unknown): value is string => typeof value === 'string' && plainTime.test(value)

export const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)
