// What the ways to continue after a missing state have in common (missing-states.ts has the list).
import type { Range } from '#core/ranges.ts'
import type { SkippedEpochs } from '../status/ingest-progress.ts'
import type { IngestSource } from '../write/ingest-source.ts'

/** What the ingest of a network keeps from one missing state to the next. */
export interface MissingStatesContext {
  readonly source: IngestSource
  /** Before this epoch, each epoch is processed on its own. */
  singleUntil: number
  /** Skipped epochs at the end of the coverage. */
  skipped: SkippedEpochs | undefined
  /** Searches for an epoch that can be read, in this run. */
  searches: number
}

/** No node and no record has the states of the segment that starts with the first of these epochs. */
export interface MissingStatesEvent {
  /** The epochs that are left to read. */
  readonly epochs: Range
  readonly segmentEnd: number
  readonly reason: string
  /** The first later epoch that can be read; undefined: none yet. */
  readonly findReadable: () => Promise<number | undefined>
  readonly signal: AbortSignal
  /** Why the epochs cannot be computed from blocks, if this was tried. */
  problem: string | undefined
}

/** Returns the epoch to continue with. Undefined: it does not apply, and the next way is tried. */
export type ContinueWay = (context: MissingStatesContext, event: MissingStatesEvent) => Promise<number | undefined>

/** Skipped epochs that the missing one continues. */
export const skippedBefore = ({ skipped }: MissingStatesContext, { epochs }: MissingStatesEvent) =>
  skipped?.until === epochs.from || skipped?.from === epochs.from ? skipped : undefined
