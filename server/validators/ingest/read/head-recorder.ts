// Records the states of epochs that are not final yet, while the node still has them
// (behaviour/validators.md#nodes-that-prune-states).
//
// 1. Each record is read from one node: two nodes may follow different forks.
// 2. The newest block is read before and after the states, and the anchor block again if it is another one. If the
//    anchor block has changed, the states are read again with the next poll. After a reorganization the new fork has
//    another anchor block, and so another record.
import type { Range } from '#core/ranges.ts'
import { type Beacon, BeaconError, type SingleBeacon } from '#sources/beacon/client.ts'
import { type ConsensusRules, epochAt, firstSlotAt, readableUntil } from '#sources/beacon/consensus.ts'
import { type BlockHeader, type BlockLink, createBeaconQueries, type QuerySource } from './beacon-queries.ts'
import { BlockSearch } from './block-search.ts'
import { EpochReader } from './epoch-reader.ts'
import { isFileError, type StateRecords } from './state-records.ts'

export interface HeadRecording {
  /** Epochs that were recorded. */
  readonly recorded: readonly number[]
  /** Epochs that are needed but were deleted, because too many epochs are not final. */
  readonly dropped: readonly number[]
  /** Why not all epochs could be recorded. */
  readonly failure: string | undefined
}

/** Records of this many epochs are kept: fourteen hours of mainnet without finality. */
const epochsMaxDefault = 128
/** Records before a gap that are kept, to compute the gap from one of them. The newest may be of another fork. */
const keptBeforeGap = 5

export interface HeadRecords {
  readonly beacon: Beacon
  readonly records: StateRecords
  /** The newest epochs whose records are kept, however long the chain is not final. */
  readonly epochsMax?: number
}

/**
 * `neededFrom`: records of earlier epochs are deleted, except for the last ones before a gap. `gaps`: known gaps, whose
 * records are kept, and those on both sides.
 */
export async function recordHead(
  { beacon, records, epochsMax = epochsMaxDefault }: HeadRecords,
  rules: ConsensusRules,
  neededFrom: number,
  signal: AbortSignal,
  gaps: readonly Range[] = [],
): Promise<HeadRecording> {
  const recorded: number[] = []
  const failures: string[] = []
  let dropped: readonly number[] = []
  const attempt = async (work: () => Promise<void>): Promise<boolean> => {
    try {
      await work()
      return true
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof BeaconError || isFileError(error))) throw error
      failures.push(error.message)
      return false
    }
  }
  const recordFrom = async (node: Beacon) => {
    const queries = createBeaconQueries(node, rules, signal)
    const head = await queries.head()
    const finalizedEpoch = await queries.finalizedEpoch('head')
    if (!head || finalizedEpoch === undefined) throw new BeaconError('the node did not return its newest block')
    // States of an unknown fork cannot be read.
    const until = Math.min(epochAt(rules, head.slot) + 1, readableUntil(rules) + 1)
    const findAnchor = createAnchorSearch({ queries, rules })
    // The newest first: if reading them takes long, the node may delete the others, but these can still be used.
    for (let epoch = until - 1; epoch >= Math.max(finalizedEpoch, neededFrom, until - epochsMax); epoch--) {
      const anchor = await findAnchor(epoch)
      if (!anchor || (await records.has(epoch, anchor.root))) continue
      const parts = await new EpochReader(node, rules).withSignal(signal).readStateParts(epoch)
      const isUnchanged = (await queries.head())?.root === head.root
      if (!isUnchanged && (await createAnchorSearch({ queries, rules })(epoch))?.root !== anchor.root) continue
      await records.write({ ...parts, anchor })
      recorded.push(epoch)
    }
  }
  for (const node of healthyFirst(beacon.each())) {
    if (!(await attempt(() => recordFrom(node)))) continue
    failures.length = 0
    break
  }
  await attempt(async () => {
    await removeBefore(records, neededFrom, gaps)
    dropped = await dropOldest(records, epochsMax)
  })
  return { recorded, dropped, failure: failures[0] }
}

/**
 * Deletes the records before an epoch, except for those that gaps are computed from. If one of the next epochs has no
 * record, there is a gap after it, which is computed from the last records before it.
 */
async function removeBefore(records: StateRecords, epoch: number, gaps: readonly Range[]): Promise<void> {
  const epochs = await records.epochs()
  const lastBefore = (until: number) => epochs.filter((at) => at < until).slice(-keptBeforeGap)
  const isComplete = Array.from({ length: keptBeforeGap }, (_, at) => epoch + at).every((at) => epochs.includes(at))
  const keepFrom = isComplete ? epoch : (lastBefore(epoch)[0] ?? epoch)
  // The last epoch of a gap is processed with the states of the two epochs after it.
  const isOfGap = (at: number) => gaps.some(({ from, until }) => at >= (lastBefore(from)[0] ?? from) && at <= until + 1)
  await records.removeBefore(keepFrom, new Set(epochs.filter(isOfGap)))
}

