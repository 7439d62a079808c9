// Label records as CSV (RFC 4180): a header line, CRLF after every line, quotes doubled. Values pass unchanged, those
// that a spreadsheet would take for a formula included (decision 0014).
import { LabelRecord } from '#api/wire/explorer.ts'

const columns = Object.keys(LabelRecord.properties) as (keyof LabelRecord)[]

export const csvHeader = `${columns.join(',')}\r\n`

export const csvLine = (record: LabelRecord): string => `${columns.map((column) => cell(record[column])).join(',')}\r\n`

/** Quoted where the grammar needs it, and around outer spaces, which some readers trim. */
function cell(value: string | number): string {
  const text = String(value)
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
