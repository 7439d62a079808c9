// An hour of duties made once more from a beacon node and held against what is stored, for the doctor (decision 0130). It goes
// through the mill that made them, on a thread of its own, and writes nothing.
import type { Network } from '#api/wire/validators.ts'
import { type ChainHour, epochsOfHour } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import type { ValidatorsContext } from '../context.ts'
import { hourEpochs } from '../duties/hours.ts'
import type { HourSums } from '../duties/inspect.ts'
import { plainTime } from '../duties/layout.ts'
import { refuseOtherWindows, windowsTrouble } from '../duties/networks.ts'
import { queryDuties } from '../duties/store.ts'
import { keptThrough, type Watched } from '../duties/watch-ranges.ts'
import { type Measure, measures } from '../measures.ts'
import type { Piece } from './mill.ts'
import { openMills } from './mills.ts'
import { millStart } from './start.ts'

/** Known only where an execution source was: one that was added or taken away since is no difference. */
const ofExecution: readonly Measure[] = [
  'execution_unknown',
  'missed_execution_reward',
  'priority_fee',
  'baseline_mev',
  'external_reward',
]

/** Hours that were read completely and are still kept. */
export async function storedHours(
  { duties, settings }: Pick<ValidatorsContext, 'duties' | 'settings'>,
  network: Network,
): Promise<Range[]> {
  const { epochsPerHour } = settings.validators.networks[network]
  return (await hourEpochs(duties, network))
    .map(({ from, until }) => ({ from: Math.ceil(from / epochsPerHour), until: Math.floor(until / epochsPerHour) }))
    .filter(({ from, until }) => from < until)
}

/** Rows compared, and each that differs in words. Throws what the node cannot tell. */
export async function rereadHour(
  context: Pick<ValidatorsContext, 'duties' | 'settings'>,
  network: Network,
  hour: number,
  signal: AbortSignal,
): Promise<{ readonly checked: number; readonly differing: readonly string[] }> {
  const time = context.settings.validators.networks[network]
  refuseOtherWindows(await windowsTrouble(context.duties, network, time))
  const { from, until } = epochsOfHour(time, hour as ChainHour)
  const start = await millStart(context, network)
  const beacon = { ...start.settings.beacon, auditValidators: 0 }
  await using mills = openMills([{ ...start, settings: { ...start.settings, beacon } }])
  const piece = await mills.of(network).piece({ from, until, scores: new Map() }, signal)
  const stored = await queryDuties(context.duties, 'hourSums', { network, time: plainTime(time), hour })
  const kept = await keptThrough(context.duties, network, { from, until })
  const read: Watched = piece.watched ? new Set(piece.watched.validators) : 'everyone'
  // A watch list may have changed since: only who was on it then and is on it now can be compared.
  const isCompared = (index: number) => [kept, read].every((one) => one === 'everyone' || one.has(index))
  return compare(piece, stored, `${network} hour ${hour}`, isCompared)
}

function compare(
  { validator, sums }: Piece,
  stored: HourSums,
  place: string,
  isCompared: (index: number) => boolean,
): { readonly checked: number; readonly differing: readonly string[] } {
  const rows = new Map(
    Array.from(stored.validator, (index, row) => [index, row] as const).filter(([index]) => isCompared(index)),
  )
  const differing: string[] = []
  let checked = 0
  for (let at = 0; at < validator.length; at++) {
    const index = validator[at] as number
    if (!isCompared(index)) continue
    checked += 1
    const row = rows.get(index)
    rows.delete(index)
    if (row === undefined) {
      differing.push(`${place} validator ${index}: no row is stored`)
      continue
    }
    const isAlike = stored.sums.execution_unknown[row] === sums.execution_unknown[at]
    const compared = isAlike ? measures : measures.filter((name) => !ofExecution.includes(name))
    const odd = compared.find((name) => stored.sums[name][row] !== sums[name][at])
    if (odd)
      differing.push(`${place} validator ${index}: ${odd} is ${stored.sums[odd][row]}, the node gives ${sums[odd][at]}`)
  }
  for (const index of rows.keys()) differing.push(`${place} validator ${index}: the node knows of no duty`)
  return { checked, differing }
}
