// Writes an income statement as CSV, for the command and the console: one line for each day, amounts in gwei.
import { executionIncome, type IncomeDay, incomeAmounts } from '#api/contract/wire/validators-income.ts'

/** Added by the command. Decimal texts; null: there is no rate of this day. */
export interface Priced {
  readonly price?: string | null
  readonly value?: string | null
}

/** An unknown amount is empty. */
export function incomeCsv(days: readonly (IncomeDay & Priced)[], isPriced = false): string {
  const priceColumns = isPriced ? (['price', 'value'] as const) : []
  const columns = ['date', 'startEpoch', 'endEpoch', ...incomeAmounts, ...executionIncome, ...priceColumns] as const
  const lines = days.map((day) => columns.map((name) => day[name] ?? '').join(','))
  return `${[columns.join(','), ...lines].join('\n')}\n`
}
