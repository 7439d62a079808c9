// Reads and processes the epochs of a segment into columns that can be stored. It accesses nodes and the records of
// states on disk, but no store. In a server it therefore runs on a thread of its own (processor-thread.ts,
// decisions/decode-epochs-on-a-separate-thread.md).
//
// 1. Segments are requested in order, one at a time. A request that starts where the last segment ended confirms the
//    last segment. A request with the same start repeats it from the same initial state.
// 2. For a request that starts anywhere else, the previous epoch is processed first, with the stored scores.
import type { Range } from '#core/ranges.ts'
import { type Beacon, BeaconError, ContradictionError, type SingleBeacon } from '#sources/beacon/client.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { createBeaconQueries } from '../read/beacon-queries.ts'
import { NodeComparison } from '../read/compare-nodes.ts'
import { EpochReader } from '../read/epoch-reader.ts'
import type { ExecutionSource } from '../read/execution.ts'
import { describeAnswers, findFirstReadable, type HeadRecording, recordHead } from '../read/head-recorder.ts'
import type { StateRecords } from '../read/state-records.ts'
import { isStatesNotFound, StatesNotFoundError } from '../read/states-not-found.ts'
import { ReplayError } from '../replay/chain-replay.ts'
import { createEpochAudit } from './audit.ts'
import type { AcceptRemainder } from './process-epoch.ts'
import type { ProcessedSegment, SegmentRequest } from './processed-segment.ts'
import { SegmentProcessor, type SegmentSource, warmUpMax } from './segment-processor.ts'

export interface EpochProcessor {
  /** The next segment can be processed while this one is written. */
  readonly isOnOtherThread: boolean
  chain(signal?: AbortSignal): Promise<Chain>
  finalizedEpoch(signal: AbortSignal): Promise<number>
  processSegment(request: SegmentRequest, signal: AbortSignal): Promise<ProcessedSegment>
  /**
   * Records the states of epochs that are not final. `next`: the first epoch that is not stored yet. `gaps`: those whose
   * records are kept, to compute them later.
   */
  recordHead(next: number, gaps: readonly Range[], signal: AbortSignal): Promise<HeadRecording>
  /** The first epoch of a range whose states can be read; undefined: none. Throws unless every node has responded. */
  firstReadable(epochs: Range, signal: AbortSignal): Promise<number | undefined>
  /** What each node answers to a request for a state of the epoch. */
  describeAnswers(epoch: number, signal: AbortSignal): Promise<string>
  /**
   * Computes epochs without states from blocks. The next segments use the result. Returns why it is not possible;
   * undefined: it is done. `until`: an epoch whose state can be read.
   */
  computeEpochs(epochs: Range, signal: AbortSignal): Promise<string | undefined>
  /** Replaces the watch list, for the segments after this call. */
  setWatch(names: readonly string[]): Promise<void>
}

export interface EpochProcessorOptions {
  readonly watch?: readonly string[]
  /** Validators of each epoch whose rewards are compared with those of the node; 0: none. */
  readonly auditValidators?: number
  readonly execution?: ExecutionSource | undefined
  /** Whether several nodes are compared with each other. Default: true. */
  readonly comparesNodes?: boolean
  /** Undefined: states are not recorded. */
  readonly records?: StateRecords | undefined
}

