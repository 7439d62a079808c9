// Reads stored epochs again for validators that were added to the watch list later
// (behaviour/validators.md#watch-lists).
//
// 1. One call reads at most one segment, so that new epochs do not wait. The oldest missing one that can be read comes
//    first, because states are computed in this order.
// 2. Only rows of added validators are written, together with their ranges (../../duties/commit-past.ts). What is missing
//    follows from the ranges alone, so reading continues after a restart.
// 3. The past of a validator starts `watchPastDays` chain days before the day it was added in.

import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainDay, type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import { countIn, holes, merge, type Range, within } from '#core/ranges.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../../context.ts'
import { pastLimits } from '../../duties/commit-past.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { plainTime, segmentAt } from '../../duties/layout.ts'
import { everyone, keptThrough, missingPast } from '../../duties/watch-ranges.ts'
import { type ProcessedSegment, releaseBuffers, segmentBuffers, segmentColumns } from '../epochs/processed-segment.ts'
import { isStatesNotFound } from '../read/epoch-source.ts'
import { type IngestSource, mergeAllDays, prepareIngest, toCommitSegment } from '../write/ingest-source.ts'
import { pickValidators } from '../write/pick-validators.ts'

/** What is missing of the past of added validators. */
export interface MissingPast {
  /** Validators with missing epochs. If the list was removed, all others count as one. */
  readonly validators: number
  /** Epochs to read. An epoch that several validators lack counts once. */
  readonly epochs: number
}

function findMissing(
  { duties, settings }: Pick<ValidatorsContext, 'duties' | 'settings'>,
  network: Network,
  covered: readonly Range[],
): Promise<ReadonlyMap<number, readonly Range[]>> {
  const time = networkSettings(settings, network)
  return missingPast(duties, network, covered, (added) => pastStart(time, added, time.watchPastDays))
}

function pastStart(time: ChainTime, added: number, days: number): number {
  if (days === 0) return added
  const calendar = chainDays(time)
  const day = calendar.dayOf(added as Epoch)
  return calendar.epochsOf(Math.max(0, day - days) as ChainDay).from
}

/** Cached until the next write. */
export const readMissingPast = async (
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'validators'>,
  network: Network,
): Promise<MissingPast> =>
  context.validators.missingPast(context.duties, network, async () => {
    const missing = await findMissing(context, network, await coveredEpochs(context.duties, network))
    return { validators: missing.size, epochs: countIn(merge([...missing.values()].flat())) }
  })

/**
 * `unreadable`: nothing has the states of these epochs. `computing`: their states are being computed, call it again.
 * `refused`: what the node returned is not consistent. `left`: epochs that are still to be read.
 */
export type PastStep =
  | { readonly is: 'complete' }
  | { readonly is: 'unreadable'; readonly epochs: Range }
  | { readonly is: 'computing'; readonly epochs: Range }
  | { readonly is: 'refused'; readonly epochs: Range; readonly reason: string }
  | { readonly is: 'read'; readonly epochs: Range; readonly validators: number; readonly left: number }

/** Reads the oldest missing segment from this epoch on. */
export async function fillPast(source: IngestSource, after: number, signal: AbortSignal): Promise<PastStep> {
  const { context, network, processor, time } = source
  const { duties } = context
  const missing = await findMissing(context, network, await coveredEpochs(duties, network))
  const all = merge([...missing.values()].flat())
  const wanted = within(all, { from: after, until: Number.POSITIVE_INFINITY })
  const [first, last] = [wanted[0], wanted.at(-1)]
  if (!first || !last) return { is: 'complete' }
  await prepareIngest(source, signal)
  const epochs = { from: first.from, until: last.until }
  const readable = await processor.firstReadable(epochs, signal)
  const [next] = readable === undefined ? [] : within(wanted, { from: readable, until: last.until })
  if (!next) return { is: 'unreadable', epochs }
  const limits = (await pastLimits(duties, network)).filter((limit) => limit > next.from)
  const range = {
    from: next.from,
    until: Math.min(next.until, segmentAt(time, next.from as Epoch).epochs.until, ...limits),
  }
  const segment = await processSegment(source, range, signal)
  if ('is' in segment) return segment
  // A validator that was just removed from the list is still stored at present, but the segment does not have it.
  const watched = segment.watched && new Set(segment.watched.validators)
  const added = [...missing]
    .filter(([validator, ranges]) => holes(ranges, range).length === 0 && (watched?.has(validator) ?? true))
    .map(([validator]) => validator)
  if (added.length === 0) return { is: 'complete' }
  const kept = await keptThrough(duties, network, range)
  const addedSet = new Set(added)
  const isKept = (validator: number) => kept === 'everyone' || kept.has(validator)
  const isAdded = (validator: number) => addedSet.has(validator) || (addedSet.has(everyone) && !isKept(validator))
  const picked = { ...pickValidators(segment, isAdded), watched: undefined }
  releaseBuffers(segmentColumns(segment))
  const commit = { network, time: plainTime(time), segment: toCommitSegment(range, picked), validators: added }
  await duties.update('commitPast', commit, { transfer: segmentBuffers(picked) })
  const left = countIn(all) - (range.until - range.from)
  if (left === 0) await mergeAllDays(source, signal)
  return { is: 'read', epochs: range, validators: added.length, left }
}

async function processSegment(
  { processor }: IngestSource,
  range: Range,
  signal: AbortSignal,
): Promise<ProcessedSegment | PastStep> {
  try {
    if (!(await processor.preparePast(range, signal))) return { is: 'computing', epochs: range }
    return await processor.processSegment({ ...range, isPast: true }, signal)
  } catch (error) {
    if (isStatesNotFound(error)) return { is: 'unreadable', epochs: range }
    // By name: errors of other threads lose their class.
    if (error instanceof Error && error.name === 'ContradictionError')
      return { is: 'refused', epochs: range, reason: error.message }
    throw error
  }
}
