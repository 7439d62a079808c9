// The measures that the simulated chains have expected figures for. Deposits, withdrawals and consolidations are compared
// with balances instead (server/validators/extensions/income/income.test.ts).
import assert from 'node:assert/strict'
import { type Measure, measures, transfers } from '#validators/method/measures.ts'

const isTransfer = (name: Measure): boolean => transfers.some((transfer) => transfer === name)

export const truthMeasures: readonly Measure[] = measures.filter((name) => !isTransfer(name))

/** Rows that the expected figures do not have: a validator without duties has a row only if its balance changed. */
export function assertOnlyTransfers(rows: ReadonlyMap<string, Readonly<Record<Measure, number>>>): void {
  for (const [key, row] of rows) {
    assert(
      transfers.some((name) => row[name] !== 0),
      `no unexpected row ${key}`,
    )
    for (const name of truthMeasures) assert.equal(row[name], 0, `${key}: ${name}`)
  }
}
