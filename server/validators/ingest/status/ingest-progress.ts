// What the ingest of a network reports about its progress.
import type { ScheduledFork } from '#sources/beacon/next-fork.ts'
import type { UnexplainedBalanceChanges } from '../../duties/unexplained.ts'
import type { ProcessedSegment } from '../epochs/processed-segment.ts'

export interface IngestProgress {
  /** As the nodes schedule it. */
  readonly nextFork?: ScheduledFork
  /** Nodes, or the execution layer, that schedule other forks. Undefined: none does. */
  readonly otherForks?: string
  /** End of the coverage. */
  readonly until: number
  readonly finalizedEpoch: number
  readonly written: number
}

/** Reported after each written segment. */
export interface IngestStep extends IngestProgress {
  readonly unexplainedBalanceChanges: UnexplainedBalanceChanges
}

export function summarizeStep({ unexplained }: ProcessedSegment): Pick<IngestStep, 'unexplainedBalanceChanges'> {
  const sum = (of: (change: UnexplainedBalanceChanges) => number) =>
    unexplained.reduce((total, change) => total + of(change), 0)
  return {
    unexplainedBalanceChanges: {
      validators: sum(({ validators }) => validators),
      inGwei: sum(({ inGwei }) => inGwei),
      outGwei: sum(({ outGwei }) => outGwei),
    },
  }
}
