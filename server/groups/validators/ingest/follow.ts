// Follows one network: read → refine → write, epoch by epoch, from where the coverage ends to what is final.
//
// 1. Rows, coverage and what the next epoch needs of this one are one transaction. Killed anywhere, a new run goes on with
//    the same rows as if nothing had happened.
// 2. Epochs of one piece (decision 0034) are added up before they are written; near the head each is written at once.
// 3. The registry is written before the rows that need it, and writing it again changes nothing.
import { strict as assert } from 'node:assert'
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, hourOf, utcDays } from '#core/chain-time.ts'
import { epochAt } from '#core/consensus.ts'
import { type Beacon, BeaconError, type Chain } from '#io/beacon/client.ts'
import type { Validators } from '#io/beacon/validators.ts'
import type { Desk } from '#serve/answer.ts'
import { coveredEpochs, writePiece } from '../duties.ts'
import { enrol } from './enrol.ts'
import type { ExecutionSource } from './execution.ts'
import type { VotePay } from './pay.ts'
import { EpochReader, type Reading } from './read.ts'
import { type Carry, refineEpoch } from './refine.ts'
import { readScores, type ScoreHistory, withScores, writeScores } from './scores.ts'
import { Sums } from './sums.ts'
import { type WatchList, watchListOf } from './watch.ts'

export type FollowDesk = Pick<Desk, 'state' | 'facts' | 'settings' | 'log'>

export interface Progress {
  /** Epochs from 0 up to here have been written, as far as they were read at all. */
  readonly until: number
  readonly finalizedEpoch: number
  readonly written: number
}

/** Passes before the first one that counts, where a node cannot show a boundary. */
const warmUpMax = 4

export class Follower {
  readonly network: Network
  readonly #desk: FollowDesk
  readonly #beacon: Beacon
  readonly #time: ChainTime
  readonly #watch: WatchList
  readonly #sums = new Sums()
  #reader: EpochReader | undefined
  #carry: Carry | undefined
  #scores: ScoreHistory = new Map()
  #enrolled: Validators | undefined

  readonly #execution: ExecutionSource | undefined

  constructor(desk: FollowDesk, network: Network, beacon: Beacon, execution?: ExecutionSource) {
    this.#execution = execution
    this.network = network
    this.#desk = desk
    this.#beacon = beacon
    this.#time = desk.settings.validators.networks[network]
    this.#watch = watchListOf(desk.settings.validators.networks[network].watch)
  }

  /** Reads what has become final since the last time. */
  async catchUp(signal: AbortSignal, tell: (progress: Progress) => void = () => {}): Promise<Progress> {
    const chain = await this.#beacon.chain(signal)
    this.#agree(chain)
    this.#reader ??= new EpochReader(this.#beacon, chain.rules)
    const reader = this.#reader.under(signal)
    const finalizedEpoch = await reader.finalizedEpoch()
    // The votes of an epoch can come in until the end of the next one, which must be final as well.
    const until = finalizedEpoch - 1
    let next = await this.#place(finalizedEpoch)
    let written = 0
    while (next < until && !signal.aborted) {
      const end = this.#pieceEnd(next, until)
      await this.#writePiece(reader, chain, next, end, signal)
      written += end - next
      next = end
      tell({ until: next, finalizedEpoch, written })
    }
    return { until: next, finalizedEpoch, written }
  }

  #agree({ identity }: Chain): void {
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

  async #writePiece(
    reader: EpochReader,
    chain: Chain,
    from: number,
    until: number,
    signal: AbortSignal,
  ): Promise<void> {
    let carry = from === 0 ? undefined : await this.#carryInto(reader, chain, from)
    let scores = this.#scores
    let last: Validators | undefined
    this.#sums.clear()
    for (let epoch = from; epoch < until; epoch++) {
      signal.throwIfAborted()
      const reading = await reader.read(epoch)
      settle(reading, carry)
      const own = reading.blocks.filter(({ slot }) => epochAt(chain.rules, slot) === epoch)
      const execution = await this.#execution?.read(own, signal)
      carry = refineEpoch(chain.rules, { ...reading, execution }, carry, this.#sums).carry
      scores = withScores(scores, epoch, carry.scores)
      last = reading.next
    }
    assert(carry && last, 'a piece has at least one epoch')
    await this.#write(from, until, scores, last)
    this.#carry = carry
    this.#scores = scores
  }

  async #write(from: number, until: number, scores: ScoreHistory, validators: Validators): Promise<void> {
    const { state, facts } = this.#desk
    const kept = this.#watch.kept(validators)
    await enrol(state, this.network, validators, this.#enrolled, kept)
    this.#enrolled = validators
    const batch = {
      network: this.network,
      time: this.#time,
      epochs: { from: from as Epoch, until: until as Epoch },
      ...this.#sums.rows((index) => kept?.[index] !== 0),
    }
    await writePiece(facts, batch, async (tx) => {
      await writeScores(tx, this.network, scores)
      await this.#expire(tx, from, until)
    })
  }

  /** Hours of days that are old enough go when a new day begins. */
  async #expire(tx: Parameters<typeof writeScores>[0], from: number, until: number): Promise<void> {
    const { hoursKeptDays } = this.#desk.settings.validators.networks[this.network]
    const day = chainDays(this.#time).dayOf((until - 1) as Epoch)
    const isNewDay = from === 0 || chainDays(this.#time).dayOf((from - 1) as Epoch) < day
    if (hoursKeptDays === 0 || !isNewDay) return
    await tx.run('delete from duty_hours where network = ? and day <= ?', [this.network, day - hoursKeptDays])
  }

  /** What the epoch before leaves; computed again after a restart. */
  async #carryInto(reader: EpochReader, chain: Chain, epoch: number): Promise<Carry> {
    if (this.#carry?.epoch === epoch - 1) return this.#carry
    this.#scores = await readScores(this.#desk.facts, this.network)
    const carry = await this.#warmUp(reader, chain, epoch - 1, warmUpMax)
    const scores = this.#scores.get(epoch - 1)
    return scores ? { ...carry, scores } : carry
  }

  async #warmUp(reader: EpochReader, chain: Chain, epoch: number, passes: number): Promise<Carry> {
    const reading = await reader.read(epoch)
    const needsBefore = reading.boundary.awaitsPay && epoch > 0
    if (needsBefore && passes === 0) {
      throw new BeaconError(`the node shows no state at the beginning of epochs around ${epoch}`)
    }
    const before = needsBefore ? await this.#warmUp(reader, chain, epoch - 1, passes - 1) : undefined
    settle(reading, before)
    return refineEpoch(chain.rules, reading, before, this.#sums, this.#scores.get(epoch - 1)).carry
  }
}

/** Balances from before an epoch's beginning become those after it. */
export function settle({ boundary, next }: Reading, before: Carry | undefined): void {
  if (!boundary.awaitsPay) return
  if (before) addPay(next.balance, before.pay)
  boundary.awaitsPay = false
}

function addPay(balance: Float64Array, { source, target, head, inactivity }: VotePay): void {
  for (let index = 0; index < source.length; index++) {
    const sum =
      (source[index] as number) + (target[index] as number) + (head[index] as number) + (inactivity[index] as number)
    balance[index] = Math.max(0, (balance[index] as number) + sum)
  }
}
