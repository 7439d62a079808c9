// Writes an income statement as CSV, for the command and the console: one line for each day, amounts in gwei.
import { executionIncome, type IncomeDay, incomeAmounts } from '#api/contract/wire/validators-income.ts'

/** An unknown amount is empty. */
export function incomeCsv(days: readonly IncomeDay[]): string {
  const columns = ['date', 'startEpoch', 'endEpoch', ...incomeAmounts, ...executionIncome] as const
  const lines = days.map((day) => columns.map((name) => day[name] ?? '').join(','))
  return `${[columns.join(','), ...lines].join('\n')}\n`
}
