// Reads epochs that are missing before the end of the coverage (behaviour/validators.md#fill-gaps). This writes duties,
// missed duties, coverage and the ranges of watched validators only, because registry and scores are about the present.
import type { Network } from '#api/contract/wire/validators.ts'
import { errorMessage } from '#core/error-message.ts'
import type { Range } from '#core/ranges.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import type { ScoreHistory } from '../duties/score-history.ts'
import { hasLeft, keptThrough } from '../duties/watch-ranges.ts'
import { releaseBuffers, segmentColumns } from './epochs/processed-segment.ts'
import { type GapReason, storeGapReasons } from './gap-reasons.ts'
import { countEpochs, missingEpochs } from './gaps.ts'
import {
  commitSegments,
  coverageEnd,
  findGaps,
  type IngestSource,
  mergeAllDays,
  prepareIngest,
  segmentEnd,
} from './ingest-source.ts'
import { omitsStored } from './pick-validators.ts'
import { isStatesNotFound } from './read/states-not-found.ts'

/** Epochs that `fillGaps` reads at once, so that new epochs do not wait for long. */
const filledEpochsMax = 225

/** How often a process tries to compute one gap from blocks: each attempt reads all its blocks. */
const computeAttemptsMax = 24

/** Reports after each segment how many epochs are left to read. */
type OnStep = (left: number) => void

export type FillGaps = (signal: AbortSignal, onStep?: OnStep) => Promise<boolean>

/**
 * Reads missing epochs that a node has by now, or computes them from blocks, at most `filledEpochsMax`. Returns whether
 * there may be more of them. If not, or if it fails, stores why epochs are still missing (gap-reasons.ts).
 */
export function createFillGaps(source: IngestSource): FillGaps {
  const { context, network, processor } = source
  /** Attempts to compute a gap from blocks, by its first epoch, and the last result. */
  const attempts = new Map<number, { readonly count: number; readonly problem: string }>()

  /** Returns why nothing of the gap could be filled. */
  async function fillGap(gap: Range, signal: AbortSignal, onStep: OnStep): Promise<string | undefined> {
    const from = await processor.firstReadable(gap, signal)
    if (from !== undefined) {
      const readable = { from, until: Math.min(gap.until, from + filledEpochsMax) }
      // If a state before the epochs is missing, it must not keep other gaps from being filled.
      if ((await fillUnlessNotFound(source, readable, signal, onStep)) === undefined) return undefined
    }
    const problem = await computeGap(gap, signal, onStep)
    return problem && `${await processor.describeAnswers(gap.from, signal)}; ${problem}`
  }

  /** Computes a gap from blocks and stores it. Returns why this is not possible. */
  async function computeGap(gap: Range, signal: AbortSignal, onStep: OnStep): Promise<string | undefined> {
    const { count, problem: lastProblem } = attempts.get(gap.from) ?? { count: 0, problem: '' }
    if (count === computeAttemptsMax) return lastProblem
    const problem =
      (await computeEpochs(source, gap, signal)) ?? (await fillUnlessNotFound(source, gap, signal, onStep))
    if (problem !== undefined) attempts.set(gap.from, { count: count + 1, problem })
    return problem
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

/** Returns which states no node has. Undefined: the epochs were read. */
async function fillUnlessNotFound(
  source: IngestSource,
  epochs: Range,
  signal: AbortSignal,
  onStep: OnStep,
): Promise<string | undefined> {
  try {
    await fillEpochs(source, epochs, signal, onStep)
    return undefined
  } catch (error) {
    if (!isStatesNotFound(error)) throw error
    return error.message
  }
}

/** Computes the epochs of a gap from blocks. Returns why this is not possible. */
export async function computeEpochs(
  { context, network, processor }: IngestSource,
  { from, until }: Range,
  signal: AbortSignal,
): Promise<string | undefined> {
  // The state of the epoch before a readable one is known as well.
  const problem = await processor.computeEpochs({ from, until: until - 1 }, signal)
  if (problem !== undefined) return problem
  const message = 'no beacon node has the states of these epochs; they were computed from blocks and verified'
  context.log.info({ network, fromEpoch: from, untilEpoch: until - 1 }, message)
  return undefined
}

/** Reads the missing epochs of a range. Reports after each segment how many are left. Returns how many were read. */
export async function fillEpochs(
  source: IngestSource,
  epochs: Range,
  signal: AbortSignal,
  onStep: OnStep,
): Promise<number> {
  const { context, network, processor, time } = source
  await prepareIngest(source, signal)
  const missing = await missingEpochs(context.duties, network, epochs)
  if (await hasLeft(context.duties, network, epochs)) throw validatorsHaveLeft(network)
  const all = countEpochs(missing)
  let left = all
  for (const gap of missing) {
    let scores: ScoreHistory = new Map()
    for (let from = gap.from; from < gap.until && !signal.aborted; ) {
      const range = { from, until: segmentEnd(time, from, gap.until) }
      const segment = await processor.processSegment({ ...range, scores }, signal)
      // The list may have changed since the last epoch was stored with it.
      if (omitsStored(segment, await keptThrough(context.duties, network, range))) throw validatorsHaveLeft(network)
      await commitSegments(source, [{ epochs: range, segment }])
      releaseBuffers(segmentColumns(segment))
      scores = segment.scores
      from = range.until
      left -= range.until - range.from
      onStep(left)
      await source.recordHead(await coverageEnd(source), signal)
    }
  }
  await mergeAllDays(source, signal)
  return all - left
}

const validatorsHaveLeft = (network: Network): BeaconError =>
  new BeaconError(
    `${network}: some validators that are stored in these epochs are no longer on the watch list; filling the gaps now would omit them. ` +
      `Put them back on validators.networks.${network}.watch`,
  )
