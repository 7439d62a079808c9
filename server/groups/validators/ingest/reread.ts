// An hour of duties made once more from a beacon node and held against what is stored, for the doctor (decision 0130). It goes
// through the mill that made them, on a thread of its own, and writes nothing.
import type { Network } from '#api/wire/validators.ts'
import { type ChainHour, epochsOfHour } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { Desk } from '#serve/answer.ts'
import type { FactsReader } from '#store/facts.ts'
import { coveredEpochs } from '../duties.ts'
import { type Measure, measures } from '../measures.ts'
import { refuseOtherWindows, windowsTrouble } from '../row-windows.ts'
import type { Piece } from './mill.ts'
import { openMills } from './mills.ts'
import { millStart } from './start.ts'
import { keptThrough, type Watched } from './watched.ts'

export type RereadDesk = Pick<Desk, 'facts' | 'settings'>

/** Known only where an execution source was: one that was added or taken away since is no difference. */
const ofExecution: readonly Measure[] = [
  'execution_unknown',
  'missed_execution_reward',
  'priority_fee',
  'baseline_mev',
  'external_reward',
]

/** Hours that were read completely and whose rows are still kept. */
export async function storedHours({ facts, settings }: RereadDesk, network: Network): Promise<Range[]> {
  const { epochsPerHour } = settings.validators.networks[network]
  const [kept] = await facts.query<{ rows: number; first: number; last: number }>(
    'select count(*) as rows, min(hour) as first, max(hour) as last from duty_hours where network = ?',
    [network],
  )
  if (!kept || kept.rows === 0) return []
  const { first, last } = kept
  return (await coveredEpochs(facts, network))
    .map(({ from, until }) => ({
      from: Math.max(first, Math.ceil(from / epochsPerHour)),
      until: Math.min(last + 1, Math.floor(until / epochsPerHour)),
    }))
    .filter(({ from, until }) => from < until)
}

/** Rows compared, and each that differs in words. Throws what the node cannot tell. */
export async function rereadHour(
  desk: RereadDesk,
  network: Network,
  hour: number,
  signal: AbortSignal,
): Promise<{ readonly checked: number; readonly differing: readonly string[] }> {
  const time = desk.settings.validators.networks[network]
  refuseOtherWindows(await windowsTrouble(desk.facts, network, time, () => coveredEpochs(desk.facts, network)))
  const { from, until } = epochsOfHour(time, hour as ChainHour)
  const start = await millStart(desk, network)
  const beacon = { ...start.settings.beacon, auditValidators: 0 }
  await using mills = openMills([{ ...start, settings: { ...start.settings, beacon } }])
  const piece = await mills.of(network).piece({ from, until, scores: new Map() }, signal)
  const stored = await storedRows(desk.facts, network, hour)
  const kept = await keptThrough(desk.facts, network, { from, until })
  const read: Watched = piece.watched ? new Set(piece.watched.validators) : 'everyone'
  // A watch list may have changed since: only who was on it then and is on it now can be compared.
  const isCompared = (index: number) => [kept, read].every((one) => one === 'everyone' || one.has(index))
  return compare(piece, stored, `${network} hour ${hour}`, isCompared)
}

/** An hour that crosses midnight has two rows a validator. */
const storedRows = (facts: FactsReader, network: Network, hour: number) =>
  facts.query<{ readonly validator: number } & Readonly<Record<Measure, number | bigint>>>(
    `select validator, ${measures.map((name) => `sum(${name}) as ${name}`).join()} from duty_hours
     where network = ? and hour = ? group by validator order by validator`,
    [network, hour],
  )

function compare(
  { validator, sums }: Piece,
  stored: Awaited<ReturnType<typeof storedRows>>,
  place: string,
  isCompared: (index: number) => boolean,
): { readonly checked: number; readonly differing: readonly string[] } {
  const rows = new Map(stored.filter((row) => isCompared(row.validator)).map((row) => [row.validator, row]))
  const differing: string[] = []
  let checked = 0
  for (let at = 0; at < validator.length; at++) {
    const index = validator[at] as number
    if (!isCompared(index)) continue
    checked += 1
    const row = rows.get(index)
    rows.delete(index)
    if (!row) {
      differing.push(`${place} validator ${index}: no row is stored`)
      continue
    }
    const isAlike = Number(row.execution_unknown) === sums.execution_unknown[at]
    const compared = isAlike ? measures : measures.filter((name) => !ofExecution.includes(name))
    const odd = compared.find((name) => Number(row[name]) !== sums[name][at])
    if (odd) differing.push(`${place} validator ${index}: ${odd} is ${row[odd]}, the node gives ${sums[odd][at]}`)
  }
  for (const index of rows.keys()) differing.push(`${place} validator ${index}: the node knows of no duty`)
  return { checked, differing }
}
