// Differences between two states of a record, as they are stored with each version. Pure.
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { StoredRecord } from './documents.ts'
import { type KindName, kinds } from './kinds.ts'

export type ChangeType = 'created' | 'changed' | 'vanished' | 'returned'

/** Field → value before and after; null: no value. Links are lists of ids. */
export type Diff = Readonly<Record<string, readonly [before: unknown, after: unknown]>>

export const parseDiff = (diff: string): Diff => parseJson(diff) as Diff

/** False: the change has none of these fields. To parse a difference takes most of the time of a query. */
export const mayChangeOneOf = (diff: string, fields: readonly string[]): boolean =>
  fields.some((name) => diff.includes(`"${name}":`))

/** Compares two states of a record field by field, in the order of the contract. */
export function diffRecords(kind: KindName, before: StoredRecord, after: StoredRecord): Diff {
  const { schema, links } = kinds[kind]
  const diff: Record<string, readonly [unknown, unknown]> = {}
  for (const name of Object.keys(schema.properties)) {
    const part = name in links ? 'links' : 'fields'
    addDifference(diff, name, before[part], after[part])
  }
  return diff
}

/** Compares some fields, in the order of the names. */
export function diffFields(
  names: Iterable<string>,
  before: StoredRecord['fields'],
  after: StoredRecord['fields'],
): Diff {
  const diff: Record<string, readonly [unknown, unknown]> = {}
  for (const name of names) addDifference(diff, name, before, after)
  return diff
}

function addDifference(
  diff: Record<string, readonly [unknown, unknown]>,
  name: string,
  before: StoredRecord['fields'],
  after: StoredRecord['fields'],
): void {
  const [was, is] = [before[name] ?? null, after[name] ?? null]
  if (was !== is && stringifyJson(was) !== stringifyJson(is)) diff[name] = [was, is]
}

/** Undoes changes, newest first. Undefined if the record did not exist then. */
export function undoChanges(
  kind: KindName,
  after: StoredRecord,
  changes: readonly { readonly changeType: ChangeType; readonly diff: string }[],
) {
  const fields: Record<string, unknown> = { ...after.fields }
  const links: Record<string, readonly string[]> = { ...after.links }
  for (const { changeType, diff } of changes) {
    if (changeType === 'created') return undefined
    for (const [name, [before]] of Object.entries(parseDiff(diff))) {
      const part: Record<string, unknown> = name in kinds[kind].links ? links : fields
      if (before === null) delete part[name]
      else part[name] = before
    }
  }
  return { fields, links }
}
