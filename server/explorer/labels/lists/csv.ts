// Writes CSV by RFC 4180: a header line, CRLF after every line, doubled quotes. Values are unchanged, except in files
// for spreadsheets (behaviour/explorer.md#csv-files).
import { LabelRecord } from '#api/contract/wire/explorer.ts'

const columns = Object.keys(LabelRecord.properties) as (keyof LabelRecord)[]

export const csvRow = (values: readonly (string | number)[]): string => `${values.map(quoteCell).join(',')}\r\n`

export const csvHeader = csvRow(columns)

export const csvLine = (record: LabelRecord): string => csvRow(columns.map((column) => record[column]))

/** Like csvRow, with an apostrophe before texts that a spreadsheet would run as a formula. */
export const spreadsheetRow = (values: readonly (string | number)[]): string =>
  csvRow(values.map((value) => (formulaStart.test(String(value)) ? `'${value}` : value)))

export const spreadsheetLine = (record: LabelRecord): string => spreadsheetRow(columns.map((column) => record[column]))

const formulaStart = /^[=+\-@\t\r]/

/** Also quotes texts with outer spaces, because some readers trim them. */
function quoteCell(value: string | number): string {
  const text = String(value)
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