/** A processor on the current thread. */
export function createEpochProcessor(
  beacon: Beacon,
  { watch = [], auditValidators = 0, execution, comparesNodes = true, records }: EpochProcessorOptions = {},
): EpochProcessor {
  const comparison = comparesNodes && beacon.each().length > 1 ? new NodeComparison() : undefined
  const audit = auditValidators > 0 ? createEpochAudit(beacon, auditValidators) : undefined
  const segments = new SegmentProcessor({ watch, execution, audit })
  /** Unexplained balance differences that two nodes agree on. */
  const agreed = new Set<string>()
  let hasGivenUpRecords = false
  /** Why epochs that were computed from blocks were not accepted. */
  let computedProblem: string | undefined

  const readRules = async (signal: AbortSignal) => (await beacon.chain(signal)).rules

  /**
   * If responses contradict each other, reads each node separately and uses the first one without contradiction. Records
   * of states are used only if a node does not have the states: one of them may be what is wrong.
   */
  async function processWithAnyNode(request: SegmentRequest, signal: AbortSignal): Promise<ProcessedSegment> {
    const nodes = beacon.each()
    const accept: AcceptRemainder = (remainder) => agreed.has(remainder)
    let contradiction: ContradictionError
    try {
      return await processFrom({ beacon, records, accept }, request, signal)
    } catch (error) {
      if (!(error instanceof ContradictionError)) throw error
      if (segments.isComputed(request.from)) {
        computedProblem = error.message
        throw new StatesNotFoundError(`epoch ${request.from} was computed from blocks, but ${error.message}`)
      }
      segments.startAgain(request.from)
      const [only, second] = nodes
      contradiction = only && !second ? withNodeName(error, only.name) : error
      if (!second && !records) throw contradiction
    }
    return processWithOneNode(nodes, request, contradiction, signal)
  }

  async function processFrom(
    source: SegmentSource,
    request: SegmentRequest,
    signal: AbortSignal,
  ): Promise<ProcessedSegment> {
    const segment = await segments.process(request, source, await beacon.chain(signal), signal)
    segments.continueWith({ beacon, records })
    hasGivenUpRecords = false
    return segment
  }

  async function processWithOneNode(
    nodes: readonly SingleBeacon[],
    request: SegmentRequest,
    first: ContradictionError,
    signal: AbortSignal,
  ): Promise<ProcessedSegment> {
    const contradictions: { readonly node: SingleBeacon; readonly error: ContradictionError }[] = []
    let isOfRecordsOnly = true
    let failure: unknown
    const trusted = nodes.filter(({ isDistrusted }) => !isDistrusted())
    const all = records
    // Most nodes have the states since finality, so that the records of these epochs are not needed.
    const lastRecord = all && Math.max(request.from, ((await readFinalizedEpoch(signal)) ?? 0) - 1)
    const sources = (trusted.length > 0 ? trusted : nodes).flatMap((node) => [
      { node, records: undefined },
      ...(all ? [all.upTo(lastRecord ?? 0), all].map((records) => ({ node, records })) : []),
    ])
    for (const { node, records } of sources) {
      // If two nodes agree on a difference, the rules are probably incomplete, not the nodes wrong.
      const accept: AcceptRemainder = (remainder) => {
        const isSame = ({ node: other, error }: (typeof contradictions)[number]) =>
          other !== node && error.remainder === remainder
        if (contradictions.some(isSame)) agreed.add(remainder)
        return agreed.has(remainder)
      }
      try {
        const segment = await processFrom({ beacon: node.beacon, records, accept }, request, signal)
        // Those that were not used may be what was wrong. They are recorded again.
        if (records !== all) await all?.remove({ from: (lastRecord ?? 0) + 1, until: request.until + 2 })
        const isAgreed = ({ remainder }: ContradictionError) => remainder !== undefined && agreed.has(remainder)
        for (const { node: other, error } of contradictions)
          if (other !== node && !isAgreed(error)) other.distrust(error.message)
        const settled = contradictions.map(({ error }) =>
          isAgreed(error)
            ? `${error.message}; ${node.name} returns the same, so it was stored`
            : `${error.message}; used ${node.name}`,
        )
        return { ...segment, settled }
      } catch (error) {
        signal.throwIfAborted()
        segments.startAgain(request.from)
        if (!(error instanceof BeaconError)) throw error
        const isContradiction = error instanceof ContradictionError
        if (isContradiction) contradictions.push({ node, error: withNodeName(error, node.name) })
        if (isContradiction ? !records : !isStatesNotFound(error)) isOfRecordsOnly = false
        failure = error
      }
    }
    const last = contradictions.at(-1)?.error
    if (all && last && isOfRecordsOnly && (await giveUpRecords(all, request)))
      throw new StatesNotFoundError(`no node has the states any more, and the recorded ones are wrong: ${last.message}`)
    throw last ?? (isStatesNotFound(failure) ? first : failure)
  }

  /**
   * Deletes the records of an epoch that contradict the blocks, so that ingest can continue after it. Only once in a
   * row: if the next epochs are contradictory as well, a node is wrong. False: the contradiction stops ingest.
   */
  async function giveUpRecords(records: StateRecords, { from, until }: SegmentRequest): Promise<boolean> {
    if (hasGivenUpRecords) return false
    // A range is first divided into single epochs.
    if (until - from > 1) return true
    hasGivenUpRecords = true
    await records.remove({ from: from + 1, until: until + 2 })
    return true
  }

  async function readFinalizedEpoch(signal: AbortSignal): Promise<number | undefined> {
    return createBeaconQueries(beacon, await readRules(signal), signal).finalizedEpoch('head')
  }

  return {
    isOnOtherThread: false,
    setWatch: async (names) => segments.setWatch(names),
    chain: (signal) => beacon.chain(signal),
    async finalizedEpoch(signal) {
      const epoch = await readFinalizedEpoch(signal)
      if (epoch === undefined) throw new BeaconError('the node did not return the finalized epoch')
      return epoch
    },
    async recordHead(next, gaps, signal) {
      if (!records) return { recorded: [], dropped: [], failure: undefined }
      return recordHead({ beacon, records }, await readRules(signal), next - 1 - warmUpMax, signal, gaps)
    },
    async firstReadable(epochs, signal) {
      const recorded = new Set(await records?.epochs())
      return findFirstReadable(beacon, await readRules(signal), recorded, epochs, signal)
    },
    describeAnswers: async (epoch, signal) => describeAnswers(beacon, await readRules(signal), epoch, signal),
    async computeEpochs(epochs, signal) {
      if (segments.isComputed(epochs.from)) {
        segments.dropComputed()
        return computedProblem ?? 'the computed epochs could not be processed'
      }
      computedProblem = undefined
      const reader = new EpochReader(beacon, await readRules(signal), records).withSignal(signal)
      try {
        segments.addComputed(await reader.computeEpochs(epochs), reader)
      } catch (error) {
        if (error instanceof ReplayError || isStatesNotFound(error)) return error.message
        throw error
      }
      return undefined
    },
    async processSegment(request, signal) {
      const segment = await processWithAnyNode(request, signal)
      if (!comparison) return segment
      const last = request.until - 1
      return { ...segment, notCompared: await comparison.compare(beacon.each(), await readRules(signal), last, signal) }
    },
  }
}

const withNodeName = (error: ContradictionError, node: string): ContradictionError =>
  new ContradictionError(`${error.message}; node ${node}`, error.remainder)
