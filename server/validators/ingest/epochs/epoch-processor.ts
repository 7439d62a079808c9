// Makes columns of epochs: read → refine, epoch by epoch, for whoever writes them. It knows nodes and no store, so that in a
// server it runs on a thread of its own (mill-thread.ts, decisions/decode-epochs-on-a-separate-thread.md) and elsewhere where it is called.
//
// 1. Pieces are asked for in order, one at a time. Asking for the one that begins where the last one ended says that the last
//    one counts; asking for the same beginning again makes it again, from the same start.
// 2. A piece that begins anywhere else is preceded by a pass over the epoch before it, with the scores that were stored.
import { strict as assert } from 'node:assert'
import { type Beacon, BeaconError, type Chain, ContradictionError, type SingleBeacon } from '#sources/beacon/client.ts'
import { epochAt } from '#sources/beacon/consensus.ts'
import { withdrawalAddressOf } from '#sources/beacon/validator-keys.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import type { AuditLine, UnexplainedChange } from '#validators/duties/audits.ts'
import type { MissedDutyColumns } from '#validators/duties/missed.ts'
import type { ScoreHistory } from '#validators/duties/scores.ts'
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
import { EpochReader } from '../read/epoch-reader.ts'
import type { ExecutionSource } from '../read/execution.ts'
import { settleBalances } from '../read/settle-balances.ts'
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
  /** As stored after the last epoch that was written. */
  readonly scores: ScoreHistory
}

export interface ProcessedSegment extends Pick<Segment, 'validator' | 'sums'> {
  readonly scores: ScoreHistory
  readonly registry: RegistryChanges
  readonly missed: MissedDutyColumns
  /** Epochs in which balances changed otherwise than by duties. */
  readonly unexplained: readonly UnexplainedChange[]
  readonly audits: readonly AuditLine[]
  /** Contradictions of nodes that another node settled. */
  readonly settled: readonly string[]
  /** Undefined: all validators are kept. */
  readonly watched: WatchedNow | undefined
}

export interface EpochProcessor {
  /** Another thread does the work: the next piece can be made while this one is written. */
  readonly isOnOtherThread: boolean
  chain(signal?: AbortSignal): Promise<Chain>
  finalizedEpoch(signal: AbortSignal): Promise<number>
  processSegment(request: SegmentRequest, signal: AbortSignal): Promise<ProcessedSegment>
}

export interface EpochProcessorOptions {
  readonly watch?: readonly string[]
  /** Validators of each epoch whose pay is held against the node's; 0: none. */
  readonly auditValidators?: number
  readonly execution?: ExecutionSource | undefined
}

/** What a piece builds on. */
interface SegmentStart {
  readonly at: number
  readonly carry: Carry | undefined
  readonly scores: ScoreHistory
  /** As the registry has them. */
  readonly knownRegistry: RegistrySnapshot | undefined
}

/** Passes before the first one that counts, where a node cannot show a boundary. */
const warmUpMax = 4
/** A node that failed to tell rewards is not asked for them for so many epochs. */
const auditRestEpochs = 225

export class LocalEpochProcessor implements EpochProcessor {
  readonly isOnOtherThread = false
  readonly #beacon: Beacon
  readonly #watch: WatchList
  readonly #auditValidators: number
  readonly #execution: ExecutionSource | undefined
  readonly #sums = new Sums()
  readonly #missedDuties = new MissedDutyCollector()
  #reader: EpochReader | undefined
  #starts: readonly SegmentStart[] = []
  /** Remainders of balances that two nodes have alike. */
  readonly #agreed = new Set<string>()
  #knownRegistry: Pick<SegmentStart, 'at' | 'knownRegistry'> | undefined
  #auditFromEpoch = 0

  constructor(beacon: Beacon, { watch = [], auditValidators = 0, execution }: EpochProcessorOptions = {}) {
    this.#beacon = beacon
    this.#watch = createWatchList(watch)
    this.#auditValidators = auditValidators
    this.#execution = execution
  }

  chain(signal?: AbortSignal): Promise<Chain> {
    return this.#beacon.chain(signal)
  }

