// Follows one network: piece by piece, from where the coverage ends to what is final.
//
// 1. Rows, coverage and what the next epoch needs of this one are one transaction. Killed anywhere, a new run goes on with
//    the same rows as if nothing had happened.
// 2. Epochs of one piece (decision 0034) are added up before they are written; near the head each is written at once.
//    Small pieces that are at hand together go in one transaction: it costs far more than their rows.
// 3. The registry is written before the rows that need it, and writing it again changes nothing.
// 4. Whoever asks while it is catching up gets the outcome of that.
// 5. What lies before the end of the coverage can be filled in (decision 0156): rows, lapses and coverage only, because registry,
//    scores and watch list speak of the present. Filling and catching up never run at once; their caller sees to it.
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, hourOf, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { type Beacon, BeaconError } from '#io/beacon/client.ts'
import type { Desk } from '#serve/answer.ts'
import type { FactsWriter } from '#store/facts.ts'
import { coveredEpochs, writePieces } from '../duties.ts'
import { dropHours } from '../hours.ts'
import { dropLapses, writeLapses } from '../lapses.ts'
import { orderDuties } from '../order.ts'
import { refuseOtherWindows, windowsTrouble } from '../row-windows.ts'
import { tellAbsent } from './absent.ts'
import { writeAudit, writeMoved } from './audit.ts'
import { inBatches, type Made, type Span } from './batches.ts'
import { adoptChain } from './chain.ts'
import { enrol } from './enrol.ts'
import type { ExecutionSource } from './execution.ts'
import { countOf, missingEpochs } from './gaps.ts'
import { columnsOf, EpochMill, letGo, type Mill, type Piece } from './mill.ts'
import { readScores, type ScoreHistory, writeScores } from './scores.ts'
import { hasLeft, readWatched, type WatchChange, type Watched, writeCount, writeWatched } from './watched.ts'

export type FollowDesk = Pick<Desk, 'state' | 'facts' | 'settings' | 'log' | 'clock'>

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

export class Follower {
  readonly network: Network
  readonly #desk: FollowDesk
  readonly #mill: Mill
  readonly #time: ChainTime
  /** Where the last piece ended and what it left; undefined: the store is asked. */
  #left: { readonly at: number; readonly scores: ScoreHistory; readonly watched: Watched | undefined } | undefined
  #running: Promise<Progress> | undefined
  #hasToldAbsent = false

