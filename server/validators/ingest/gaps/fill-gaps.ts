// Fills gaps: epochs that are missing before the end of the coverage (behaviour/validators.md#fill-gaps).
import { BeaconError } from '#sources/beacon/client.ts'
import { type IngestSource, segmentEnd } from '../write/ingest-source.ts'
import { type GapReason, storeGapReasons } from './explain-gaps.ts'
import type { OnStep } from './fill-epochs.ts'
import { fillEpochs } from './fill-epochs.ts'
import { findGaps } from './find-gaps.ts'

/** A node lacks something, or returns something wrong. */
const nodeErrors = new Set(['BeaconError', 'ContradictionError', 'ServerStatusError', 'StatesNotFoundError'])

export type FillGaps = (signal: AbortSignal, onStep?: OnStep) => Promise<boolean>

/**
 * Fills the newest gap that can be filled, or a part of it. Returns whether there may be more of them. If not, stores why
 * epochs are still missing (explain-gaps.ts).
 */
export function createFillGaps(source: IngestSource): FillGaps {
  const { context, network } = source
  return async (signal, onStep = () => {}) => {
    const reasons: GapReason[] = []
    const store = () => storeGapReasons(context.ingest, network, reasons, context.clock.now())
    for (const gap of (await findGaps(source)).reverse()) {
      try {
        const from = await source.processor.firstReadable(gap, signal)
        if (from === undefined) throw new BeaconError('no snapshot is older, and no node has a state before them')
        // One segment at once, so that new epochs do not wait for long.
        const part = { from, until: segmentEnd(source.time, from, gap.until) }
        if (await source.processor.preparePast(part, signal)) await fillEpochs(source, part, signal, onStep)
        return true
      } catch (error) {
        signal.throwIfAborted()
        // By name: errors of other threads lose their class.
        if (!(error instanceof Error && nodeErrors.has(error.name))) throw error
        reasons.push({ ...gap, reason: error.message })
      }
    }
    await store()
    return false
  }
}
