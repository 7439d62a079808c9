// Reads epochs that are missing before the end of the coverage (behaviour/validators.md#fill-gaps). This writes duties,
// missed duties, coverage and the ranges of watched validators only, because registry and scores are about the present.
import type { Network } from '#api/wire/validators.ts'
import { holes, type Range } from '#core/ranges.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import type { ScoreHistory } from '../duties/scores.ts'
import { hasLeft, keptThrough } from '../duties/watch-ranges.ts'
import { releaseBuffers, segmentColumns } from './epochs/epoch-processor.ts'
import { countEpochs, missingEpochs } from './gaps.ts'
import {
  commitSegments,
  configuredStart,
  coverageEnd,
  type IngestSource,
  mergeAllDays,
  prepareIngest,
  segmentEnd,
} from './ingest-source.ts'
import { omitsStored } from './pick-validators.ts'

/** Epochs that `fillGaps` reads at once, so that new epochs do not wait for long. */
const filledEpochsMax = 225

/** Reads missing epochs that a node has by now, at most `filledEpochsMax`. Returns whether there may be more of them. */
export async function fillGaps(
  source: IngestSource,
  signal: AbortSignal,
  onStep: (left: number) => void,
): Promise<boolean> {
  const covered = await coveredEpochs(source.context.duties, source.network)
  const [first, last] = [covered[0], covered.at(-1)]
  if (!first || !last) return false
  const span = { from: Math.min(first.from, configuredStart(source, first.from)), until: last.until }
  for (const gap of holes(covered, span).reverse()) {
    const from = await source.processor.firstReadable(gap, signal)
    if (from === undefined) continue
    await fillEpochs(source, { from, until: Math.min(gap.until, from + filledEpochsMax) }, signal, onStep)
    return true
  }
  return false
}

/** Reads the missing epochs of a range. Reports after each segment how many are left. Returns how many were read. */
export async function fillEpochs(
  source: IngestSource,
  epochs: Range,
  signal: AbortSignal,
  onStep: (left: number) => void,
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
      const span = { from, until: segmentEnd(time, from, gap.until) }
      const segment = await processor.processSegment({ ...span, scores }, signal)
      // The list may have changed since the last epoch was stored with it.
      if (omitsStored(segment, await keptThrough(context.duties, network, span))) throw validatorsHaveLeft(network)
      await commitSegments(source, [{ span, segment }])
      releaseBuffers(segmentColumns(segment))
      scores = segment.scores
      from = span.until
      left -= span.until - span.from
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
