// Holds epochs of a repair that were read again until they replace the stored ones (replace.ts). They are packed: half
// a day of a million validators does not fit in memory otherwise.
//
// 1. Staging the same segment twice changes nothing, because every write may be retried.
// 2. The repair drops its stage at the end. If the process ends first, nothing stored has changed.
import type { ChainTime, Epochs } from '#core/chain-time.ts'
import type { StateWriter } from '#storage/state.ts'
import { measures } from '../method/measures.ts'
import type { CommitSegment } from './commit.ts'
import { levels, segmentAt, toStored } from './layout.ts'
import { missedDutiesIn, packMissedDuties } from './missed.ts'
import type { NetworkSegment } from './network-rows.ts'
import { packCells } from './pack-row.ts'
import { Cells } from './row-format.ts'
import type { UnexplainedChange } from './unexplained.ts'
import { type Segment, SegmentRows } from './write.ts'

export interface StagedSegment extends NetworkSegment {
  readonly epochs: Epochs
  /** Packed rows by group of 64 validators. */
  readonly figures: ReadonlyMap<number, Uint8Array>
  readonly missed: ReadonlyMap<number, Uint8Array>
  readonly unexplained: readonly UnexplainedChange[]
}

export interface StageInput {
  /** Identifies the repair. */
  readonly id: number
  readonly time: ChainTime
  readonly segment: CommitSegment
}

const stages = new Map<number, Map<number, StagedSegment>>()

export async function stageSegment(_: StateWriter, { id, time, segment }: StageInput): Promise<void> {
  const { epochs, missed, unexplained, network } = segment
  const stage = stages.getOrInsertComputed(id, () => new Map())
  const { part } = segmentAt(time, epochs.from)
  stage.set(epochs.from, {
    epochs,
    unexplained,
    network,
    figures: packFigures(segment),
    missed: packMissedDuties(time, part, missedDutiesIn(missed)),
  })
}

const cells = new Cells(levels.days.validators, measures.length)

/** Packed rows by group of 64 validators. */
export function packFigures(segment: Pick<Segment, 'validator' | 'sums'>): ReadonlyMap<number, Uint8Array> {
  const rows = new SegmentRows(segment)
  return new Map(
    rows.groups.map((group) => {
      cells.clear()
      rows.addTo(cells, group)
      toStored(cells)
      return [group, packCells(cells)]
    }),
  )
}

export async function dropStage(_: StateWriter, { id }: { readonly id: number }): Promise<void> {
  stages.delete(id)
}

export const hasStages = (): boolean => stages.size > 0

/** In order. */
export const stagedSegments = (id: number): readonly StagedSegment[] =>
  [...(stages.get(id)?.values() ?? [])].sort((a, b) => a.epochs.from - b.epochs.from)
