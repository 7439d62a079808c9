// Follows one network: piece by piece, from where the coverage ends to what is final.
//
// 1. Rows, coverage and what the next epoch needs of this one are one transaction. Killed anywhere, a new run goes on with
//    the same rows as if nothing had happened.
// 2. Epochs of one piece (decision 0034) are added up before they are written; near the head each is written at once.
//    Small pieces that are at hand together go in one transaction: it costs far more than their rows.
// 3. The registry is written before the rows that need it, and writing it again changes nothing.
// 4. Whoever asks while it is catching up gets the outcome of that.
// 5. What lies before the end of the coverage can be filled in (decision 0156): figures, missed duties and coverage only, because registry,
//    scores and watch list speak of the present. Filling and catching up never run at once; their caller sees to it.
// 6. What is stored can be read again and replaced (repair.ts), under the same condition.
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { type Beacon, BeaconError } from '#io/beacon/client.ts'
import type { ValidatorsContext } from '../context.ts'
import type { CommitSegment, EpochCommit } from '../duties/commit.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { pieceAt, plainTime } from '../duties/layout.ts'
import { refuseOtherWindows, windowsTrouble } from '../duties/networks.ts'
import { readScores, type ScoreHistory } from '../duties/scores.ts'
import { mergeDuties, summarizeDuties, updateDuties } from '../duties/store.ts'
import { daysToSummarize } from '../duties/summaries.ts'
import { hasLeft, type WatchChange } from '../duties/watch-ranges.ts'
import { entitiesVersion } from '../entities.ts'
import { tellAbsent } from './absent.ts'
import { inBatches, type Made, type Span } from './batches.ts'
import { adoptChain } from './chain.ts'
import { enrol } from './enrol.ts'
import type { ExecutionSource } from './execution.ts'
import { countOf, missingEpochs } from './gaps.ts'
import { readGroups } from './groups.ts'
import { columnsOf, EpochMill, letGo, type Mill, type Piece, piecesBuffers } from './mill.ts'
import { type Repaired, repairEpochs } from './repair.ts'

export interface Progress {
  /** Epochs from 0 up to here have been written, as far as they were read at all. */
  readonly until: number
  readonly finalizedEpoch: number
  readonly written: number
}

/** What is told about each piece that was written. */
export interface Step extends Progress {
  /** Figures held against the node's own, and those that differ. */
  readonly compared: number
  readonly differing: number
  /** Balances that moved otherwise than by duties: deposits, consolidations. */
  readonly moved: { readonly validators: number; readonly inGwei: number; readonly outGwei: number }
}

/** Days that are summarized each time that ingest has caught up. */
const summarizedAtOnce = 8

export class Follower {
  readonly network: Network
  readonly #context: Pick<ValidatorsContext, 'state' | 'duties' | 'settings' | 'log' | 'clock'>
  readonly #mill: Mill
  readonly #time: ChainTime
  /** Where the last piece ended and what it left; undefined: the store is asked. */
  #left: { readonly at: number; readonly scores: ScoreHistory } | undefined
  #running: Promise<Progress> | undefined
  #hasToldAbsent = false

  /** A mill, or nodes to make one of. */
  constructor(
    context: Pick<ValidatorsContext, 'state' | 'duties' | 'settings' | 'log' | 'clock'>,
    network: Network,
    source: Mill | Beacon,
    execution?: ExecutionSource,
  ) {
    const { watch, beacon } = context.settings.validators.networks[network]
    const options = { watch, auditValidators: beacon.auditValidators, execution }
    this.network = network
    this.#context = context
    this.#mill = 'piece' in source ? source : new EpochMill(source, options)
    this.#time = context.settings.validators.networks[network]
  }