  /** A mill, or nodes to make one of. */
  constructor(desk: FollowDesk, network: Network, source: Mill | Beacon, execution?: ExecutionSource) {
    const { watch, beacon } = desk.settings.validators.networks[network]
    const options = { watch, auditValidators: beacon.auditValidators, execution }
    this.network = network
    this.#desk = desk
    this.#mill = 'piece' in source ? source : new EpochMill(source, options)
    this.#time = desk.settings.validators.networks[network]
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
      for await (const batch of inBatches(this.#pieces(first, until, signal), this.#desk.clock)) {
        const span = { from: next, until: batch.at(-1)?.span.until ?? next }
        await this.#write(span, batch)
        for (const { piece } of batch) letGo(columnsOf(piece))
        await orderDuties(this.#desk.facts, this.network, this.#time, span, signal)
        next = span.until
        for (const { span: own, piece } of batch)
          tell({ until: own.until, finalizedEpoch, written: own.until - first, ...told(piece) })
      }
    } catch (error) {
      this.#left = undefined
      throw error
    }
    return { until: next, finalizedEpoch, written: next - first }
  }

  /** Reads those of the epochs before the end of the coverage that nobody has read. Tells after each piece how many are left. */
  async fill(epochs: Range, signal: AbortSignal, tell: (left: number) => void = () => {}): Promise<number> {
    const { facts } = this.#desk
    await this.#agree(signal)
    const missing = await missingEpochs(facts, this.network, epochs)
    if (await hasLeft(facts, this.network, epochs)) {
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
    return all - left
  }

  async #writeFilled(span: Span, { validator, sums, lapses, audits, moved }: Piece): Promise<void> {
    const { network } = this
    const batch = { network, time: this.#time, epochs: epochsOf(span), validator, sums }
    await writePieces(this.#desk.facts, [batch], async (tx) => {
      await writeLapses(tx, network, epochsOf(span), lapses)
      await writeAudit(tx, network, audits)
      await writeMoved(tx, network, moved)
    })
  }

  /** In order. Where another thread makes them, each is made while the one before it is written. */
  async *#pieces(first: number, until: number, signal: AbortSignal): AsyncGenerator<Made> {
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    let scores = this.#left?.at === first ? this.#left.scores : await readScores(this.#desk.facts, this.network)
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
    const { facts } = this.#desk
    const covered = () => coveredEpochs(facts, this.network)
    refuseOtherWindows(await windowsTrouble(facts, this.network, this.#time, covered))
    const { identity } = await this.#mill.chain(signal)
    if ((await covered()).length === 0) await adoptChain(facts, this.network, this.#time, identity)
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
    const covered = (await coveredEpochs(this.#desk.facts, this.network)).at(-1)
    if (covered) return covered.until
    const { fromEpoch } = this.#desk.settings.validators.networks[this.network].beacon
    if (fromEpoch >= 0) return fromEpoch
    const days = chainDays(this.#time)
    return days.epochsOf(days.dayOf(finalizedEpoch as Epoch)).from
  }

  /** Epochs up to here share their hour and both of their days. */
  #pieceEnd(from: number, until: number): number {
    const [days, utc] = [chainDays(this.#time), utcDays(this.#time)]
    const key = (epoch: number) =>
      `${hourOf(this.#time, epoch as Epoch)} ${days.dayOf(epoch as Epoch)} ${utc.dayOf(epoch as Epoch)}`
    let end = from + 1
    while (end < until && key(end) === key(from)) end += 1
    return end
  }

  async #write({ from, until }: Span, batch: readonly Made[]): Promise<void> {
    const { state, facts } = this.#desk
    const { network } = this
    for (const { piece } of batch) {
      await enrol(state, network, piece.registry)
      letGo(Object.values(piece.registry))
    }
    let isFirst = (await coveredEpochs(facts, network)).length === 0
    let watched = this.#left?.at === from ? this.#left.watched : await readWatched(facts, network)
    const scores = batch.at(-1)?.piece.scores ?? new Map()
    const changes: { readonly change: WatchChange; readonly at: number }[] = []
    const batches = batch.map(({ span, piece: { validator, sums } }) => {
      return { network, time: this.#time, epochs: epochsOf(span), validator, sums }
    })
    await writePieces(facts, batches, async (tx) => {
      for (const { span, piece } of batch) {
        await writeLapses(tx, network, epochsOf(span), piece.lapses)
        await writeAudit(tx, network, piece.audits)
        await writeMoved(tx, network, piece.moved)
        const change = await writeWatched(tx, network, span.from, piece.watched, watched, isFirst)
        if (change) changes.push({ change, at: span.from })
        watched = piece.watched ? new Set(piece.watched.validators) : watched && 'everyone'
        isFirst = false
      }
      const count = batch.at(-1)?.piece.watched?.count
      if (count !== undefined) await writeCount(tx, network, count)
      await writeScores(tx, network, scores)
      await this.#expire(tx, from, until)
    })
    this.#left = { at: until, scores, watched }
    for (const { piece } of batch)
      for (const reason of piece.settled)
        this.#desk.log.warn({ network, reason }, 'a beacon node contradicted itself; another node was used')
    for (const { change, at } of changes) this.#tellChange(change, at)
    // Once: they may still come.
    if (!this.#hasToldAbsent) await tellAbsent(this.#desk, network)
    this.#hasToldAbsent = true
  }

  #tellChange({ added, removed }: WatchChange, fromEpoch: number): void {
    const words =
      'the watch list has changed: whoever was added has no earlier epochs, whoever was removed no later ones'
    this.#desk.log.warn({ network: this.network, fromEpoch, added: added.length, removed: removed.length }, words)
  }

  /** Hours and lapses of days that are old enough go when a new day begins. */
  async #expire(tx: FactsWriter, from: number, until: number): Promise<void> {
    const { hoursKeptDays, lapsesKeptDays } = this.#desk.settings.validators.networks[this.network]
    const days = chainDays(this.#time)
    const day = days.dayOf((until - 1) as Epoch)
    const isNewDay = from === 0 || days.dayOf((from - 1) as Epoch) < day
    if (!isNewDay) return
    if (hoursKeptDays > 0 && day >= hoursKeptDays)
      await dropHours(tx, this.network, this.#time, day - hoursKeptDays + 1)
    if (lapsesKeptDays > 0 && day >= lapsesKeptDays)
      await dropLapses(tx, this.network, days.epochsOf((day - lapsesKeptDays + 1) as never).from)
  }
}

const epochsOf = ({ from, until }: Span) => ({ from: from as Epoch, until: until as Epoch })

function told({ audits, moved }: Piece): Pick<Step, 'compared' | 'differing' | 'moved'> {
  const sum = <T>(list: readonly T[], of: (one: T) => number) => list.reduce((total, one) => total + of(one), 0)
  return {
    compared: sum(audits, (line) => line.compared),
    differing: sum(audits, (line) => line.differing),
    moved: {
      validators: sum(moved, (one) => one.validators),
      inGwei: sum(moved, (one) => one.inGwei),
      outGwei: sum(moved, (one) => one.outGwei),
    },
  }
}
