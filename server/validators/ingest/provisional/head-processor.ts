// Computes the epochs between the stored ones and the head of the chain, which are not final yet
// (behaviour/validators.md#provisional-figures). In a server it runs on the thread that processes epochs.
//
// 1. An epoch can be computed when the head is two epochs later: votes are in the blocks of an epoch and of the next
//    one, and their rewards depend on the checkpoint after both.
// 2. The anchor of an epoch is the first block at or after the first slot two epochs later. The chain up to it determines
//    all figures of the epoch: since Gloas, a block decides whether the payload of its parent is part of the chain, and
//    the parent may be of an earlier epoch. After a reorganization, epochs with another anchor are computed again.
// 3. One node is read at a time. Nodes may have different heads, which is no contradiction.
import type { Block } from '#sources/beacon/block.ts'
import { type Beacon, BeaconError, type SingleBeacon } from '#sources/beacon/client.ts'
import { type ConsensusRules, epochAt, firstSlotAt, readableUntil } from '#sources/beacon/consensus.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import type { MissedDutyColumns } from '../../duties/missed.ts'
import { packFigures } from '../../duties/stage.ts'
import type { RegistryChanges } from '../../registry/sync-registry.ts'
import { SegmentProcessor } from '../epochs/segment-processor.ts'
import type { PendingEpochs, States } from '../read/epoch-source.ts'
import type { ExecutionSource } from '../read/execution.ts'
import { type CurrentDuties, createCurrentDutiesReader, type ReadCurrentDuties } from './current-duties.ts'

/** One epoch that is not final. Plain values, because it is sent to another thread. */
export interface ProvisionalEpoch {
  readonly epoch: number
  /** Root of the anchor block. */
  readonly anchor: string
  /** Packed rows of figures by group of 64 validators. */
  readonly figures: ReadonlyMap<number, Uint8Array>
  readonly missed: MissedDutyColumns
  /** Entries at the end of the epoch that differ from those of the provisional epoch before. */
  readonly registry: RegistryChanges
  /** In ascending order. Undefined: all validators have figures. */
  readonly watched: Int32Array | undefined
}

export interface HeadRequest {
  /** The first epoch that is not stored. */
  readonly next: number
}

/** What is known at the head of the chain. */
export interface HeadView {
  /** In order. */
  readonly epochs: readonly ProvisionalEpoch[]
  /** Undefined: they could not be read, or there is no provisional epoch. */
  readonly duties: CurrentDuties | undefined
}

export interface HeadProcessor {
  process(request: HeadRequest, signal: AbortSignal): Promise<HeadView>
}

export interface HeadProcessorOptions {
  readonly watch: readonly string[]
  readonly execution: ExecutionSource | undefined
  /** The states of one node. */
  readonly statesOf: (node: Beacon) => States
  /** If the chain does not finalize for long, only this many of the newest epochs are computed. */
  readonly epochsMax?: number
}

const epochsMaxDefault = 16

/** A processor on the current thread. */
export type LocalHeadProcessor = ReturnType<typeof createHeadProcessor>