  async finalizedEpoch(signal: AbortSignal): Promise<number> {
    const { rules } = await this.chain(signal)
    this.#reader ??= new EpochReader(this.#beacon, rules)
    return this.#reader.withSignal(signal).finalizedEpoch()
  }

  /** When answers contradict each other, each node is read alone: the first whose answers agree is used. */
  async processSegment(request: SegmentRequest, signal: AbortSignal): Promise<ProcessedSegment> {
    const nodes = this.#beacon.each()
    try {
      return await this.#process(request, this.#beacon, (remainder) => this.#agreed.has(remainder), signal)
    } catch (error) {
      if (!(error instanceof ContradictionError)) throw error
      this.#startAgain(request.from)
      const [only, second] = nodes
      if (only && !second) throw withNodeName(error, only.name)
    }
    return this.#processWithOneNode(nodes, request, signal)
  }

  async #processWithOneNode(
    nodes: readonly SingleBeacon[],
    request: SegmentRequest,
    signal: AbortSignal,
  ): Promise<ProcessedSegment> {
    const found: { readonly node: SingleBeacon; readonly error: ContradictionError }[] = []
    let failure: unknown
    const trusted = nodes.filter(({ isDistrusted }) => !isDistrusted())
    for (const node of trusted.length > 0 ? trusted : nodes) {
      // Two nodes that have the same remainder leave the rules in doubt, not a node.
      const accept: AcceptRemainder = (remainder) => {
        if (found.some(({ error }) => error.remainder === remainder)) this.#agreed.add(remainder)
        return this.#agreed.has(remainder)
      }
      try {
        const segment = await this.#process(request, node.beacon, accept, signal)
        const isAgreed = ({ remainder }: ContradictionError) => remainder !== undefined && this.#agreed.has(remainder)
        for (const { node: other, error } of found) if (!isAgreed(error)) other.distrust(error.message)
        const settled = found.map(
          ({ error }) =>
            `${error.message}; ${node.name} ${isAgreed(error) ? 'answers the same, so it is stored' : 'decided'}`,
        )
        return { ...segment, settled }
      } catch (error) {
        signal.throwIfAborted()
        this.#startAgain(request.from)
        if (!(error instanceof BeaconError)) throw error
        const own = withNodeName(error, node.name)
        if (own instanceof ContradictionError) found.push({ node, error: own })
        failure = own
      }
    }
    throw found.at(-1)?.error ?? failure
  }

  /** Nothing that was read may be used again. Only the registry stays as it was written. */
  #startAgain(from: number): void {
    const knownRegistry = this.#starts.find(({ at }) => at === from)?.knownRegistry
    if (knownRegistry) this.#knownRegistry = { at: from, knownRegistry }
    this.#reader = undefined
    this.#starts = []
  }

  async #process(
    { from, until, scores: stored }: SegmentRequest,
    beacon: Beacon,
    accept: AcceptRemainder,
    signal: AbortSignal,
  ): Promise<ProcessedSegment> {
    const chain = await this.chain(signal)
    this.#reader ??= new EpochReader(beacon, chain.rules)
    const reader = this.#reader.withSignal(signal)
    const start = this.#starts.find(({ at }) => at === from) ?? (await this.#startAt(reader, chain, from, stored))
    // The one before it has been written, and its memory is needed.
    this.#starts = [start]
    let { carry, scores } = start
    let last: Validators | undefined
    let countBefore = 0
    const [unexplained, audits]: [UnexplainedChange[], AuditLine[]] = [[], []]
    this.#sums.clear()
    this.#missedDuties.clear()
    for (let epoch = from; epoch < until; epoch++) {
      signal.throwIfAborted()
      const data = await reader.read(epoch)
      settleBalances(data, carry)
      if (epoch === from) countBefore = data.now.count
      const own = data.blocks.filter(({ slot }) => epochAt(chain.rules, slot) === epoch)
      const addressOf = (proposer: number) => {
        const address = withdrawalAddressOf(data.now, proposer)
        return address && toHex(address)
      }
      const execution = await this.#execution?.read(own, addressOf, signal)
      const processed = processEpoch(chain.rules, { ...data, execution }, carry, this.#sums, { accept })
      this.#missedDuties.collect(chain.rules, data, processed.votes, processed.effects)
      audits.push(...(await this.#audit(chain, epoch, processed, signal)))
      if (processed.unexplainedBalanceChanges.validators > 0)
        unexplained.push({ epoch, ...processed.unexplainedBalanceChanges })
      carry = processed.carry
      scores = appendScores(scores, epoch, carry.scores)
      last = data.next
    }
    assert(carry && last, 'a piece has at least one epoch')
    const ahead = await reader.readAhead(until)
    if (ahead) verifyVoteRewards(chain.rules, ahead, carry, accept)
    const kept = this.#watch.kept(last)
    const registry = findRegistryChanges(last, start.knownRegistry, kept)
    this.#starts = [start, { at: until, carry, scores, knownRegistry: takeRegistrySnapshot(last) }]
    const watched = kept && { validators: listIndices(kept), countBefore, count: kept.length }
    const isKept = (index: number) => kept?.[index] !== 0
    const missed = this.#missedDuties.take(isKept)
    reader.askFrom(this.#beacon)
    return { ...this.#sums.take(isKept), missed, scores, registry, unexplained, audits, settled: [], watched }
  }

  /** A start that nothing in memory leads to. */
  async #startAt(reader: EpochReader, chain: Chain, from: number, scores: ScoreHistory): Promise<SegmentStart> {
    this.#starts = []
    const knownRegistry = this.#knownRegistry?.at === from ? this.#knownRegistry.knownRegistry : undefined
    if (from === 0) return { at: from, carry: undefined, scores, knownRegistry }
    const carry = await this.#warmUp(reader, chain, from - 1, scores, warmUpMax)
    const own = scores.get(from - 1)
    return { at: from, carry: own ? { ...carry, scores: own } : carry, scores, knownRegistry }
  }

  async #warmUp(
    reader: EpochReader,
    chain: Chain,
    epoch: number,
    scores: ScoreHistory,
    passes: number,
  ): Promise<Carry> {
    const data = await reader.read(epoch)
    const needsBefore = data.boundary.awaitsRewards && epoch > 0
    if (needsBefore && passes === 0) {
      throw new BeaconError(`the node shows no state at the beginning of epochs around ${epoch}`)
    }
    const before = needsBefore ? await this.#warmUp(reader, chain, epoch - 1, scores, passes - 1) : undefined
    settleBalances(data, before)
    return processEpoch(chain.rules, data, before, this.#sums, { startScores: scores.get(epoch - 1) }).carry
  }

  /** A sample against the node's own figures. What the node does not tell never holds up the ratings. */
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

/** The node that an error is about, for the operator. */
function withNodeName(error: BeaconError, node: string): BeaconError {
  if (error instanceof ContradictionError)
    return new ContradictionError(`${error.message}; node ${node}`, error.remainder)
  return error
}

/** All of a piece that grows with the network. */
export const segmentColumns = ({ validator, sums, missed, registry, watched }: ProcessedSegment): ArrayBufferView[] => [
  validator,
  ...Object.values(sums),
  ...Object.values(missed),
  ...Object.values(registry),
  ...(watched ? [watched.validators] : []),
]

/** The buffers that go over with a piece instead of being copied. */
export const segmentBuffers = (segment: ProcessedSegment): ArrayBuffer[] => [
  ...new Set(segmentColumns(segment).map(({ buffer }) => buffer as ArrayBuffer)),
]

/** Gives their memory back at once: until it is collected, that of a whole network would be there twice. Not to be used again. */
export function releaseBuffers(columns: readonly ArrayBufferView[]): void {
  for (const { buffer } of columns) if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}

function listIndices(kept: Uint8Array): Int32Array {
  const indices = new Int32Array(kept.length)
  let count = 0
  for (let index = 0; index < kept.length; index++) if (kept[index] === 1) indices[count++] = index
  return indices.slice(0, count)
}
