// The expected sums of a simulated network.
import type { Truth, TruthRow } from '#simulator/beacon/truth.ts'
import { measures } from '#validators/method/measures.ts'

/** The sums of these epochs, by validator. */
export function sumTruth(truth: Truth, from: number, until: number): Map<number, TruthRow> {
  const sums = new Map<number, TruthRow>()
  for (let epoch = from; epoch < until; epoch++) {
    for (const [validator, row] of truth.rows(epoch)) {
      const total = sums.get(validator) ?? {}
      for (const name of measures) if (row[name]) total[name] = (total[name] ?? 0) + row[name]
      sums.set(validator, total)
    }
  }
  return sums
}
