// Reads epochs again that are stored, and replaces what is stored of them, day part by day part.
//
// 1. All stored epochs of a day part are read and verified as ingest does it before anything of the part is replaced, in one
//    transaction. What cannot be supplied (by the node, or because the watch list has changed) leaves the part as it was.
// 2. The first part that fails ends the repair. Parts before it stay replaced.
// 3. Segments are cut where coverage, kept hours, kept missed duties or the watch list change, so that what replaces a row is about
//    the same epochs and validators as the row.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/wire/validators.ts'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import { type Range, within } from '#core/ranges.ts'
import type { Duties } from '#storage/duties.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { hourEpochs } from '../duties/hours.ts'
import { type DayPart, partsIn, plainTime, segmentAt } from '../duties/layout.ts'
import { type MissedField, missedEpochs, missedFields } from '../duties/missed.ts'
import { blockIsDamaged, RepairRefused } from '../duties/replace-days.ts'
import type { ScoreHistory } from '../duties/scores.ts'
import { queryDuties, updateDuties } from '../duties/store.ts'
import { keptThrough, type Watched, watchChanges } from '../duties/watch-ranges.ts'
import { type Measure, measures } from '../ratings/measures.ts'
import {
  type EpochProcessor,
  type ProcessedSegment,
  releaseBuffers,
  segmentBuffers,
  segmentColumns,
} from './epochs/epoch-processor.ts'
import { countEpochs, explainUnrepairable } from './gaps.ts'

export interface Repaired {
  /** Day parts that were replaced, and their epochs. */
  readonly parts: number
  readonly epochs: number
  /** Validators of which something was stored that is different now. */
  readonly changed: number
  /** The first part that could not be replaced. */
  readonly failed?: RepairFailure
}

export interface RepairFailure {
  readonly fromEpoch: number
  readonly untilEpoch: number
  readonly reason: string
}

export interface RepairSource {
  readonly duties: Duties
  readonly processor: EpochProcessor
  readonly network: Network
  readonly time: ChainTime
}

/** Stages of one process must not share an id. */
let lastId = 0

export async function repairEpochs(
  source: RepairSource,
  requested: Range,
  signal: AbortSignal,
  onProgress: (left: number) => void,
): Promise<Repaired> {
  const { duties, network, time } = source
  const why = await explainUnrepairable(duties, network, requested)
  if (why !== undefined) throw new RepairRefused(why)
  const covered = await coveredEpochs(duties, network)
  const parts = partsIn(time, requested).filter(({ epochs }) => within(covered, epochs).length > 0)
  await refuseDamagedBlocks(source, parts, signal)
  const changed = new Set<number>()
  let left = parts.reduce((sum, { epochs }) => sum + countEpochs(within(covered, epochs)), 0)
  let [done, epochs] = [0, 0]
  for (const part of parts) {
    const own = within(covered, part.epochs)
    const onSegment = (count: number) => {
      left -= count
      onProgress(left)
    }
    try {
      for (const validator of await repairPart(source, part, parts, signal, onSegment)) changed.add(validator)
    } catch (error) {
      const [first, last] = [own[0], own.at(-1)] as [Range, Range]
      const failed = { fromEpoch: first.from, untilEpoch: last.until, reason: reasonOf(error, signal) }
      return { parts: done, epochs, changed: changed.size, failed }
    }
    done += 1
    epochs += countEpochs(own)
  }
  return { parts: done, epochs, changed: changed.size }
}

