// Repairs a range of epochs: reads stored epochs again and replaces them, day part by day part, then reads those that
// are missing (behaviour/validators.md#repair-epochs).
//
// 1. All stored epochs of a day part are read and verified first. Then the part is replaced in one transaction. If an
//    epoch cannot be read, or the watch list no longer has a stored validator, the part stays as it is.
// 2. The first part that fails ends the repair. Parts before it stay replaced.
// 3. Segments end where coverage, stored hours, stored missed duties or the watch list change. So a new row covers the
//    same epochs and validators as the one that it replaces.
// 4. Missing epochs come last: epochs cannot be added to a damaged row. They are read up to the part that failed, so a
//    repair can continue there.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/contract/wire/validators.ts'
import type { Epoch } from '#core/chain-time.ts'
import { countIn, type Range, within } from '#core/ranges.ts'
import type { Duties } from '#storage/duties.ts'
import { pastLimits } from '../../duties/commit-past.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { type DayPart, partsIn, plainTime, segmentAt } from '../../duties/layout.ts'
import { RepairRefused, spanIsDamaged } from '../../duties/replace-days.ts'
import { keptThrough, type Watched } from '../../duties/watch-ranges.ts'
import { type ProcessedSegment, releaseBuffers, segmentBuffers, segmentColumns } from '../epochs/processed-segment.ts'
import { fillEpochs } from '../gaps/fill-epochs.ts'
import { missingEpochs } from '../gaps/find-gaps.ts'
import { type IngestSource, toCommitSegment } from '../write/ingest-source.ts'
import { omitsStored, pickValidators } from '../write/pick-validators.ts'
import { explainUnrepairable } from './explain-unrepairable.ts'

export interface Repaired extends Replaced {
  /** Missing epochs that were read. */
  readonly filled: number
}

interface Replaced {
  /** Day parts that were replaced, and their epochs. */
  readonly parts: number
  readonly epochs: number
  /** Validators whose figures were replaced by others. */
  readonly changed: number
  /** The first epochs that could not be replaced or read. */
  readonly failed?: { readonly fromEpoch: number; readonly untilEpoch: number; readonly reason: string }
}

type RepairSource = Pick<IngestSource, 'processor' | 'network' | 'time'> & { readonly duties: Duties }

/** Repairs of one process must not share a staging id. */
let lastId = 0

export async function repairEpochs(
  source: IngestSource,
  requested: Range,
  signal: AbortSignal,
  onProgress: (left: number) => void,
): Promise<Repaired> {
  const { network } = source
  const { duties } = source.context
  const problem = await explainUnrepairable(duties, network, requested)
  if (problem !== undefined) throw new RepairRefused(problem)
  const allMissing = countIn(await missingEpochs(duties, network, requested))
  const onReplaced = (left: number) => onProgress(left + allMissing)
  const replaced = await replaceEpochs({ ...source, duties }, requested, signal, onReplaced)
  const range = { from: requested.from, until: replaced.failed?.fromEpoch ?? requested.until }
  const missing = await missingEpochs(duties, network, range)
  if (missing.length === 0) return { filled: 0, ...replaced }
  try {
    await fillEpochs(source, range, signal, onProgress)
    signal.throwIfAborted()
    return { filled: countIn(missing), ...replaced }
  } catch (error) {
    const reason = reasonOf(error, signal)
    const left = await missingEpochs(duties, network, range)
    const { from: fromEpoch, until: untilEpoch } = left[0] ?? range
    const filled = countIn(missing) - countIn(left)
    return { filled, ...replaced, failed: { fromEpoch, untilEpoch, reason } }
  }
}

