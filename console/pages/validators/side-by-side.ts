// Records of several validators or pools, newest window first as they come, laid side by side: one row of figures each,
// and one value for each window, so that a plot can draw them over the same axis.
import type { AggregateRecord } from '#api/wire/validators.ts'

/** Either each validator for itself, or all of them as one. */
export interface Subject {
  /** A pool's name; without one every validator is shown for itself. */
  readonly name?: string
  readonly indices: readonly number[]
  readonly hrefOf: (who: string) => string
}

/** Single validators, or two pools. */
export type Subjects = readonly [Subject] | readonly [Subject, Subject]

/** Whom the lines and rows are about, in order. */
export const subjectNames = (subjects: readonly Subject[]): string[] =>
  subjects.flatMap(({ name, indices }) => (name === undefined ? indices.map(String) : [name]))

export interface SubjectRecord {
  /** Whom the record is about. */
  readonly name: string
  readonly record: AggregateRecord
}

export function assignRecords(
  [first, second]: Subjects,
  records: readonly AggregateRecord[],
  others: readonly AggregateRecord[] | undefined,
): SubjectRecord[] {
  const named = (subject: Subject | undefined) => (record: AggregateRecord) => ({
    name: subject?.name ?? String(record.validatorIndex),
    record,
  })
  return [...records.map(named(first)), ...(others ?? []).map(named(second))]
}

export interface Aligned {
  /** First epoch of each window, ascending. */
  readonly epochs: readonly number[]
  /** For each of `whose`, one value a window; null where there is no record or no figure. */
  readonly values: readonly (readonly (number | null)[])[]
}

export function aligned(
  records: readonly SubjectRecord[],
  names: readonly string[],
  figure: (record: AggregateRecord) => number | null,
): Aligned {
  const found = new Map<string, AggregateRecord>()
  const starts = new Set<number>()
  for (const { name, record } of records) {
    if (record.startEpoch === undefined) continue
    starts.add(Number(record.startEpoch))
    found.set(`${record.startEpoch} ${name}`, record)
  }
  const epochs = [...starts].sort((a, b) => a - b)
  const figureAt = (epoch: number, name: string): number | null => {
    const record = found.get(`${epoch} ${name}`)
    return record === undefined ? null : figure(record)
  }
  return { epochs, values: names.map((name) => epochs.map((epoch) => figureAt(epoch, name))) }
}

export const comparedMax = 10

/** Indices from an address: `12,34`; each once, at most ten, what is no index left out. */
export function indicesIn(text: string | null): number[] {
  const named = (text ?? '').split(',').filter((text) => /^\d{1,12}$/.test(text))
  return [...new Set(named.map(Number))].slice(0, comparedMax)
}