/** What nodes cannot supply and what is refused is a reason. Everything else is a defect, and is thrown. By name: threads keep no classes. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'the repair was stopped'
  const isReason = ['BeaconError', 'ContradictionError', 'FetchError', 'RepairRefused', 'Fault']
  if (!(error instanceof Error && isReason.includes(error.name))) throw error
  return error.name === 'Fault' ? error.message.replace(/^[a-z]+\.[a-z_]+: /, '') : error.message
}

/** Before hours are spent on reading epochs that cannot be replaced. */
async function refuseDamagedBlocks(
  { duties, network, time }: RepairSource,
  parts: readonly DayPart[],
  signal: AbortSignal,
): Promise<void> {
  const [first, last] = [parts[0], parts.at(-1)]
  assert(first && last)
  const epochs = { from: first.epochs.from, until: last.epochs.until }
  const damaged = await queryDuties(duties, 'damagedBlocks', { network, time: plainTime(time), epochs }, signal)
  const outside = damaged.find(({ from, until }) => from < epochs.from || until > epochs.until)
  if (outside) throw blockIsDamaged(network, outside)
}

/** Returns the validators that have changed. */
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
    let before: { readonly at: number; readonly scores: ScoreHistory } | undefined
    for (const span of await spansOf(source, part)) {
      signal.throwIfAborted()
      const scores = before?.at === span.from ? before.scores : new Map()
      const read = await processor.processSegment({ ...span, scores }, signal)
      before = { at: span.until, scores: read.scores }
      const kept = selectKept(read, await keptThrough(duties, network, span), network)
      const { validator, sums, missed, audits, unexplained } = kept
      const segment = {
        epochs: { from: span.from as Epoch, until: span.until as Epoch },
        ...{ validator, sums, missed, audits, unexplained },
      }
      const transfer = segmentBuffers(kept).filter(({ detached }) => !detached)
      await updateDuties(duties, 'stageSegment', { id, time: plainTime(time), segment }, { transfer })
      releaseBuffers(segmentColumns(kept))
      releaseBuffers(segmentColumns(read))
      onSegment(span.until - span.from)
    }
    signal.throwIfAborted()
    const [first, last] = [parts[0], parts.at(-1)] as [DayPart, DayPart]
    const { changed } = await updateDuties(duties, 'replacePart', {
      ...{ id, network, time: plainTime(time), epochs: part.epochs },
      parts: { from: first.part, until: last.part + 1 },
    })
    return changed
  } finally {
    await updateDuties(duties, 'dropStage', { id })
  }
}

async function spansOf({ duties, network, time }: RepairSource, part: DayPart): Promise<Range[]> {
  const kept = [...(await hourEpochs(duties, network)), ...(await missedEpochs(duties, network))]
  const cuts = [...kept.flatMap(({ from, until }) => [from, until]), ...(await watchChanges(duties, network))]
  const spans: Range[] = []
  for (const { from: first, until } of within(await coveredEpochs(duties, network), part.epochs)) {
    for (let from = first; from < until; ) {
      const end = Math.min(until, segmentAt(time, from as Epoch).epochs.until, ...cuts.filter((cut) => cut > from))
      spans.push({ from, until: end })
      from = end
    }
  }
  return spans
}

/** The part of a piece that was kept then. Whoever was kept then and is not read now cannot be supplied. */
function selectKept(segment: ProcessedSegment, then: Watched, network: Network): ProcessedSegment {
  const { watched, validator, sums, missed } = segment
  const now = watched && new Set(watched.validators)
  const isMissing = (one: number) => one < (watched?.count ?? 0) && !now?.has(one)
  if (now && (then === 'everyone' || [...then].some(isMissing))) {
    throw new RepairRefused(
      `validators are stored in these epochs that are not on the watch list: put them back on validators.networks.${network}.watch`,
    )
  }
  if (then === 'everyone') return segment
  const pick = <C extends Float64Array | Int32Array>(column: C, validators: Int32Array): C =>
    column.filter((_, at) => then.has(validators[at] as number)) as C
  return {
    ...segment,
    validator: pick(validator, validator),
    sums: Object.fromEntries(measures.map((name) => [name, pick(sums[name], validator)])) as Record<
      Measure,
      Float64Array
    >,
    missed: Object.fromEntries(missedFields.map((name) => [name, pick(missed[name], missed.validator)])) as Record<
      MissedField,
      Int32Array
    >,
  }
}
