// Reads and processes the epochs of a segment into columns that can be stored. It accesses nodes and the records of
// states on disk, but no store. In a server it therefore runs on a thread of its own (processor-thread.ts,
// decisions/decode-epochs-on-a-separate-thread.md).
//
// 1. Segments are requested in order, one at a time. A request that starts where the last segment ended confirms the
//    last segment. A request with the same start repeats it from the same initial state.
// 2. For a request that starts anywhere else, the previous epoch is processed first, with the stored scores.
import { strict as assert } from 'node:assert'
import type { Range } from '#core/ranges.ts'
import { type Beacon, BeaconError, ContradictionError, type SingleBeacon } from '#sources/beacon/client.ts'
import { epochAt, readableUntil } from '#sources/beacon/consensus.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { withdrawalAddressOf } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { AuditLine, UnexplainedChange } from '#validators/duties/audits.ts'
import type { MissedDutyColumns } from '#validators/duties/missed.ts'
import type { ScoreHistory } from '#validators/duties/score-history.ts'
import type { WatchedNow } from '#validators/duties/watch-ranges.ts'
import type { Segment } from '#validators/duties/write.ts'
import { toHex } from '#validators/registry/registry.ts'
import {
  findRegistryChanges,
  type RegistryChanges,
  type RegistrySnapshot,
  takeRegistrySnapshot,
} from '#validators/registry/sync-registry.ts'
import { BeaconQueries } from '../read/beacon-queries.ts'
import { NodeComparison } from '../read/compare-nodes.ts'
import { EpochReader, isStatesNotFound, type ReadEpoch, StatesNotFoundError } from '../read/epoch-reader.ts'
import type { ExecutionSource } from '../read/execution.ts'
import { describeAnswers, findFirstReadable, HeadRecorder, type HeadRecording } from '../read/head-recorder.ts'
import { settleBalances } from '../read/settle-balances.ts'
import type { RecordReader, StateRecords } from '../read/state-records.ts'
import { ReplayError } from '../replay/chain-replay.ts'
import { createWatchList, type WatchList } from '../watch-list.ts'
import { chooseSample, compareRewards } from './audit.ts'
import { appendScores } from './inactivity-scores.ts'
import { MissedDutyCollector } from './missed-duties.ts'
import {
  type AcceptRemainder,
  type Carry,
  type ProcessedEpoch,
  processEpoch,
  verifyVoteRewards,
} from './process-epoch.ts'
import { Sums } from './sums.ts'

export interface SegmentRequest {
  readonly from: number
  readonly until: number
  /** The stored scores of the epochs before `from`. */
  readonly scores: ScoreHistory
}

export interface ProcessedSegment extends Pick<Segment, 'validator' | 'sums'> {
  readonly scores: ScoreHistory
  readonly registry: RegistryChanges
  readonly missed: MissedDutyColumns
  /** Epochs with balance changes that duties do not explain. */
  readonly unexplained: readonly UnexplainedChange[]
  readonly audits: readonly AuditLine[]
  /** Contradictions of one node that another node resolved. */
  readonly settled: readonly string[]
  /** Nodes that were not compared with the others, and why. Undefined: there is only one node. */
  readonly notCompared?: readonly string[] | undefined
  /** Undefined: there is no watch list. */
  readonly watched: WatchedNow | undefined
}

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

/** The initial state of a segment. */
interface SegmentStart {
  readonly at: number
  readonly carry: Carry | undefined
  readonly scores: ScoreHistory
  /** What the registry already has. */
  readonly knownRegistry: RegistrySnapshot | undefined
}

/** Epochs that are processed before the first one, if a node lacks the state at an epoch boundary. */
const warmUpMax = 4
/** After a failed audit, the next one is skipped for this many epochs. */
const auditRestEpochs = 225

export class LocalEpochProcessor implements EpochProcessor {
  readonly isOnOtherThread = false
  readonly #beacon: Beacon
  #watch: WatchList
  readonly #auditValidators: number
  readonly #execution: ExecutionSource | undefined
  readonly #records: StateRecords | undefined
  readonly #comparison: NodeComparison | undefined
  readonly #sums = new Sums()
  readonly #missedDuties = new MissedDutyCollector()
  #reader: EpochReader | undefined
  #starts: readonly SegmentStart[] = []
  /** Unexplained balance differences that two nodes agree on. */
  readonly #agreed = new Set<string>()
  #hasGivenUpRecords = false
  #knownRegistry: Pick<SegmentStart, 'at' | 'knownRegistry'> | undefined
  #auditFromEpoch = 0
  /** Epochs that were computed from blocks and are not stored yet. */
  readonly #computed = new Map<number, ReadEpoch>()
  /** Why they were not accepted. */
  #computedProblem: string | undefined