export function createHeadProcessor(beacon: Beacon, initialOptions: HeadProcessorOptions) {
  const nodes = beacon.each()
  let options = initialOptions
  let current: readonly ProvisionalEpoch[] = []
  /** By epoch: the seats of payload committees, of the two epochs after the computed ones. */
  const seats = new Map<number, Uint32Array>()
  let dutiesReader:
    | { readonly node: Beacon; readonly rules: ConsensusRules; readonly read: ReadCurrentDuties }
    | undefined
  /** Continues after the last epoch, as long as the anchor of that epoch is canonical. */
  let active: { readonly node: Beacon; readonly segments: SegmentProcessor } | undefined
  /** The last successful run: head, first epoch and result. */
  let lastRun: { readonly root: string; readonly next: number; readonly view: HeadView } | undefined
  const states = new Map(nodes.map(({ beacon: node }) => [node, options.statesOf(node)]))

  async function processFrom(node: Beacon, request: HeadRequest, signal: AbortSignal): Promise<HeadView> {
    const chain = await node.chain(signal)
    const first = Math.max(0, request.next - 1)
    const work = (epochs: PendingEpochs) => processEpochs(node, chain, epochs, request, signal)
    const { blocks, isNew } = await (states.get(node) as States).readPending(first, signal, work)
    const head = blocks.at(-1)
    if (!head) throw new BeaconError('the node has no block since the last stored epoch')
    if (!isNew && lastRun) return lastRun.view
    const view = { epochs: current, duties: await readDuties(node, chain.rules, blocks, signal) }
    lastRun = { root: head.root, next: request.next, view }
    return view
  }

  /** Returns the blocks up to the newest one. */
  async function processEpochs(
    node: Beacon,
    chain: Chain,
    epochs: PendingEpochs,
    { next }: HeadRequest,
    signal: AbortSignal,
  ): Promise<{ readonly blocks: readonly Block[]; readonly isNew: boolean }> {
    const { rules } = chain
    const blocks = epochs.blocksFrom(0)
    const head = blocks.at(-1)
    if (!head || (lastRun?.root === head.root && lastRun.next === next)) return { blocks, isNew: false }
    const anchorOf = (epoch: number) => blocks.find(({ slot }) => slot >= firstSlotAt(rules, epoch + 2))?.root
    const until = Math.min(epochAt(rules, head.slot) - 1, readableUntil(rules))
    const from = Math.max(next, until - (options.epochsMax ?? epochsMaxDefault))
    dropOutdated(from, until, anchorOf)
    if (active?.node !== node) active = undefined
    for (let epoch = (current.at(-1)?.epoch ?? from - 1) + 1; epoch < until; epoch++) {
      const anchor = anchorOf(epoch)
      if (anchor === undefined) throw new BeaconError(`the node has no block from epoch ${epoch + 2} on`)
      active ??= { node, segments: new SegmentProcessor({ ...options, summarizesNetwork: false }) }
      const segment = await active.segments.process({ from: epoch, until: epoch + 1 }, epochs, chain, signal)
      const { missed, registry, watched, payloadSeats } = segment
      seats.clear()
      if (payloadSeats.now) seats.set(epoch + 1, payloadSeats.now)
      if (payloadSeats.next) seats.set(epoch + 2, payloadSeats.next)
      const figures = packFigures(segment)
      current = [...current, { epoch, anchor, figures, missed, registry, watched: watched?.validators }]
    }
    return { blocks, isNew: true }
  }

  /** A failure does not affect the provisional epochs. */
  async function readDuties(
    node: Beacon,
    rules: ConsensusRules,
    blocks: readonly Block[],
    signal: AbortSignal,
  ): Promise<CurrentDuties | undefined> {
    const newest = current.at(-1)
    const head = blocks.at(-1) as Block
    // The blocks and duties of an unknown fork cannot be read.
    if (!newest || epochAt(rules, head.slot) > readableUntil(rules)) return undefined
    // A fork may be scheduled while the server runs.
    if (dutiesReader?.node !== node || dutiesReader.rules !== rules)
      dutiesReader = { node, rules, read: createCurrentDutiesReader(node, rules) }
    try {
      return await dutiesReader.read(blocks, newest.watched && new Set(newest.watched), seats, signal)
    } catch (error) {
      signal.throwIfAborted()
      dutiesReader = undefined
      if (!(error instanceof BeaconError)) throw error
      return undefined
    }
  }

  /** Drops epochs that are stored by now, and those that are no longer on the canonical chain. */
  function dropOutdated(from: number, until: number, anchorOf: (epoch: number) => string | undefined): void {
    const kept: ProvisionalEpoch[] = []
    for (const entry of current) {
      if (entry.epoch < from) continue
      if (entry.epoch >= until || anchorOf(entry.epoch) !== entry.anchor) break
      kept.push(entry)
    }
    // Without its last epoch, the processor has data of another chain, or has to start elsewhere.
    if (current.at(-1) !== kept.at(-1)) active = undefined
    current = kept[0]?.epoch === from ? kept : []
    if (current.length === 0) active = undefined
  }

  return {
    /** Replaces the watch list. All epochs are computed again with the next call. */
    setWatch(watch: readonly string[]): void {
      options = { ...options, watch }
      current = []
      active = undefined
      lastRun = undefined
    },

    async process(request: HeadRequest, signal: AbortSignal): Promise<HeadView> {
      let failure: unknown = new BeaconError('no beacon node can be used')
      for (const node of healthyFirst(nodes)) {
        try {
          return await processFrom(node, request, signal)
        } catch (error) {
          signal.throwIfAborted()
          active = undefined
          lastRun = undefined
          if (!(error instanceof BeaconError)) throw error
          failure = error
        }
      }
      current = []
      throw failure
    },
  }
}

/** Nodes without an error come first, so that one that hangs does not delay every call. */
const healthyFirst = (nodes: readonly SingleBeacon[]): Beacon[] =>
  nodes
    .map(({ beacon }) => ({ beacon, hasFailed: beacon.health().some(({ lastError }) => lastError !== undefined) }))
    .sort((a, b) => Number(a.hasFailed) - Number(b.hasFailed))
    .map(({ beacon }) => beacon)
