// A funding trail as CSV: one row for each hop, from the start address backwards.
import type { Trail } from '#api/contract/wire/trail.ts'
import { toCsv } from './csv.ts'

const columns = ['hop', 'address', 'fundedBy', 'label', 'labelSource', 'valueWei', 'block', 'time', 'transaction']

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
  return toCsv([columns, ...rows])
}
