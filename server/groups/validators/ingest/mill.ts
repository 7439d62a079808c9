// Makes columns of epochs: read → refine, epoch by epoch, for whoever writes them. It knows nodes and no store, so that in a
// server it runs on a thread of its own (mill-thread.ts, decision 0074) and elsewhere where it is called.
//
// 1. Pieces are asked for in order, one at a time. Asking for the one that begins where the last one ended says that the last
//    one counts; asking for the same beginning again makes it again, from the same start.
// 2. A piece that begins anywhere else is preceded by a pass over the epoch before it, with the scores that were stored.
import { strict as assert } from 'node:assert'
import { epochAt } from '#core/consensus.ts'
import { type Beacon, BeaconError, type Chain, ContradictionError, type SingleBeacon } from '#io/beacon/client.ts'
import { withdrawalAddressOf } from '#io/beacon/names.ts'
import type { Validators } from '#io/beacon/validators.ts'
import type { AuditLine, UnexplainedChange } from '../duties/audits.ts'
import type { MissedDutyColumns } from '../duties/missed.ts'
import type { ScoreHistory } from '../duties/scores.ts'
import type { WatchedNow } from '../duties/watch-ranges.ts'
import type { Segment } from '../duties/write.ts'
import { toHex } from '../registry.ts'
import { Asker } from './ask.ts'
import { compare, sampleOf } from './audit.ts'
import { changesOf, type Enrolled, enrolledIn, type RegistryChanges } from './enrol.ts'
import type { ExecutionSource } from './execution.ts'
import { Lapses } from './lapses.ts'
import { EpochReader } from './read.ts'
import { type AcceptRemainder, type Carry, type Refined, refineEpoch, verifyPay } from './refine.ts'
import { withScores } from './scores.ts'
import { settle } from './settle.ts'
import { Sums } from './sums.ts'
import { type WatchList, watchListOf } from './watch.ts'

export interface PieceRequest {
  readonly from: number
  readonly until: number
  /** As stored after the last epoch that was written. */
  readonly scores: ScoreHistory
}

export interface Piece extends Pick<Segment, 'validator' | 'sums'> {
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

export interface Mill {
  /** Another thread does the work: the next piece can be made while this one is written. */
  readonly isApart: boolean
  chain(signal?: AbortSignal): Promise<Chain>
  finalizedEpoch(signal: AbortSignal): Promise<number>
  piece(request: PieceRequest, signal: AbortSignal): Promise<Piece>
}

export interface MillOptions {
  readonly watch?: readonly string[]
  /** Validators of each epoch whose pay is held against the node's; 0: none. */
  readonly auditValidators?: number
  readonly execution?: ExecutionSource | undefined
}

/** What a piece builds on. */
interface Start {
  readonly at: number
  readonly carry: Carry | undefined
  readonly scores: ScoreHistory
  /** As the registry has them. */
  readonly enrolled: Enrolled | undefined
}

/** Passes before the first one that counts, where a node cannot show a boundary. */
const warmUpMax = 4
/** A node that failed to tell rewards is not asked for them for so many epochs. */
const auditRestEpochs = 225

export class EpochMill implements Mill {
  readonly isApart = false
  readonly #beacon: Beacon
  readonly #watch: WatchList
  readonly #auditValidators: number
  readonly #execution: ExecutionSource | undefined
  readonly #sums = new Sums()
  readonly #lapses = new Lapses()
  #reader: EpochReader | undefined
  #starts: readonly Start[] = []
  /** Remainders of balances that two nodes have alike. */
  readonly #agreed = new Set<string>()
  #enrolled: Pick<Start, 'at' | 'enrolled'> | undefined
  #auditFromEpoch = 0

  constructor(beacon: Beacon, { watch = [], auditValidators = 0, execution }: MillOptions = {}) {
    this.#beacon = beacon
    this.#watch = watchListOf(watch)
    this.#auditValidators = auditValidators
    this.#execution = execution
  }

