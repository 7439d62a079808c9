// Commits epochs of validators that were added to the watch list after these epochs had been stored
// (behaviour/validators.md#watch-lists): figures, missed duties and watch ranges, in one transaction. Data of other
// validators does not change. Audits and unexplained balance changes are about the network and are already stored.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { holes, type Range } from '#core/ranges.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { coveredEpochs } from './coverage.ts'
import { hourEpochs } from './hours.ts'
import { type MissedDutyColumns, missedEpochs, writeMissedDuties } from './missed.ts'
import { recordPastChange } from './past-changes.ts'
import { addWatchRanges, keptThrough, watchChanges } from './watch-ranges.ts'
import { type Segment, writeSegments } from './write.ts'

export interface PastCommit {
  readonly network: Network
  readonly time: ChainTime
  /** Only rows of `validators`. Its epochs do not extend over one of the limits (pastLimits). */
  readonly segment: Segment & { readonly missed: MissedDutyColumns }
  /** The added validators; −1: all validators that are stored in no other range. */
  readonly validators: readonly number[]
}

export async function commitPast(tx: StateWriter, { network, time, segment, validators }: PastCommit): Promise<void> {
  const { epochs } = segment
  const covered = await coveredEpochs(tx, network)
  assert.deepEqual(holes(covered, epochs), [], 'some of these epochs are not stored yet')
  const kept = await keptThrough(tx, network, epochs)
  const isStored = (validator: number) => kept === 'everyone' || kept.has(validator)
  assert(!validators.some(isStored) && !segment.validator.some(isStored), 'these rows have been written already')
  await writeSegments(tx, network, time, [segment], covered, {
    withHours: includes(await hourEpochs(tx, network), epochs),
  })
  if (includes(await missedEpochs(tx, network), epochs)) await writeMissedDuties(tx, network, time, [segment])
  await recordPastChange(tx, network, time, epochs)
  await addWatchRanges(tx, network, epochs, validators)
}

const includes = (ranges: readonly Range[], range: Range): boolean => holes(ranges, range).length === 0

/** Epochs at which coverage, stored hours, stored missed duties or the stored validators change. */
export async function pastLimits(duties: StateReader, network: Network): Promise<readonly number[]> {
  const ranges = [
    ...(await coveredEpochs(duties, network)),
    ...(await hourEpochs(duties, network)),
    ...(await missedEpochs(duties, network)),
  ]
  return [...ranges.flatMap(({ from, until }) => [from, until]), ...(await watchChanges(duties, network))]
}
