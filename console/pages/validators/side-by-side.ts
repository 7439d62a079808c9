// Records of several validators or pools, newest window first as they come, laid side by side: one row of figures each,
// and one value for each window, so that a plot can draw them over the same axis.
import type { AggregateRecord } from '#api/wire/validators.ts'

/** Either each validator for itself, or all of them as one. */
export interface Party {
  /** A pool's name; without one every validator is shown for itself. */
  readonly name?: string
  readonly indices: readonly number[]
  readonly hrefOf: (who: string) => string
}

/** Single validators, or two pools. */
export type Parties = readonly [Party] | readonly [Party, Party]

/** Whom the lines and rows are about, in order. */
export const namesOf = (parties: readonly Party[]): string[] =>
  parties.flatMap(({ name, indices }) => (name === undefined ? indices.map(String) : [name]))

export interface Told {
  /** Whom the record is about. */
  readonly who: string
  readonly record: AggregateRecord
}

export function toldOf(
  [first, second]: Parties,
  records: readonly AggregateRecord[],
  others: readonly AggregateRecord[] | undefined,
): Told[] {
  const named = (party: Party | undefined) => (record: AggregateRecord) => ({
    who: party?.name ?? String(record.validatorIndex),
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
  told: readonly Told[],
  whose: readonly string[],
  figure: (record: AggregateRecord) => number | null,
): Aligned {
  const found = new Map<string, AggregateRecord>()
  const starts = new Set<number>()
  for (const { who, record } of told) {
    if (record.startEpoch === undefined) continue
    starts.add(Number(record.startEpoch))
    found.set(`${record.startEpoch} ${who}`, record)
  }
  const epochs = [...starts].sort((a, b) => a - b)
  const figureAt = (epoch: number, who: string): number | null => {
    const record = found.get(`${epoch} ${who}`)
    return record === undefined ? null : figure(record)
  }
  return { epochs, values: whose.map((who) => epochs.map((epoch) => figureAt(epoch, who))) }
}

export const comparedMax = 10

/** Indices from an address: `12,34`; each once, at most ten, what is no index left out. */
export function indicesIn(text: string | null): number[] {
  const named = (text ?? '').split(',').filter((word) => /^\d{1,12}$/.test(word))
  return [...new Set(named.map(Number))].slice(0, comparedMax)
}
