// The measures that the simulated chains have expected figures for. Deposits, withdrawals and consolidations are compared
// with balances instead (server/validators/extensions/income/income.test.ts).
import { type Measure, measures, transfers } from '#validators/method/measures.ts'

const isTransfer = (name: Measure): boolean => transfers.some((transfer) => transfer === name)

export const truthMeasures: readonly Measure[] = measures.filter((name) => !isTransfer(name))
