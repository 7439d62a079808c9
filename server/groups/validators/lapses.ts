// What was not right about a validator's duties, one row per lapse: the figures of a day say how many votes were late, these
// say which ones (decision 0121).
//
// 1. Rows and the coverage that speaks of them are written in the transaction of the duties they belong to.
// 2. No row for an epoch that is covered means that nothing was wrong in it.
// 3. Lapses that are let go of take their coverage with them.
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { cover, coverageOf, uncover } from '#store/coverage.ts'
import type { FactsReader, FactsWriter } from '#store/facts.ts'

/** Stored by their place in this list: new ones go to its end. */
export const lapseKinds = ['vote', 'noBlock', 'emptyBlock', 'sync', 'slashed'] as const
export type LapseKind = (typeof lapseKinds)[number]

export const wrongTarget = 1
export const wrongHead = 2

/**
 * `slot`: of the vote's duty, of the block, of the slashing; of sync signatures the first that lacks. `delay`: of the vote, 0 when no block
 * took it; `best_delay`: what the blocks that are there allowed, 0 when there is none. `wrong`: flags above, of a vote that was
 * taken. `missing`: sync signatures.
 */
export const lapseFields = ['validator', 'epoch', 'kind', 'slot', 'delay', 'best_delay', 'wrong', 'missing'] as const
export type LapseField = (typeof lapseFields)[number]
export type LapseRow = Readonly<Record<LapseField, number>>
/** Sorted by validator, then epoch. */
export type LapseColumns = Readonly<Record<LapseField, Int32Array>>

const stream = (network: Network): string => `lapses/${network}`

/** Epochs whose lapses are known. */
export const lapseEpochs = (facts: FactsReader, network: Network): Promise<Range[]> =>
  coverageOf(facts, stream(network))

export async function writeLapses(
  tx: FactsWriter,
  network: Network,
  epochs: Range,
  columns: LapseColumns,
): Promise<void> {
  const { length } = columns.validator
  if (length > 0) await tx.append('duty_lapses', { network: new Array<string>(length).fill(network), ...columns })
  await cover(tx, stream(network), epochs.from, epochs.until)
}

export async function dropLapses(tx: FactsWriter, network: Network, untilEpoch: number): Promise<void> {
  await tx.remove('duty_lapses', { key: network, until: untilEpoch })
  await uncover(tx, stream(network), untilEpoch)
}

export const readLapses = (
  facts: FactsReader,
  network: Network,
  validator: number,
  epochs: Range,
): Promise<LapseRow[]> =>
  facts.query<LapseRow>(
    `select ${lapseFields.join()} from duty_lapses where network = ? and validator = ? and epoch >= ? and epoch < ?
     order by epoch, kind, slot`,
    [network, validator, epochs.from, epochs.until],
  )
