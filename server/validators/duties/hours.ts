// Which epochs have hourly figures. Daily figures are never deleted; hourly figures are deleted after `hoursKeptDays`,
// and hourly responses must not claim to cover them. Rows and this coverage change in one transaction.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainDay, type ChainTime, chainDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { addCoverage, coverageOf, removeCoverageBefore } from '#storage/coverage.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { levels, networkId, segmentAt, unitIds } from './layout.ts'
import { removeBetween } from './rows.ts'

const stream = (network: Network): string => `hours/${network}`

/** Epochs whose hourly figures are stored. */
export const hourEpochs = (duties: StateReader, network: Network): Promise<Range[]> =>
  coverageOf(duties, stream(network))

export const coverHours = (tx: StateWriter, network: Network, { from, until }: Range): Promise<void> =>
  addCoverage(tx, stream(network), from, until)

/** Deletes the hourly figures of all chain days before this one. */
export async function dropHours(tx: StateWriter, network: Network, time: ChainTime, day: number): Promise<void> {
  const { from: until } = chainDays(time).epochsOf(day as ChainDay)
  const ids = unitIds(levels.hours, networkId(network), { from: 0, until: segmentAt(time, until).hourPart })
  await removeBetween(tx, levels.hours.table, ids)
  await removeCoverageBefore(tx, stream(network), until)
}
