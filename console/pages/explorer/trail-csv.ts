// A funding trail as CSV: one row for each hop, from the start address backwards.
import type { Trail } from '#api/contract/wire/trail.ts'

const columns = ['hop', 'address', 'fundedBy', 'label', 'labelSource', 'valueWei', 'block', 'time', 'transaction']

/** Spreadsheets would run a text that starts like a formula; an apostrophe prevents that. */
const cell = (value: string | number): string => {
  const text = String(value)
  const safe = /^[=+\-@]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export function trailCsv({ address, hops }: Trail): string {
  const rows = hops.map((hop, at) => [
    at + 1,
    at === 0 ? address : (hops[at - 1]?.fundingAddress ?? ''),
    hop.fundingAddress,
    hop.label?.name ?? '',
    hop.label?.source ?? '',
    hop.value,
    hop.block,
    new Date(Number(hop.timeStamp) * 1000).toISOString(),
    hop.fundingTxn,
  ])
  return [columns, ...rows].map((row) => `${row.map(cell).join()}\r\n`).join('')
}
