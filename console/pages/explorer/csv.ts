// Writes the tables of the explorer as CSV.

/** Spreadsheets would run a text that starts like a formula; an apostrophe prevents that. */
const cell = (value: string | number): string => {
  const text = String(value)
  const safe = /^[=+\-@]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export const toCsv = (rows: readonly (readonly (string | number)[])[]): string =>
  rows.map((row) => `${row.map(cell).join()}\r\n`).join('')
