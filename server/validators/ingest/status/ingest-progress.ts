// What the ingest of a network reports about its progress.
import type { Range } from '#core/ranges.ts'
import type { ScheduledFork } from '#sources/beacon/next-fork.ts'
import type { UnexplainedBalanceChanges } from '../../duties/audits.ts'
import type { ProcessedSegment } from '../epochs/processed-segment.ts'

export interface IngestProgress {
  /** As the nodes schedule it. */
  readonly nextFork?: ScheduledFork
  /** End of the coverage. */
  readonly until: number
  readonly finalizedEpoch: number
  readonly written: number
  readonly skipped?: SkippedEpochs
  /** The last gap that this process has left. */
  readonly lastGap?: SkippedEpochs
  /** Nodes that were not compared with the others when the last segment was stored, and why. */
  readonly notCompared?: readonly string[]
}

/** Epochs after the end of the coverage that no node has. Ingest waits for the first epoch after them. */
export interface SkippedEpochs extends Range {
  /** The finalized epoch when ingest began to wait. */
  readonly finalizedEpoch: number
  /** Why they cannot be computed from blocks, if this was tried. */
  readonly problem?: string
}

/** Reported after each written segment. */
export interface IngestStep extends IngestProgress {
  /** Rewards that were compared with those of the node, and how many differ. */
  readonly compared: number
  readonly differing: number
  readonly unexplainedBalanceChanges: UnexplainedBalanceChanges
}

export function summarizeStep({
  audits,
  unexplained,
  notCompared,
}: ProcessedSegment): Pick<IngestStep, 'compared' | 'differing' | 'unexplainedBalanceChanges' | 'notCompared'> {
  const sum = <T>(list: readonly T[], of: (item: T) => number) => list.reduce((total, item) => total + of(item), 0)
  return {
    ...(notCompared && { notCompared }),
    compared: sum(audits, (line) => line.compared),
    differing: sum(audits, (line) => line.differing),
    unexplainedBalanceChanges: {
      validators: sum(unexplained, (change) => change.validators),
      inGwei: sum(unexplained, (change) => change.inGwei),
      outGwei: sum(unexplained, (change) => change.outGwei),
    },
  }
}
