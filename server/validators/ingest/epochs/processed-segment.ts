// What the epoch processor returns for a segment: columns that can be stored. They are transferred between threads, not
// copied, and released when they have been written.
import type { Range } from '#core/ranges.ts'
import type { Block } from '#sources/beacon/block.ts'
import type { MissedDutyColumns } from '#validators/duties/missed.ts'
import type { NetworkRows } from '#validators/duties/network-rows.ts'
import type { UnexplainedChange } from '#validators/duties/unexplained.ts'
import type { WatchedNow } from '#validators/duties/watch-ranges.ts'
import type { Segment } from '#validators/duties/write.ts'
import type { RegistryChanges } from '#validators/registry/sync-registry.ts'

export interface SegmentRequest extends Range {
  /** Earlier epochs are read while those at the head continue. */
  readonly isPast?: true
}

/** Of the states and blocks of a segment. */
export interface SegmentAlerts {
  /** By watched validators, in ascending order, without votes. */
  readonly proposed: readonly Block[]
  /** The queue of deposits after the segment, as in the state. Undefined: the watch list has no keys and addresses. */
  readonly deposits: Uint8Array | undefined
}

export interface ProcessedSegment extends Pick<Segment, 'validator' | 'sums'> {
  readonly registry: RegistryChanges
  readonly missed: MissedDutyColumns
  /** Epochs with balance changes that the rules do not explain. */
  readonly unexplained: readonly UnexplainedChange[]
  /** By slot: the seats of the payload committees in the two epochs after the segment. Undefined: unknown, or before Gloas. */
  readonly payloadSeats: { readonly now: Uint32Array | undefined; readonly next: Uint32Array | undefined }
  /** Undefined: there is no watch list. */
  readonly watched: WatchedNow | undefined
  /** What alerts examine. Undefined: there is no watch list, or the segment is of the past. */
  readonly alerts: SegmentAlerts | undefined
  /** What all validators did, if there is a watch list. */
  readonly network: NetworkRows | undefined
}

/** All columns of a segment whose length depends on the size of the network. */
export const segmentColumns = ({ validator, sums, missed, registry, watched }: ProcessedSegment): ArrayBufferView[] => [
  validator,
  ...Object.values(sums),
  ...Object.values(missed),
  ...Object.values(registry),
  ...(watched ? [watched.validators] : []),
]

/** The buffers that are transferred to another thread instead of being copied. */
export const segmentBuffers = (segment: ProcessedSegment): ArrayBuffer[] =>
  [...new Set(segmentColumns(segment).map(({ buffer }) => buffer as ArrayBuffer))].filter(({ detached }) => !detached)

/** Frees the memory at once, without waiting for garbage collection. The columns must not be used afterwards. */
export function releaseBuffers(columns: readonly ArrayBufferView[]): void {
  for (const { buffer } of columns) if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}
