// Fills gaps: epochs that are missing before the end of the coverage (behaviour/validators.md#fill-gaps).
import { errorMessage } from '#core/error-message.ts'
import type { Range } from '#core/ranges.ts'
import type { IngestSource } from '../write/ingest-source.ts'
import { createComputeGap } from './compute-gap.ts'
import { type GapReason, storeGapReasons } from './explain-gaps.ts'
import type { OnStep } from './fill-epochs.ts'
import type { CreateFillWay } from './fill-way.ts'
import { findGaps } from './find-gaps.ts'
import { createReadGap } from './read-gap.ts'

export type FillGaps = (signal: AbortSignal, onStep?: OnStep) => Promise<boolean>

/** Tried in this order. Each file begins with when the way applies, what it proves and what it costs. */
const waysToFillGap: readonly CreateFillWay[] = [
  createReadGap, // a node has the states by now
  createComputeGap, // compute the epochs from blocks
]

/**
 * Fills the newest gap that can be filled, or a part of it. Returns whether there may be more of them. If not, or if it
 * fails, stores why epochs are still missing (explain-gaps.ts).
 */
export function createFillGaps(source: IngestSource): FillGaps {
  const { context, network, processor } = source
  const ways = waysToFillGap.map((create) => create(source))

  /** Returns why nothing of the gap could be filled. */
  async function fillGap(gap: Range, signal: AbortSignal, onStep: OnStep): Promise<string | undefined> {
    let problem: string | undefined
    for (const fillWay of ways) {
      problem = await fillWay(gap, signal, onStep)
      if (problem === undefined) return undefined
    }
    return `${await processor.describeAnswers(gap.from, signal)}; ${problem}`
  }

  return async (signal, onStep = () => {}) => {
    const reasons: GapReason[] = []
    const store = () => storeGapReasons(context.ingest, network, reasons, context.clock.now())
    for (const gap of (await findGaps(source)).reverse()) {
      try {
        const reason = await fillGap(gap, signal, onStep)
        if (reason === undefined) return true
        reasons.push({ ...gap, reason })
      } catch (error) {
        signal.throwIfAborted()
        reasons.push({ ...gap, reason: errorMessage(error) })
        await store()
        throw error
      }
    }
    await store()
    return false
  }
}