/** Returns the deleted epochs. */
async function dropOldest(records: StateRecords, epochsMax: number): Promise<number[]> {
  const epochs = await records.epochs()
  const dropped = epochs.slice(0, Math.max(0, epochs.length - epochsMax))
  if (dropped.length > 0) await records.removeBefore((dropped.at(-1) as number) + 1)
  return dropped
}

/** Each node on its own. Requests to a node that has failed wait, so the others come first. */
export const healthyFirst = (all: readonly SingleBeacon[]): Beacon[] => {
  const nodes = all.filter(({ isDistrusted }) => !isDistrusted())
  const hasFailed = (node: Beacon) => node.health().some(({ lastError }) => lastError !== undefined)
  return nodes.map((node) => node.beacon).sort((a, b) => Number(hasFailed(a)) - Number(hasFailed(b)))
}

/** Finds the newest block at or before the first slot of an epoch. Call it for one epoch after the other, the newest first. */
function createAnchorSearch(source: QuerySource): (epoch: number) => Promise<BlockLink | undefined> {
  const search = new BlockSearch(source)
  let anchor: BlockHeader | undefined
  return async (epoch) => {
    const firstSlot = firstSlotAt(source.rules, epoch)
    // The slots up to the later epoch are empty.
    if (anchor && anchor.slot <= firstSlot) return anchor
    anchor = (await source.queries.header(firstSlot)) ?? (await search.findBefore(firstSlot))
    return anchor
  }
}

/**
 * The first epoch of a range that can be processed: it, the epoch before it and the two after it have states, in a
 * record or at a node. Undefined: none. Throws unless every node has responded.
 */
export async function findFirstReadable(
  beacon: Beacon,
  rules: ConsensusRules,
  recordedEpochs: ReadonlySet<number>,
  { from, until }: Range,
  signal: AbortSignal,
): Promise<number | undefined> {
  const lowest = Math.max(0, from - 1)
  let availableFrom = until + 2
  // Nodes delete their oldest states first, so a binary search finds the first one.
  for (let searchFrom = lowest; searchFrom < availableFrom; ) {
    const middle = availableFrom === until + 2 ? until + 1 : Math.floor((searchFrom + availableFrom) / 2)
    if (await hasStates(beacon, rules, middle, signal)) availableFrom = middle
    else searchFrom = middle + 1
  }
  const isAvailable = (epoch: number) => epoch < 0 || epoch >= availableFrom || recordedEpochs.has(epoch)
  for (let epoch = from; epoch < until; epoch++)
    if ([epoch - 1, epoch, epoch + 1, epoch + 2].every(isAvailable)) return epoch
  return undefined
}

/** What each node answers to a request for a state of the epoch. */
export async function describeAnswers(
  beacon: Beacon,
  rules: ConsensusRules,
  epoch: number,
  signal: AbortSignal,
): Promise<string> {
  const answers: string[] = []
  for (const node of beacon.each()) {
    const hasState = await nodeHasStates(node, rules, epoch, signal)
    answers.push(
      hasState
        ? `${node.name} has the state of epoch ${epoch}, but not those of the epochs around it`
        : `${node.name} has no state of epoch ${epoch} (${node.lastNotFound() ?? 'not found'})`,
    )
  }
  return answers.join('; ')
}

/** Whether any node has states of the epoch. Asks each of them, also those that failed before. */
async function hasStates(beacon: Beacon, rules: ConsensusRules, epoch: number, signal: AbortSignal): Promise<boolean> {
  for (const node of beacon.each()) if (await nodeHasStates(node, rules, epoch, signal)) return true
  return false
}

async function nodeHasStates(
  { name, beacon, isDistrusted }: SingleBeacon,
  rules: ConsensusRules,
  epoch: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (isDistrusted())
    throw new BeaconError(`it is unknown whether ${name} has the states of epoch ${epoch}: it contradicted itself`)
  const queries = createBeaconQueries(beacon, rules, signal)
  const firstSlot = firstSlotAt(rules, epoch)
  for (let slot = firstSlot; slot < firstSlot + rules.slotsPerEpoch; slot++) {
    if ((await queries.finalizedEpoch(slot)) !== undefined) return true
    // Some nodes have no states of empty slots. This slot has a block, so its state was deleted.
    if (await queries.header(slot)) return false
  }
  return false
}
