// Aligns the records of several validators, pools or operators, so that a plot can draw them over the same axis and a
// table can show a row for each.
import type { ReactNode } from 'preact/compat'
import type { AggregateRecord, Network } from '#api/contract/wire/validators.ts'
import type { EntityKind } from '#api/contract/wire/validators-entities.ts'

/** What is compared: single validators, or all validators of a pool or an operator combined. */
export interface Subject {
  /** The name of the pool or operator; without it every validator is compared on its own. */
  readonly name?: string
  readonly kind?: EntityKind
  /** Of a pool or operator, the first ones. */
  readonly indices: readonly number[]
}

export type ComparedRecord = { readonly [Name in keyof AggregateRecord]?: AggregateRecord[Name] | null }

/** Pools or operators that are compared at a time. */
export const entitiesMax = 4

/** The parameters of the address: validators, pools or operators. */
export interface Chosen {
  readonly of: string
  readonly pool: readonly string[]
  readonly operator: readonly string[]
}

export interface ComparisonProps {
  readonly network: Network
  readonly networkChoice: ReactNode
  readonly onChoose: (chosen: Partial<Chosen>) => void
  /** Shows the comparison once its validators are known. */
  readonly children: (subjects: readonly Subject[]) => ReactNode
}

/** The names of all lines and rows, in order. */
export const subjectNames = (subjects: readonly Subject[]): string[] =>
  subjects.flatMap(({ name, indices }) => (name === undefined ? indices.map(String) : [name]))

interface SubjectRecord {
  /** The pool, operator or validator of the record. */
  readonly name: string
  readonly record: ComparedRecord
}

/** `records` are those of each subject, in the same order. */
export const assignRecords = (
  subjects: readonly Subject[],
  records: readonly (readonly ComparedRecord[])[],
): SubjectRecord[] =>
  subjects.flatMap(({ name }, at) =>
    (records[at] ?? []).map((record) => ({ name: name ?? String(record.validatorIndex), record })),
  )

/**
 * The first epoch of each window, ascending, and for each name one value per window; null without a record or figure.
 */
export function alignRecords(
  records: readonly SubjectRecord[],
  names: readonly string[],
  figure: (record: ComparedRecord) => number | null,
) {
  const byStartAndName = new Map<string, ComparedRecord>()
  const starts = new Set<number>()
  for (const { name, record } of records) {
    if (record.startEpoch == null) continue
    starts.add(Number(record.startEpoch))
    byStartAndName.set(`${record.startEpoch} ${name}`, record)
  }
  const epochs = [...starts].sort((a, b) => a - b)
  const figureAt = (epoch: number, name: string): number | null => {
    const record = byStartAndName.get(`${epoch} ${name}`)
    return record === undefined ? null : figure(record)
  }
  return { epochs, values: names.map((name) => epochs.map((epoch) => figureAt(epoch, name))) }
}

export const comparedMax = 10

/** Indices from the address, such as `12,34`: unique, at most ten, without invalid ones. */
export function indicesIn(text: string | null): number[] {
  const valid = (text ?? '').split(',').filter((text) => /^\d{1,12}$/.test(text))
  return [...new Set(valid.map(Number))].slice(0, comparedMax)
}

/** Names from the address: unique, at most four. */
export const namesIn = (names: readonly string[]): string[] =>
  [...new Set(names.filter((name) => name !== ''))].slice(0, entitiesMax)