  /** Reads what has become final since the last time. */
  catchUp(signal: AbortSignal, tell: (step: Step) => void = () => {}): Promise<Progress> {
    this.#running ??= this.#catchUp(signal, tell).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #catchUp(signal: AbortSignal, tell: (step: Step) => void): Promise<Progress> {
    await this.#agree(signal)
    const finalizedEpoch = await this.#mill.finalizedEpoch(signal)
    // The votes of an epoch can come in until the end of the next one, which must be final as well.
    const until = finalizedEpoch - 1
    const first = await this.#place(finalizedEpoch)
    let next = first
    try {
      for await (const batch of inBatches(this.#pieces(first, until, signal), this.#context.clock)) {
        const span = { from: next, until: batch.at(-1)?.span.until ?? next }
        await this.#write(span, batch)
        for (const { piece } of batch) letGo(columnsOf(piece))
        await this.#merge(span.until, signal)
        next = span.until
        for (const { span: own, piece } of batch)
          tell({ until: own.until, finalizedEpoch, written: own.until - first, ...told(piece) })
      }
    } catch (error) {
      this.#left = undefined
      throw error
    }
    if (!signal.aborted) await this.#summarize(next, signal)
    return { until: next, finalizedEpoch, written: next - first }
  }

  /** Reads those of the epochs before the end of the coverage that nobody has read. Tells after each piece how many are left. */
  async fill(epochs: Range, signal: AbortSignal, tell: (left: number) => void = () => {}): Promise<number> {
    const { duties } = this.#context
    await this.#agree(signal)
    const missing = await missingEpochs(duties, this.network, epochs)
    if (await hasLeft(duties, this.network, epochs)) {
      throw new BeaconError(
        `${this.network}: validators that were kept in these epochs are on the watch list no more, and what is filled in now would lack them`,
      )
    }
    const all = countOf(missing)
    let left = all
    for (const hole of missing) {
      let scores: ScoreHistory = new Map()
      for (let from = hole.from; from < hole.until && !signal.aborted; ) {
        const span = { from, until: this.#pieceEnd(from, hole.until) }
        const piece = await this.#mill.piece({ ...span, scores }, signal)
        await this.#writeFilled(span, piece)
        letGo(columnsOf(piece))
        scores = piece.scores
        from = span.until
        left -= span.until - span.from
        tell(left)
      }
    }
    const end = (await coveredEpochs(duties, this.network)).at(-1)?.until
    if (end !== undefined) await this.#merge(end, signal)
    return all - left
  }

  /** Reads epochs again that are stored, and replaces what is stored of them. Tells how many epochs are left. */
  async repair(epochs: Range, signal: AbortSignal, tell: (left: number) => void = () => {}): Promise<Repaired> {
    await this.#agree(signal)
    const { duties } = this.#context
    const source = { duties, mill: this.#mill, network: this.network, time: this.#time }
    const repaired = await repairEpochs(source, epochs, signal, tell)
    const end = (await coveredEpochs(duties, this.network)).at(-1)?.until
    if (end !== undefined) await this.#merge(end, signal)
    return repaired
  }

  /** Days that are over by then become blocks. */
  #merge(until: number, signal: AbortSignal): Promise<number> {
    return mergeDuties(this.#context.duties, { network: this.network, time: plainTime(this.#time), until }, signal)
  }

  /** Days that are over and have no summary yet, or one by other pools; some at a time, so that the next epochs do not wait. */
  async #summarize(until: number, signal: AbortSignal): Promise<void> {
    const { state, duties } = this.#context
    const input = { network: this.network, time: plainTime(this.#time), until }
    const version = await entitiesVersion(state, this.network)
    if ((await daysToSummarize(duties, { ...input, version })).length === 0) return
    const groups = await readGroups(state, this.network)
    await summarizeDuties(duties, { ...input, groups, daysMax: summarizedAtOnce }, signal)
  }

  async #writeFilled(span: Span, piece: Piece): Promise<void> {
    await this.#commit([{ span, piece }])
  }

  #commit(batch: readonly Made[], head?: EpochCommit['head']) {
    const commit: EpochCommit = {
      network: this.network,
      time: plainTime(this.#time),
      segments: batch.map(({ span, piece }) => segmentOf(span, piece)),
      head,
    }
    const transfer = [...new Set(batch.flatMap(({ piece }) => piecesBuffers(piece)))].filter(
      ({ detached }) => !detached,
    )
    return updateDuties(this.#context.duties, 'commitEpochs', commit, { transfer })
  }

  /** In order. Where another thread makes them, each is made while the one before it is written. */
  async *#pieces(first: number, until: number, signal: AbortSignal): AsyncGenerator<Made> {
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    let scores = this.#left?.at === first ? this.#left.scores : await readScores(this.#context.duties, this.network)
    const make = async (from: number) => {
      const span = { from, until: this.#pieceEnd(from, until) }
      return { span, piece: await this.#mill.piece({ ...span, scores }, either) }
    }
    let ahead = first < until ? make(first) : undefined
    try {
      while (ahead && !signal.aborted) {
        const one = await ahead
        const next = one.span.until
        scores = one.piece.scores
        ahead = this.#mill.isApart && next < until ? make(next) : undefined
        ahead?.catch(() => {})
        yield one
        if (next < until && !signal.aborted) ahead ??= make(next)
      }
    } finally {
      over.abort()
      await ahead?.catch(() => {})
    }
  }

  /** What is stored, the settings and the node are about the same epochs in the same windows. */
  async #agree(signal: AbortSignal): Promise<void> {
    const { duties } = this.#context
    refuseOtherWindows(await windowsTrouble(duties, this.network, this.#time))
    const { identity } = await this.#mill.chain(signal)
    const isEmpty = (await coveredEpochs(duties, this.network)).length === 0
    if (isEmpty) await adoptChain(duties, this.network, this.#time, identity)
    const odd = (['genesisUnix', 'slotSeconds', 'slotsPerEpoch'] as const).find(
      (key) => identity[key] !== this.#time[key],
    )
    if (!odd) return
    throw new BeaconError(
      `${this.network}: the node's ${odd} is ${identity[odd]}, the server's ${this.#time[odd]}; restart the server to take it over`,
    )
  }

  /** Where the coverage ends, or where the first run begins. */
  async #place(finalizedEpoch: number): Promise<number> {
    const covered = (await coveredEpochs(this.#context.duties, this.network)).at(-1)
    if (covered) return covered.until
    const { fromEpoch } = this.#context.settings.validators.networks[this.network].beacon
    if (fromEpoch >= 0) return fromEpoch
    const days = chainDays(this.#time)
    return days.epochsOf(days.dayOf(finalizedEpoch as Epoch)).from
  }

  /** Epochs up to here share their hour and both of their days. */
  #pieceEnd(from: number, until: number): number {
    return Math.min(until, pieceAt(this.#time, from as Epoch).epochs.until)
  }

  async #write({ until }: Span, batch: readonly Made[]): Promise<void> {
    const { state, settings, log } = this.#context
    const { network } = this
    for (const { piece } of batch) {
      await enrol(state, network, piece.registry)
      letGo(Object.values(piece.registry))
    }
    const { hoursKeptDays, missedKeptDays } = settings.validators.networks[network]
    const scores = batch.at(-1)?.piece.scores ?? new Map()
    const { watchChanges } = await this.#commit(batch, { scores, hoursKeptDays, missedKeptDays })
    this.#left = { at: until, scores }
    for (const { piece } of batch)
      for (const reason of piece.settled)
        log.warn({ network, reason }, 'a beacon node contradicted itself; another node was used')
    for (const { change, at } of watchChanges) this.#tellChange(change, at)
    // Once: they may still come.
    if (!this.#hasToldAbsent) await tellAbsent(this.#context, network)
    this.#hasToldAbsent = true
  }

  #tellChange({ added, removed }: WatchChange, fromEpoch: number): void {
    const words =
      'the watch list has changed: whoever was added has no earlier epochs, whoever was removed no later ones'
    this.#context.log.warn({ network: this.network, fromEpoch, added: added.length, removed: removed.length }, words)
  }
}

const segmentOf = (
  { from, until }: Span,
  { validator, sums, missed, audits, unexplained, watched }: Piece,
): CommitSegment => ({
  epochs: { from: from as Epoch, until: until as Epoch },
  ...{ validator, sums, missed, audits, unexplained, watched },
})

function told({ audits, unexplained }: Piece): Pick<Step, 'compared' | 'differing' | 'moved'> {
  const sum = <T>(list: readonly T[], of: (one: T) => number) => list.reduce((total, one) => total + of(one), 0)
  return {
    compared: sum(audits, (line) => line.compared),
    differing: sum(audits, (line) => line.differing),
    moved: {
      validators: sum(unexplained, (one) => one.validators),
      inGwei: sum(unexplained, (one) => one.inGwei),
      outGwei: sum(unexplained, (one) => one.outGwei),
    },
  }
}