  constructor(
    beacon: Beacon,
    { watch = [], auditValidators = 0, execution, comparesNodes = true, records }: EpochProcessorOptions = {},
  ) {
    this.#beacon = beacon
    this.#comparison = comparesNodes && beacon.each().length > 1 ? new NodeComparison() : undefined
    this.#watch = createWatchList(watch)
    this.#auditValidators = auditValidators
    this.#execution = execution
    this.#records = records
  }

  async setWatch(names: readonly string[]): Promise<void> {
    this.#watch = createWatchList(names)
    // The registry lacks validators that were not on the list.
    this.#starts = this.#starts.map((start) => ({ ...start, knownRegistry: undefined }))
    this.#knownRegistry = undefined
  }

  chain(signal?: AbortSignal): Promise<Chain> {
    return this.#beacon.chain(signal)
  }

  async finalizedEpoch(signal: AbortSignal): Promise<number> {
    const { rules } = await this.chain(signal)
    this.#reader ??= new EpochReader(this.#beacon, rules, this.#records)
    return this.#reader.withSignal(signal).finalizedEpoch()
  }

  async recordHead(next: number, gaps: readonly Range[], signal: AbortSignal): Promise<HeadRecording> {
    if (!this.#records) return { recorded: [], dropped: [], failure: undefined }
    const { rules } = await this.chain(signal)
    return new HeadRecorder(this.#beacon, this.#records).record(rules, next - 1 - warmUpMax, signal, gaps)
  }

  async firstReadable(epochs: Range, signal: AbortSignal): Promise<number | undefined> {
    const { rules } = await this.chain(signal)
    return findFirstReadable(this.#beacon, rules, new Set(await this.#records?.epochs()), epochs, signal)
  }

  async describeAnswers(epoch: number, signal: AbortSignal): Promise<string> {
    const { rules } = await this.chain(signal)
    return describeAnswers(this.#beacon, rules, epoch, signal)
  }

  async computeEpochs(epochs: Range, signal: AbortSignal): Promise<string | undefined> {
    if (this.#computed.has(epochs.from)) {
      this.#computed.clear()
      return this.#computedProblem ?? 'the computed epochs could not be processed'
    }
    this.#computedProblem = undefined
    const { rules } = await this.chain(signal)
    const reader = new EpochReader(this.#beacon, rules, this.#records).withSignal(signal)
    try {
      for (const data of await reader.computeEpochs(epochs)) this.#computed.set(data.epoch, data)
    } catch (error) {
      if (error instanceof ReplayError || isStatesNotFound(error)) return error.message
      throw error
    }
    this.#reader = reader
    this.#starts = []
    return undefined
  }

  async processSegment(request: SegmentRequest, signal: AbortSignal): Promise<ProcessedSegment> {
    const segment = await this.#processWithAnyNode(request, signal)
    if (!this.#comparison) return segment
    const { rules } = await this.chain(signal)
    const notCompared = await this.#comparison.compare(this.#beacon.each(), rules, request.until - 1, signal)
    return { ...segment, notCompared }
  }

  /**
   * If responses contradict each other, reads each node separately and uses the first one without contradiction. Records
   * of states are used only if a node does not have the states: one of them may be what is wrong.
   */
  async #processWithAnyNode(request: SegmentRequest, signal: AbortSignal): Promise<ProcessedSegment> {
    const nodes = this.#beacon.each()
    const source = { beacon: this.#beacon, records: this.#records }
    let contradiction: ContradictionError
    try {
      return await this.#process(request, source, (remainder) => this.#agreed.has(remainder), signal)
    } catch (error) {
      if (!(error instanceof ContradictionError)) throw error
      if (this.#computed.has(request.from)) {
        this.#computedProblem = error.message
        throw new StatesNotFoundError(`epoch ${request.from} was computed from blocks, but ${error.message}`)
      }
      this.#startAgain(request.from)
      const [only, second] = nodes
      contradiction = only && !second ? withNodeName(error, only.name) : error
      if (!second && !this.#records) throw contradiction
    }
    return this.#processWithOneNode(nodes, request, contradiction, signal)
  }

  async #processWithOneNode(
    nodes: readonly SingleBeacon[],
    request: SegmentRequest,
    first: ContradictionError,
    signal: AbortSignal,
  ): Promise<ProcessedSegment> {
    const contradictions: { readonly node: SingleBeacon; readonly error: ContradictionError }[] = []
    let isOfRecordsOnly = true
    let failure: unknown
    const trusted = nodes.filter(({ isDistrusted }) => !isDistrusted())
    const all = this.#records
    // Most nodes have the states since finality, so that the records of these epochs are not needed.
    const lastRecord = all && Math.max(request.from, (await this.#finalizedAt(signal)) - 1)
    const sources = (trusted.length > 0 ? trusted : nodes).flatMap((node) => [
      { node, records: undefined },
      ...(all ? [all.upTo(lastRecord ?? 0), all].map((records) => ({ node, records })) : []),
    ])
    for (const { node, records } of sources) {
      // If two nodes agree on a difference, the rules are probably incomplete, not the nodes wrong.
      const accept: AcceptRemainder = (remainder) => {
        const isSame = ({ node: other, error }: (typeof contradictions)[number]) =>
          other !== node && error.remainder === remainder
        if (contradictions.some(isSame)) this.#agreed.add(remainder)
        return this.#agreed.has(remainder)
      }
      try {
        const segment = await this.#process(request, { beacon: node.beacon, records }, accept, signal)
        // Those that were not used may be what was wrong. They are recorded again.
        if (records !== all) await all?.remove({ from: (lastRecord ?? 0) + 1, until: request.until + 2 })
        const isAgreed = ({ remainder }: ContradictionError) => remainder !== undefined && this.#agreed.has(remainder)
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
        this.#startAgain(request.from)
        if (!(error instanceof BeaconError)) throw error
        const isContradiction = error instanceof ContradictionError
        if (isContradiction) contradictions.push({ node, error: withNodeName(error, node.name) })
        if (isContradiction ? !records : !isStatesNotFound(error)) isOfRecordsOnly = false
        failure = error
      }
    }
    const last = contradictions.at(-1)?.error
    if (all && last && isOfRecordsOnly && (await this.#giveUpRecords(all, request)))
      throw new StatesNotFoundError(`no node has the states any more, and the recorded ones are wrong: ${last.message}`)
    throw last ?? (isStatesNotFound(failure) ? first : failure)
  }

  /**
   * Deletes the records of an epoch that contradict the blocks, so that ingest can continue after it. Only once in a
   * row: if the next epochs are contradictory as well, a node is wrong. False: the contradiction stops ingest.
   */
  async #giveUpRecords(records: StateRecords, { from, until }: SegmentRequest): Promise<boolean> {
    if (this.#hasGivenUpRecords) return false
    // A range is first divided into single epochs.
    if (until - from > 1) return true
    this.#hasGivenUpRecords = true
    await records.remove({ from: from + 1, until: until + 2 })
    return true
  }

  async #finalizedAt(signal: AbortSignal): Promise<number> {
    const { rules } = await this.chain(signal)
    return (await new BeaconQueries(this.#beacon, rules, signal).finalizedEpoch('head')) ?? 0
  }

  /** Drops everything that was read, except what is known to be in the registry. */
  #startAgain(from: number): void {
    const knownRegistry = this.#starts.find(({ at }) => at === from)?.knownRegistry
    if (knownRegistry) this.#knownRegistry = { at: from, knownRegistry }
    this.#reader = undefined
    this.#starts = []
  }

  async #process(
    { from, until, scores: stored }: SegmentRequest,
    { beacon, records }: { readonly beacon: Beacon; readonly records: RecordReader | undefined },
    accept: AcceptRemainder,
    signal: AbortSignal,
  ): Promise<ProcessedSegment> {
    const chain = await this.chain(signal)
    this.#reader ??= new EpochReader(beacon, chain.rules, records)
    const reader = this.#reader.withSignal(signal)
    const start = this.#starts.find(({ at }) => at === from) ?? (await this.#startAt(reader, chain, from, stored))
    // The previous segment has been written: release the memory of its start.
    this.#starts = [start]
    for (const epoch of this.#computed.keys()) if (epoch < from) this.#computed.delete(epoch)
    let { carry, scores } = start
    let last: Validators | undefined
    let countBefore = 0
    const [unexplained, audits]: [UnexplainedChange[], AuditLine[]] = [[], []]
    this.#sums.clear()
    this.#missedDuties.clear()
    for (let epoch = from; epoch < until; epoch++) {
      signal.throwIfAborted()
      const data = this.#computed.get(epoch) ?? (await reader.read(epoch))
      settleBalances(data, carry)
      if (epoch === from) countBefore = data.now.count
      const blocks = data.blocks.filter(({ slot }) => epochAt(chain.rules, slot) === epoch)
      const addressOf = (proposer: number) => {
        const address = withdrawalAddressOf(data.now, proposer)
        return address && toHex(address)
      }
      const execution = await this.#execution?.read(blocks, addressOf, signal)
      const processed = processEpoch(chain.rules, { ...data, execution }, carry, this.#sums, { accept })
      this.#missedDuties.collect(chain.rules, data, processed.votes, processed.effects)
      audits.push(...(await this.#audit(chain, epoch, processed, signal)))
      if (processed.unexplainedBalanceChanges.validators > 0)
        unexplained.push({ epoch, ...processed.unexplainedBalanceChanges })
      carry = processed.carry
      scores = appendScores(scores, epoch, carry.scores)
      last = data.next
    }
    assert(carry && last, 'a segment has at least one epoch')
    const ahead =
      this.#computed.get(until) ?? (until < readableUntil(chain.rules) ? await reader.readAhead(until) : undefined)
    if (ahead) verifyVoteRewards(chain.rules, ahead, carry, accept)
    const kept = this.#watch.kept(last)
    const registry = findRegistryChanges(last, start.knownRegistry, kept)
    this.#starts = [start, { at: until, carry, scores, knownRegistry: takeRegistrySnapshot(last) }]
    const watched = kept && { validators: listIndices(kept), countBefore, count: kept.length }
    const isKept = (index: number) => kept?.[index] !== 0
    const missed = this.#missedDuties.take(isKept)
    reader.continueWith(this.#beacon, this.#records)
    this.#hasGivenUpRecords = false
    const common = { missed, scores, registry, unexplained, audits, watched }
    return { ...this.#sums.take(isKept), ...common, settled: [] }
  }

  /** The start of a segment that does not follow the last one. */
  async #startAt(reader: EpochReader, chain: Chain, from: number, scores: ScoreHistory): Promise<SegmentStart> {
    this.#starts = []
    const knownRegistry = this.#knownRegistry?.at === from ? this.#knownRegistry.knownRegistry : undefined
    if (from === 0) return { at: from, carry: undefined, scores, knownRegistry }
    const carry = await this.#warmUp(reader, chain, from - 1, scores, warmUpMax)
    const storedScores = scores.get(from - 1)
    return { at: from, carry: storedScores ? { ...carry, scores: storedScores } : carry, scores, knownRegistry }
  }

  async #warmUp(
    reader: EpochReader,
    chain: Chain,
    epoch: number,
    scores: ScoreHistory,
    passes: number,
  ): Promise<Carry> {
    const data = this.#computed.get(epoch) ?? (await reader.read(epoch))
    const needsBefore = data.boundary.awaitsRewards && epoch > 0
    if (needsBefore && passes === 0) {
      throw new StatesNotFoundError(`the node has no states at the start of the epochs around ${epoch}`)
    }
    const before = needsBefore ? await this.#warmUp(reader, chain, epoch - 1, scores, passes - 1) : undefined
    settleBalances(data, before)
    return processEpoch(chain.rules, data, before, this.#sums, { startScores: scores.get(epoch - 1) }).carry
  }

  /** Compares a sample with the rewards of the node. A node without this endpoint does not delay ingest. */
  async #audit(
    chain: Chain,
    epoch: number,
    processed: ProcessedEpoch,
    signal: AbortSignal,
  ): Promise<readonly AuditLine[]> {
    if (this.#auditValidators === 0 || epoch < this.#auditFromEpoch) return []
    const queries = new BeaconQueries(this.#beacon, chain.rules, signal)
    try {
      const lines = await compareRewards(
        queries,
        epoch,
        processed,
        chooseSample(epoch, processed, this.#auditValidators),
      )
      const compared = lines.filter(({ compared }) => compared > 0)
      if (compared.length === 0) this.#auditFromEpoch = epoch + auditRestEpochs
      return compared
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof BeaconError)) throw error
      this.#auditFromEpoch = epoch + auditRestEpochs
      return []
    }
  }
}

const withNodeName = (error: ContradictionError, node: string): ContradictionError =>
  new ContradictionError(`${error.message}; node ${node}`, error.remainder)

/** All columns of a segment whose length depends on the size of the network. */
export const segmentColumns = ({ validator, sums, missed, registry, watched }: ProcessedSegment): ArrayBufferView[] => [
  validator,
  ...Object.values(sums),
  ...Object.values(missed),
  ...Object.values(registry),
  ...(watched ? [watched.validators] : []),
]

/** The buffers that are transferred to another thread instead of being copied. */
export const segmentBuffers = (segment: ProcessedSegment): ArrayBuffer[] => [
  ...new Set(segmentColumns(segment).map(({ buffer }) => buffer as ArrayBuffer)),
]

/** Frees the memory at once, without waiting for garbage collection. The columns must not be used afterwards. */
export function releaseBuffers(columns: readonly ArrayBufferView[]): void {
  for (const { buffer } of columns) if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}

function listIndices(kept: Uint8Array): Int32Array {
  const indices = new Int32Array(kept.length)
  let count = 0
  for (let index = 0; index < kept.length; index++) if (kept[index] === 1) indices[count++] = index
  return indices.slice(0, count)
}
