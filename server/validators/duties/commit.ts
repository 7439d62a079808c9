// Commits epochs: figures, missed duties, unexplained balance changes, watch ranges and their coverage, in one transaction. A process that is killed at any moment continues with the next epoch after a
// restart.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import { holes, type Range } from '#core/ranges.ts'
import { addCoverage } from '#storage/coverage.ts'
import type { StateWriter } from '#storage/state.ts'
import { coveredEpochs, dutiesStream } from './coverage.ts'
import { coverHours, dropHours } from './hours.ts'
import { dropMissedDuties, type MissedDutyColumns, writeMissedDuties } from './missed.ts'
import { type NetworkSegment, writeNetworkRows } from './network-rows.ts'
import { keepWindows, writeCount } from './networks.ts'
import { recordPastChange } from './past-changes.ts'
import { type UnexplainedChange, writeUnexplained } from './unexplained.ts'
import { addFilledGap, type WatchChange, type WatchedNow, writeWatched } from './watch-ranges.ts'
import { type Segment, writeSegments } from './write.ts'

export interface CommitSegment extends Segment, NetworkSegment {
  readonly missed: MissedDutyColumns
  readonly unexplained: readonly UnexplainedChange[]
  /** Undefined: all validators are stored. */
  readonly watched: WatchedNow | undefined
}

export interface EpochCommit {
  readonly network: Network
  readonly time: ChainTime
  /** Consecutive; none of their epochs is stored yet. */
  readonly segments: readonly CommitSegment[]
  /** Data about the present. Undefined for gaps that are filled later. */
  readonly head?:
    | {
        /** Chain days to keep; 0: all. */
        readonly hoursKeptDays: number
        readonly missedKeptDays: number
      }
    | undefined
}

/** Returns the changes of the watch list. */
export async function commitEpochs(tx: StateWriter, commit: EpochCommit): Promise<WatchChange[]> {
  const { network, time, segments, head } = commit
  const [first, last] = [segments[0], segments.at(-1)]
  assert(first && last, 'a commit needs at least one segment')
  const span = { from: first.epochs.from, until: last.epochs.until }
  segments.reduce((end, { epochs }) => {
    assert.equal(epochs.from, end, 'the segments of a commit are not consecutive')
    return epochs.until
  }, span.from as number)
  const covered = await coveredEpochs(tx, network)
  assert.deepEqual(holes(covered, span), [span], 'epochs of this commit have been written already')
  await keepWindows(tx, network, time)
  // Before new rows are written, so that they use the space of the deleted ones (decisions/store-duties-as-packed-rows.md).
  if (head) await expire(tx, commit, span, head)
  await writeSegments(tx, network, time, segments, covered)
  await addCoverage(tx, dutiesStream(network), span.from, span.until)
  await coverHours(tx, network, span)
  await writeMissedDuties(tx, network, time, segments)
  await writeNetworkRows(tx, network, time, segments)
  for (const { unexplained } of segments) await writeUnexplained(tx, network, unexplained)
  if (!head) {
    for (const { epochs, watched } of segments) await addFilledGap(tx, network, epochs, watched)
    await recordPastChange(tx, network, time, span)
    return []
  }
  const watchChanges: WatchChange[] = []
  for (const { epochs, watched } of segments) {
    const isFirst = covered.length === 0 && epochs.from === span.from
    const change = await writeWatched(tx, network, epochs.from, watched, isFirst)
    if (change) watchChanges.push(change)
  }
  const count = last.watched?.count
  if (count !== undefined) await writeCount(tx, network, count)
  // A commit of several days may have written rows that are too old already.
  await expire(tx, commit, span, head)
  return watchChanges
}

/** Deletes old hours and missed duties when a new day begins. */
async function expire(
  tx: StateWriter,
  { network, time }: EpochCommit,
  { from, until }: Range,
  { hoursKeptDays, missedKeptDays }: NonNullable<EpochCommit['head']>,
): Promise<void> {
  const days = chainDays(time)
  const day = days.dayOf((until - 1) as Epoch)
  const isNewDay = from === 0 || days.dayOf((from - 1) as Epoch) < day
  if (!isNewDay) return
  if (hoursKeptDays > 0 && day >= hoursKeptDays) await dropHours(tx, network, time, day - hoursKeptDays + 1)
  if (missedKeptDays > 0 && day >= missedKeptDays) await dropMissedDuties(tx, network, time, day - missedKeptDays + 1)
}
