// What the ways to fill a gap have in common (fill-gaps.ts has the list).
import type { Range } from '#core/ranges.ts'
import type { IngestSource } from '../write/ingest-source.ts'
import type { OnStep } from './fill-epochs.ts'

/** Returns why nothing of the gap was filled; then the next way is tried. Undefined: some or all epochs were stored. */
export type FillWay = (gap: Range, signal: AbortSignal, onStep: OnStep) => Promise<string | undefined>

export type CreateFillWay = (source: IngestSource) => FillWay