async function replaceEpochs(
  source: RepairSource,
  requested: Range,
  signal: AbortSignal,
  onProgress: (left: number) => void,
): Promise<Replaced> {
  const { duties, network, time } = source
  const covered = await coveredEpochs(duties, network)
  const stored = within(covered, requested)
  const parts = partsIn(time, requested).filter(({ epochs }) => within(stored, epochs).length > 0)
  if (parts.length > 0) await refuseDamagedSpans(source, parts, signal)
  const changed = new Set<number>()
  let left = parts.reduce((sum, { epochs }) => sum + countIn(within(covered, epochs)), 0)
  let [replacedParts, epochs] = [0, 0]
  for (const part of parts) {
    const ofPart = within(covered, part.epochs)
    const onSegment = (count: number) => {
      left -= count
      onProgress(left)
    }
    try {
      for (const validator of await repairPart(source, part, parts, signal, onSegment)) changed.add(validator)
    } catch (error) {
      const [first, last] = [ofPart[0], ofPart.at(-1)] as [Range, Range]
      const failed = { fromEpoch: first.from, untilEpoch: last.until, reason: reasonOf(error, signal) }
      return { parts: replacedParts, epochs, changed: changed.size, failed }
    }
    replacedParts += 1
    epochs += countIn(ofPart)
  }
  return { parts: replacedParts, epochs, changed: changed.size }
}

/** The message of an expected error. Others are bugs and thrown. By name: errors of other threads lose their class. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'the repair was stopped'
  const expectedErrors = [
    'BeaconError',
    'ContradictionError',
    'OtherChainError',
    'UnknownForkError',
    'FetchError',
    'RepairRefused',
    'Fault',
  ]
  if (!(error instanceof Error && expectedErrors.includes(error.name))) throw error
  return error.name === 'Fault' ? error.message.replace(/^[a-z]+\.[a-z_]+: /, '') : error.message
}

/** Checked first: reading epochs that cannot be replaced would take hours. */
async function refuseDamagedSpans(
  { duties, network, time }: RepairSource,
  parts: readonly DayPart[],
  signal: AbortSignal,
): Promise<void> {
  const [first, last] = [parts[0], parts.at(-1)]
  assert(first && last)
  const epochs = { from: first.epochs.from, until: last.epochs.until }
  const damaged = await duties.query('damagedSpans', { network, time: plainTime(time), epochs }, signal)
  const outside = damaged.find(({ from, until }) => from < epochs.from || until > epochs.until)
  if (outside) throw spanIsDamaged(network, outside)
}

/** Returns the validators whose figures changed. */
async function repairPart(
  source: RepairSource,
  part: DayPart,
  parts: readonly DayPart[],
  signal: AbortSignal,
  onSegment: (epochs: number) => void,
): Promise<Int32Array> {
  const { duties, processor, network, time } = source
  lastId += 1
  const id = lastId
  try {
    for (const range of await segmentsOf(source, part)) {
      signal.throwIfAborted()
      const read = await processor.processSegment({ ...range, isPast: true }, signal)
      const kept = selectKept(read, await keptThrough(duties, network, range), network)
      const input = { id, time: plainTime(time), segment: toCommitSegment(range, kept) }
      await duties.update('stageSegment', input, { transfer: segmentBuffers(kept) })
      releaseBuffers(segmentColumns(kept))
      releaseBuffers(segmentColumns(read))
      onSegment(range.until - range.from)
    }
    signal.throwIfAborted()
    const [first, last] = [parts[0], parts.at(-1)] as [DayPart, DayPart]
    return await duties.update('replacePart', {
      id,
      network,
      time: plainTime(time),
      epochs: part.epochs,
      parts: { from: first.number, until: last.number + 1 },
    })
  } finally {
    await duties.update('dropStage', { id })
  }
}

async function segmentsOf({ duties, network, time }: RepairSource, part: DayPart): Promise<Range[]> {
  const cuts = await pastLimits(duties, network)
  const ranges: Range[] = []
  for (const { from: first, until } of within(await coveredEpochs(duties, network), part.epochs)) {
    for (let from = first; from < until; ) {
      const end = Math.min(until, segmentAt(time, from as Epoch).epochs.until, ...cuts.filter((cut) => cut > from))
      ranges.push({ from, until: end })
      from = end
    }
  }
  return ranges
}

/** Reduces a segment to the validators that are stored in these epochs. Throws if one of them is no longer watched. */
function selectKept(segment: ProcessedSegment, stored: Watched, network: Network): ProcessedSegment {
  if (omitsStored(segment, stored)) {
    throw new RepairRefused(
      `some validators that are stored in these epochs are not on the watch list: put them back on validators.networks.${network}.watch`,
    )
  }
  return stored === 'everyone' ? segment : pickValidators(segment, (validator) => stored.has(validator))
}