  chain(signal?: AbortSignal): Promise<Chain> {
    return this.#beacon.chain(signal)
  }

  async finalizedEpoch(signal: AbortSignal): Promise<number> {
    const { rules } = await this.chain(signal)
    this.#reader ??= new EpochReader(this.#beacon, rules)
    return this.#reader.under(signal).finalizedEpoch()
  }

  /** When answers contradict each other, each node is read alone: the first whose answers agree is used. */
  async piece(request: PieceRequest, signal: AbortSignal): Promise<Piece> {
    const nodes = this.#beacon.each()
    try {
      return await this.#make(request, this.#beacon, (remainder) => this.#agreed.has(remainder), signal)
    } catch (error) {
      if (!(error instanceof ContradictionError)) throw error
      this.#startAgain(request.from)
      const [only, second] = nodes
      if (only && !second) throw named(error, only.name)
    }
    return this.#makeFromOne(nodes, request, signal)
  }

  async #makeFromOne(nodes: readonly SingleBeacon[], request: PieceRequest, signal: AbortSignal): Promise<Piece> {
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
        const piece = await this.#make(request, node.beacon, accept, signal)
        const isAgreed = ({ remainder }: ContradictionError) => remainder !== undefined && this.#agreed.has(remainder)
        for (const { node: other, error } of found) if (!isAgreed(error)) other.distrust(error.message)
        const settled = found.map(
          ({ error }) =>
            `${error.message}; ${node.name} ${isAgreed(error) ? 'answers the same, so it is stored' : 'decided'}`,
        )
        return { ...piece, settled }
      } catch (error) {
        signal.throwIfAborted()
        this.#startAgain(request.from)
        if (!(error instanceof BeaconError)) throw error
        const own = named(error, node.name)
        if (own instanceof ContradictionError) found.push({ node, error: own })
        failure = own
      }
    }
    throw found.at(-1)?.error ?? failure
  }

  /** Nothing that was read may be used again. Only the registry stays as it was written. */
  #startAgain(from: number): void {
    const enrolled = this.#starts.find(({ at }) => at === from)?.enrolled
    if (enrolled) this.#enrolled = { at: from, enrolled }
    this.#reader = undefined
    this.#starts = []
  }

  async #make(
    { from, until, scores: stored }: PieceRequest,
    beacon: Beacon,
    accept: AcceptRemainder,
    signal: AbortSignal,
  ): Promise<Piece> {
    const chain = await this.chain(signal)
    this.#reader ??= new EpochReader(beacon, chain.rules)
    const reader = this.#reader.under(signal)
    const start = this.#starts.find(({ at }) => at === from) ?? (await this.#startAt(reader, chain, from, stored))
    // The one before it has been written, and its memory is needed.
    this.#starts = [start]
    let { carry, scores } = start
    let last: Validators | undefined
    let countBefore = 0
    const [unexplained, audits]: [UnexplainedChange[], AuditLine[]] = [[], []]
    this.#sums.clear()
    this.#lapses.clear()
    for (let epoch = from; epoch < until; epoch++) {
      signal.throwIfAborted()
      const reading = await reader.read(epoch)
      settle(reading, carry)
      if (epoch === from) countBefore = reading.now.count
      const own = reading.blocks.filter(({ slot }) => epochAt(chain.rules, slot) === epoch)
      const addressOf = (proposer: number) => {
        const address = withdrawalAddressOf(reading.now, proposer)
        return address && toHex(address)
      }
      const execution = await this.#execution?.read(own, addressOf, signal)
      const refined = refineEpoch(chain.rules, { ...reading, execution }, carry, this.#sums, { accept })
      this.#lapses.gather(chain.rules, reading, refined.votes, refined.effects)
      audits.push(...(await this.#audit(chain, epoch, refined, signal)))
      if (refined.moved.validators > 0) unexplained.push({ epoch, ...refined.moved })
      carry = refined.carry
      scores = withScores(scores, epoch, carry.scores)
      last = reading.next
    }
    assert(carry && last, 'a piece has at least one epoch')
    const ahead = await reader.readAhead(until)
    if (ahead) verifyPay(chain.rules, ahead, carry, accept)
    const kept = this.#watch.kept(last)
    const registry = changesOf(last, start.enrolled, kept)
    this.#starts = [start, { at: until, carry, scores, enrolled: enrolledIn(last) }]
    const watched = kept && { validators: indicesIn(kept), countBefore, count: kept.length }
    const isKept = (index: number) => kept?.[index] !== 0
    const missed = this.#lapses.take(isKept)
    reader.askFrom(this.#beacon)
    return { ...this.#sums.take(isKept), missed, scores, registry, unexplained, audits, settled: [], watched }
  }

  /** A start that nothing in memory leads to. */
  async #startAt(reader: EpochReader, chain: Chain, from: number, scores: ScoreHistory): Promise<Start> {
    this.#starts = []
    const enrolled = this.#enrolled?.at === from ? this.#enrolled.enrolled : undefined
    if (from === 0) return { at: from, carry: undefined, scores, enrolled }
    const carry = await this.#warmUp(reader, chain, from - 1, scores, warmUpMax)
    const own = scores.get(from - 1)
    return { at: from, carry: own ? { ...carry, scores: own } : carry, scores, enrolled }
  }

  async #warmUp(
    reader: EpochReader,
    chain: Chain,
    epoch: number,
    scores: ScoreHistory,
    passes: number,
  ): Promise<Carry> {
    const reading = await reader.read(epoch)
    const needsBefore = reading.boundary.awaitsPay && epoch > 0
    if (needsBefore && passes === 0) {
      throw new BeaconError(`the node shows no state at the beginning of epochs around ${epoch}`)
    }
    const before = needsBefore ? await this.#warmUp(reader, chain, epoch - 1, scores, passes - 1) : undefined
    settle(reading, before)
    return refineEpoch(chain.rules, reading, before, this.#sums, { startScores: scores.get(epoch - 1) }).carry
  }

  /** A sample against the node's own figures. What the node does not tell never holds up the ratings. */
  async #audit(chain: Chain, epoch: number, refined: Refined, signal: AbortSignal): Promise<readonly AuditLine[]> {
    if (this.#auditValidators === 0 || epoch < this.#auditFromEpoch) return []
    const ask = new Asker(this.#beacon, chain.rules, signal)
    try {
      const lines = await compare(ask, epoch, refined, sampleOf(epoch, refined, this.#auditValidators))
      const told = lines.filter(({ compared }) => compared > 0)
      if (told.length === 0) this.#auditFromEpoch = epoch + auditRestEpochs
      return told
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof BeaconError)) throw error
      this.#auditFromEpoch = epoch + auditRestEpochs
      return []
    }
  }
}

/** The node that an error is about, for the operator. */
function named(error: BeaconError, node: string): BeaconError {
  if (error instanceof ContradictionError)
    return new ContradictionError(`${error.message}; node ${node}`, error.remainder)
  return error
}

/** All of a piece that grows with the network. */
export const columnsOf = ({ validator, sums, missed, registry, watched }: Piece): ArrayBufferView[] => [
  validator,
  ...Object.values(sums),
  ...Object.values(missed),
  ...Object.values(registry),
  ...(watched ? [watched.validators] : []),
]

/** The buffers that go over with a piece instead of being copied. */
export const piecesBuffers = (piece: Piece): ArrayBuffer[] => [
  ...new Set(columnsOf(piece).map(({ buffer }) => buffer as ArrayBuffer)),
]

/** Gives their memory back at once: until it is collected, that of a whole network would be there twice. Not to be used again. */
export function letGo(columns: readonly ArrayBufferView[]): void {
  for (const { buffer } of columns) if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0)
}

function indicesIn(kept: Uint8Array): Int32Array {
  const indices = new Int32Array(kept.length)
  let count = 0
  for (let index = 0; index < kept.length; index++) if (kept[index] === 1) indices[count++] = index
  return indices.slice(0, count)
}
