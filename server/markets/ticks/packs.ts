// Packs: the changes of the fast values of a block, from many rows of ticks (merge-ticks.ts). Values are JSON texts in them.
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import { type Diff, parseDiff } from '../records/diff-records.ts'
import type { KindName } from '../records/kinds.ts'
import { type BlockValues, type FastRecord, type TickRow, unpackTicks } from './block-values.ts'
import { fastFields, nameOfField, numberOfField } from './fast-fields.ts'
import {
  applyChanges,
  type BlockHistory,
  type FastChange,
  type FastHistory,
  type FastState,
  unpackOne,
} from './pack-codec.ts'
import { slotOf } from './packed-lines.ts'
import type { TimedChange } from './read-values.ts'

/** Value before and after, by the number of the field. */
type TextChange = readonly (readonly [field: number, before: string | undefined, after: string | undefined])[]

const toText = (value: unknown): string | undefined => (value === null ? undefined : stringifyJson(value))

const toTexts = (diff: Diff): TextChange =>
  Object.entries(diff).map(([name, [before, after]]) => [numberOfField(name), toText(before), toText(after)])

/** What some consecutive rows of ticks change. `values`: those of the block after the last of them. */
export function toHistory(block: number, values: BlockValues, rows: readonly TickRow[]): BlockHistory {
  const changes = new Map<number, { change: FastChange; before: TextChange }[]>()
  for (const row of rows)
    for (const { number, seq, isPart, diff } of unpackTicks(row)) {
      const texts = toTexts(parseDiff(diff))
      const change = { seq, atMs: row.atMs, isPart, values: new Map(texts.map(([field, , after]) => [field, after])) }
      changes.getOrInsertComputed(slotOf(number), () => []).push({ change, before: texts })
    }
  const history = new Map<number, FastHistory>()
  // Also of records without a change: then their values are found in this row.
  for (const number of values.numbers(block)) {
    const slot = slotOf(number)
    const start = new Map<number, string>()
    for (const [name, value] of Object.entries(values.get(number).fields))
      start.set(numberOfField(name), stringifyJson(value))
    const all = changes.get(slot) ?? []
    for (const { before } of all.toReversed())
      for (const [field, text] of before) {
        if (text === undefined) start.delete(field)
        else start.set(field, text)
      }
    history.set(slot, { start, changes: all.map(({ change }) => change) })
  }
  return history
}

/** Versions after `from` and up to `until`. */
export interface VersionRange {
  readonly from: number
  readonly until: number
}

/** The changes of a record in a range of versions, oldest first. */
export function describeChanges(
  kind: KindName,
  number: number,
  { start, changes }: FastHistory,
  { from, until }: VersionRange,
): TimedChange[] {
  const state = new Map(start)
  const found: TimedChange[] = []
  for (const { seq, atMs, isPart, values } of changes) {
    if (seq > until) break
    if (seq > from) found.push({ number, seq, atMs, isPart, diff: describeChange(kind, state, values) })
    for (const [field, value] of values) {
      if (value === undefined) state.delete(field)
      else state.set(field, value)
    }
  }
  return found
}

/** A `Diff` as JSON, in the order of the contract. */
function describeChange(kind: KindName, before: FastState, after: FastChange['values']): string {
  const members: string[] = []
  for (const name of fastFields[kind]) {
    const field = numberOfField(name)
    if (after.has(field)) members.push(`"${name}":[${before.get(field) ?? 'null'},${after.get(field) ?? 'null'}]`)
  }
  return `{${members.join()}}`
}

/** The values of a record after the version `seq`, from the first pack that ends with it or later. */
export function valuesInPack(packed: Uint8Array, number: number, seq: number): FastRecord['fields'] {
  const history = unpackOne(packed, slotOf(number))
  if (!history) return {}
  const values = applyChanges(
    history.start,
    history.changes.filter((change) => change.seq <= seq),
  )
  return Object.fromEntries([...values].map(([field, text]) => [nameOfField(field), parseJson(text)]))
}
