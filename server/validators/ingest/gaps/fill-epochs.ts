// Reads the missing epochs of a range and stores them, for filling gaps and for repairs
// (behaviour/validators.md#fill-gaps). Writes duties, missed duties, coverage and the ranges of watched validators only,
// because registry and scores are about the present.
import type { Network } from '#api/contract/wire/validators.ts'
import { countIn, type Range } from '#core/ranges.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import { hasLeft, keptThrough } from '../../duties/watch-ranges.ts'
import { releaseBuffers, segmentColumns } from '../epochs/processed-segment.ts'
import { commitSegments, type IngestSource, mergeAllDays, prepareIngest, segmentEnd } from '../write/ingest-source.ts'
import { omitsStored } from '../write/pick-validators.ts'
import { missingEpochs } from './find-gaps.ts'

/** Reports after each segment how many epochs are left to read. */
export type OnStep = (left: number) => void

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
  const all = countIn(missing)
  let left = all
  for (const gap of missing) {
    for (let from = gap.from; from < gap.until && !signal.aborted; ) {
      const range = { from, until: segmentEnd(time, from, gap.until) }
      const segment = await processor.processSegment({ ...range, isPast: true }, signal)
      // The list may have changed since the last epoch was stored with it.
      if (omitsStored(segment, await keptThrough(context.duties, network, range))) throw validatorsHaveLeft(network)
      await commitSegments(source, [{ epochs: range, segment }])
      releaseBuffers(segmentColumns(segment))
      from = range.until
      left -= range.until - range.from
      onStep(left)
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
