// The fast values of the records of a block, now or as of a past version.
//
// 1. A values row has them after all versions up to its number. A tick row has the changes of one commit, with the values
//    before and after. So the values after version n follow from any values row and the ticks between it and n.
// 2. The current values are read with one statement, so a values row that moves forward meanwhile cannot be seen.
// 3. Rows of ticks become packs, which have the values before them (merge-ticks.ts). So few rows of ticks are read.
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import { type Diff, parseDiff } from '../records/diff-records.ts'
import { fastValues } from '../records/list-columns.ts'
import { numberAt, type PackedLine, packLines, slotOf, unpackLines } from './packed-lines.ts'

export interface FastRecord {
  /** When one of the values last changed. */
  readonly changedMs: number
  readonly fields: Readonly<Record<string, unknown>>
}

const noValues: FastRecord = { changedMs: 0, fields: {} }

/** A change of the fast values of one record. */
export interface TickChange {
  readonly number: number
  readonly seq: number
  /** The version also changes other fields, so market_versions has all of it. */
  readonly isPart: boolean
  /** A `Diff` as JSON. */
  readonly diff: string
}

export interface TickRow {
  readonly block: number
  /** The number of the first of its versions. */
  readonly seq: number
  readonly atMs: number
  readonly changes: Uint8Array
}

export function packTicks(changes: readonly TickChange[]): Uint8Array {
  const first = changes[0]?.seq ?? 0
  return packLines(changes.map(({ number, seq, isPart, diff }) => [slotOf(number), seq - first, Number(isPart), diff]))
}

/** In the order of the versions; of all records of the block, or of one. */
export const unpackTicks = ({ block, seq, changes }: Omit<TickRow, 'atMs'>, number?: number): TickChange[] =>
  unpackLines(changes, number === undefined ? undefined : slotOf(number)).map(
    ([slot, offset, isPart, diff = '{}']) => ({
      number: numberAt(block, Number(slot)),
      seq: seq + Number(offset),
      isPart: isPart === '1',
      diff,
    }),
  )

const parseValues = (text: string): Record<string, unknown> => parseJson(text) as Record<string, unknown>

export class BlockValues {
  /** A text until it is used. */
  readonly #records = new Map<number, { changedMs: number; values: string | Record<string, unknown> }>()
  /** Rows of ticks since the values row; undefined: there is none. */
  newTicks: number | undefined

  constructor(row?: { readonly records: Uint8Array }) {
    this.newTicks = row && 0
    for (const [slot, changedMs, values = '{}'] of row ? unpackLines(row.records) : [])
      this.#records.set(Number(slot), { changedMs: Number(changedMs), values })
  }

  get(number: number): FastRecord {
    const slot = slotOf(number)
    const record = this.#records.get(slot)
    if (!record) return noValues
    if (typeof record.values !== 'string') return { changedMs: record.changedMs, fields: record.values }
    record.values = parseValues(record.values)
    return { changedMs: record.changedMs, fields: record.values }
  }

  /** Of the records that have values. */
  numbers(block: number): readonly number[] {
    return [...this.#records.keys()].map((slot) => numberAt(block, slot))
  }

  set(number: number, { changedMs, fields }: FastRecord): void {
    this.#records.set(slotOf(number), { changedMs, values: { ...fields } })
  }

  /** Applies or undoes a change. Call it before `get`, whose results it would change. */
  change({ number, diff }: TickChange, changedMs: number, isUndo = false): void {
    const slot = slotOf(number)
    const record = this.#records.getOrInsertComputed(slot, () => ({ changedMs, values: {} }))
    if (typeof record.values === 'string') record.values = parseValues(record.values)
    record.changedMs = changedMs
    changeFields(record.values, parseDiff(diff), isUndo)
  }

  /** The values by which lists order the records (records/list-columns.ts). */
  packListed(): Uint8Array {
    const lines = [...this.#records].map(([slot, { values }]): PackedLine => {
      return [slot, ...fastValues(typeof values === 'string' ? parseValues(values) : values)]
    })
    return packLines(lines)
  }

  pack(): Uint8Array {
    const lines = [...this.#records].map(([slot, { changedMs, values }]): PackedLine => {
      return [slot, changedMs, typeof values === 'string' ? values : stringifyJson(values)]
    })
    return packLines(lines)
  }
}

function changeFields(fields: Record<string, unknown>, diff: Diff, isUndo: boolean): void {
  for (const name in diff) {
    const value = diff[name]?.[isUndo ? 0 : 1] ?? null
    if (value === null) delete fields[name]
    else fields[name] = value
  }
}
