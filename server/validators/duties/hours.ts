// Which epochs still have their hours. Days stay for good; hours are deleted after `hoursKeptDays`, and an answer made of hours must not
// claim those that are gone. Rows and this coverage change in one transaction.
import type { Network } from '#api/wire/validators.ts'
import { type ChainDay, type ChainTime, chainDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { addCoverage, coverageOf, removeCoverageBefore } from '#storage/coverage.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { levels, networkId, segmentAt, unitIds } from './layout.ts'
import { removeBetween } from './rows.ts'

const stream = (network: Network): string => `hours/${network}`

/** Epochs that have been read and whose hours are kept. */
export const hourEpochs = (duties: StateReader, network: Network): Promise<Range[]> =>
  coverageOf(duties, stream(network))

export const coverHours = (tx: StateWriter, network: Network, { from, until }: Range): Promise<void> =>
  addCoverage(tx, stream(network), from, until)

/** Deletes the hours of all chain days before this one. */
export async function dropHours(tx: StateWriter, network: Network, time: ChainTime, day: number): Promise<void> {
  const { from: until } = chainDays(time).epochsOf(day as ChainDay)
  const ids = unitIds(levels.hours, networkId(network), { from: 0, until: segmentAt(time, until).piece })
  await removeBetween(tx, levels.hours.table, ids)
  await removeCoverageBefore(tx, stream(network), until)
}
