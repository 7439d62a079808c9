// A consensus network acted out slot by slot from a seed: missed and orphaned blocks, late, wrong, repeated and doubled votes,
// slashings, sync committees, deposits, withdrawals, exits, consolidations, outages that delay finality. Everything that can be
// asked of a node about it is kept, and the truth about it is written down.
import { forks } from '#core/consensus.ts'
import { type Chance, chance } from '../chance.ts'
import { ChainState, eth, far, integerRoot, least, type SimValidator } from './chain.ts'
import { Ledger } from './ledger.ts'
import { type Plan, planOf } from './plan.ts'
import type { SimAttestation, SimBlock, Snapshot, World } from './records.ts'

/** A vote on its way into a block. */
interface Ballot {
  readonly slot: number
  readonly committee: number
  readonly place: number
  readonly head: string
  readonly target: string
  readonly fromSlot: number
}

export function actWorld(seed: string, changes: Partial<Plan> = {}): World {
  const stage = new Stage(seed, changes)
  const slots = stage.plan.epochs * stage.plan.slotsPerEpoch
  for (let slot = 0; slot < slots; slot++) stage.act(slot)
  return stage
}

class Stage implements World {
  readonly seed: string
  readonly plan: Plan
  readonly ledger = new Ledger()
  readonly blocks = new Map<number, SimBlock>()
  readonly snapshots: Snapshot[] = []
  readonly committees: (readonly (readonly number[])[])[] = []
  readonly proposers: (readonly number[])[] = []
  readonly sync: (readonly number[])[] = []
  readonly #draws: Chance
  readonly #state: ChainState
  #ballots: Ballot[] = []
  #head = `0x${'11'.repeat(32)}`
  #targets: string[] = []

  constructor(seed: string, changes: Partial<Plan>) {
    this.seed = seed
    this.#draws = chance(seed).fork('beacon')
    this.plan = planOf(this.#draws.fork('plan'), changes)
    this.#state = new ChainState(this.plan, this.ledger)
    for (let index = 0; index < this.plan.validators; index++) this.#enter(32n * eth, 0)
  }

  get finalized(): number {
    return this.#state.finalized
  }

  act(slot: number): void {
    const { slotsPerEpoch } = this.plan
    const epoch = Math.floor(slot / slotsPerEpoch)
    if (slot % slotsPerEpoch === 0) this.#beginEpoch(epoch)
    const proposer = this.proposers[epoch]?.[slot % slotsPerEpoch] as number
    const isCalm = epoch >= this.plan.epochs - this.plan.calmEpochs
    if (slot > 0) {
      this.ledger.add(epoch, proposer, 'proposer_duties', 1)
      const isAway = this.#state.validators[proposer]?.slashed || (!isCalm && this.#draws.happens(this.plan.missed))
      if (!isAway && (isCalm || !this.#draws.happens(this.plan.orphaned))) this.#propose(slot, epoch, proposer, isCalm)
    }
    if (slot % slotsPerEpoch === 0) this.#targets[epoch] = this.#head
    this.#vote(slot, epoch, isCalm)
    this.snapshots[slot] = {
      finalized: this.#state.finalized,
      justified: this.#state.justified,
      validators: this.#state.validators.map((validator) => ({ ...validator })),
    }
    if ((slot + 1) % slotsPerEpoch === 0) this.#closeProposals(epoch)
  }

  #beginEpoch(epoch: number): void {
    const { slotsPerEpoch, committeesPerSlot, syncPeriod, syncSeats } = this.plan
    if (epoch > 0) this.#state.endEpoch(epoch - 1)
    const active = this.#state.active(epoch)
    for (const index of active) this.ledger.add(epoch, index, 'execution_unknown', 1)
    const shuffled = this.#shuffled(active)
    const groups = slotsPerEpoch * committeesPerSlot
    this.committees[epoch] = Array.from({ length: groups }, (_, at) =>
      shuffled.slice(Math.floor((shuffled.length * at) / groups), Math.floor((shuffled.length * (at + 1)) / groups)),
    )
    this.proposers[epoch] = Array.from({ length: slotsPerEpoch }, () => this.#draws.pick(active))
    const period = Math.floor(epoch / syncPeriod)
    this.sync[period] ??= Array.from({ length: syncSeats }, () => this.#draws.pick(active))
  }

  #propose(slot: number, epoch: number, proposer: number, isCalm: boolean): void {
    const fork = forks.findLast((one) => this.#state.isFrom(one, epoch)) ?? 'altair'
    const block: SimBlock = {
      fork,
      slot,
      proposer,
      root: `0x${this.#draws.hex(64)}`,
      parentRoot: this.#head,
      withdrawals: this.#withdraw(epoch),
      ...this.#accuse(slot, epoch, proposer, isCalm),
      attestations: this.#include(slot, epoch, proposer),
      deposits: this.#move(epoch, isCalm),
      syncBits: this.#signSync(slot, epoch, proposer, isCalm),
      transactions: this.#draws.happens(0.2) ? 0 : this.#draws.whole(1, 4),
    }
    this.blocks.set(slot, block)
    this.#head = block.root
    this.ledger.add(epoch, proposer, 'proposed', 1)
    if (block.transactions === 0 && this.#state.isFrom('bellatrix', epoch))
      this.ledger.add(epoch, proposer, 'proposed_empty', 1)
  }

  #accuse(
    slot: number,
    epoch: number,
    proposer: number,
    isCalm: boolean,
  ): Pick<SimBlock, 'proposerSlashings' | 'attesterSlashings'> {
    const guilty = (count: number) =>
      this.#shuffled(this.#state.active(epoch))
        .filter((index) => index !== proposer && !this.#state.validators[index]?.slashed)
        .slice(0, count)
    const isOn = () => !isCalm && this.#draws.happens(this.plan.slashing)
    const proposerSlashings = isOn() ? guilty(1) : []
    for (const index of proposerSlashings) this.#state.slash(index, proposer, slot)
    const both = isOn() ? guilty(this.#draws.whole(1, 3)) : []
    if (both.length === 0) return { proposerSlashings, attesterSlashings: [] }
    // Others stand in one of the two votes only, and one that was slashed before may stand in both.
    const [lone, other] = this.#shuffled(this.#state.active(epoch)).filter((index) => !both.includes(index))
    const old = this.#state.validators.findIndex(({ slashed }) => slashed)
    const rising = (indices: readonly (number | undefined)[]) =>
      [...new Set(indices.filter((index) => index !== undefined && index >= 0) as number[])].sort((a, b) => a - b)
    const attesterSlashings = [{ first: rising([...both, lone, old]), second: rising([...both, other, old]) }]
    for (const index of rising(both)) this.#state.slash(index, proposer, slot)
    return { proposerSlashings, attesterSlashings }
  }

  /** Puts the ballots that are due into aggregates, in a drawn order, and counts them as the chain does. */
  #include(slot: number, epoch: number, proposer: number): SimAttestation[] {
    const { slotsPerEpoch } = this.plan
    const isOpen = (ballot: Ballot) =>
      Math.floor(ballot.slot / slotsPerEpoch) + 1 >= epoch &&
      (this.#state.isFrom('deneb', epoch) || slot <= ballot.slot + slotsPerEpoch)
    const due = this.#ballots.filter((ballot) => ballot.fromSlot <= slot && isOpen(ballot))
    this.#ballots = this.#ballots.filter((ballot) => ballot.fromSlot > slot)
    const groups = Map.groupBy(due, ({ slot: at, committee, head, target }) =>
      this.#state.isFrom('electra', epoch) ? `${at} ${head} ${target}` : `${at} ${committee} ${head} ${target}`,
    )
    return this.#shuffled([...groups.values()]).map((ballots) => this.#aggregate(ballots, slot, epoch, proposer))
  }

  #aggregate(ballots: readonly Ballot[], slot: number, epoch: number, proposer: number): SimAttestation {
    const { slotsPerEpoch, committeesPerSlot } = this.plan
    const [{ slot: at, head, target }] = ballots as [Ballot]
    const votesEpoch = Math.floor(at / slotsPerEpoch)
    const committees = [...new Set(ballots.map(({ committee }) => committee))].sort((a, b) => a - b)
    const first = (at % slotsPerEpoch) * committeesPerSlot
    const seats = committees.flatMap((committee) =>
      (this.committees[votesEpoch]?.[first + committee] ?? []).map((validator, place) => ({
        committee,
        place,
        validator,
      })),
    )
    const bits = seats.map((seat) =>
      ballots.some(({ committee, place }) => committee === seat.committee && place === seat.place),
    )
    let numerator = 0n
    seats.forEach(({ validator }, seat) => {
      if (bits[seat]) numerator += this.#count(validator, { at, votesEpoch, head, target }, slot, epoch)
    })
    const reward = numerator / ((56n * 64n) / 8n)
    this.#state.earn(proposer, reward, slot)
    this.ledger.add(epoch, proposer, 'block_reward', reward)
    return { slot: at, committees, bits, head, targetEpoch: votesEpoch, target }
  }

  /** One validator's vote in one aggregate; tells what it adds to the proposer's reward. */
  #count(
    validator: number,
    vote: { at: number; votesEpoch: number; head: string; target: string },
    slot: number,
    epoch: number,
  ): bigint {
    const { at, votesEpoch, head, target } = vote
    const delay = slot - at
    const isTarget = target === this.#targets[votesEpoch]
    const isHead = head === this.#headAt(at)
    const row = this.ledger.row(votesEpoch, validator)
    this.ledger.add(votesEpoch, validator, 'inclusions', 1)
    const isInTime = BigInt(delay) <= integerRoot(BigInt(this.plan.slotsPerEpoch))
    if (!row.included) {
      row.included = 1
      row.inclusion_delay = delay
      row.correct_source = 1
      row.correct_target = isTarget ? 1 : 0
      row.correct_head = isHead ? 1 : 0
      row.late_source = isInTime ? 0 : 1
    }
    const own = this.#state.validators[validator] as SimValidator
    const which = votesEpoch === epoch ? 'current' : 'previous'
    const earned = [isInTime, isTarget, isTarget && isHead && delay === 1]
    let numerator = 0n
    ;[14n, 26n, 14n].forEach((weight, flag) => {
      if (!earned[flag] || own[which] & (1 << flag)) return
      own[which] |= 1 << flag
      numerator += this.#state.baseReward(validator, epoch) * weight
    })
    return numerator
  }

  #headAt(slot: number): string {
    for (let at = slot; at > 0; at--) if (this.blocks.has(at)) return this.blocks.get(at)?.root as string
    return `0x${'11'.repeat(32)}`
  }

  #vote(slot: number, epoch: number, isCalm: boolean): void {
    const { slotsPerEpoch, committeesPerSlot, outage } = this.plan
    const isOutage = epoch >= outage.from && epoch < outage.until
    for (let committee = 0; committee < committeesPerSlot; committee++) {
      const members = this.committees[epoch]?.[(slot % slotsPerEpoch) * committeesPerSlot + committee] ?? []
      members.forEach((validator, place) => {
        this.ledger.add(epoch, validator, 'assigned', 1)
        const isOnline = isOutage ? validator % 5 < 2 : isCalm ? true : !this.#draws.happens(0.08)
        if (isOnline) this.#cast(slot, epoch, committee, place, isCalm)
      })
    }
  }

  #cast(slot: number, epoch: number, committee: number, place: number, isCalm: boolean): void {
    const odds = isCalm ? 0 : 1
    const vote = (): Ballot => ({
      slot,
      committee,
      place,
      head: this.#draws.happens(0.12 * odds) ? `0x${this.#draws.pick(['aa', 'bb']).repeat(32)}` : this.#head,
      target: this.#draws.happens(0.04 * odds) ? `0x${'cc'.repeat(32)}` : (this.#targets[epoch] as string),
      fromSlot: slot + (this.#draws.happens(0.2 * odds) ? this.#draws.whole(2, this.plan.slotsPerEpoch + 3) : 1),
    })
    const first = vote()
    this.#ballots.push(first)
    if (this.#draws.happens(0.1 * odds))
      this.#ballots.push({ ...first, fromSlot: first.fromSlot + this.#draws.whole(1, 4) })
    if (this.#draws.happens(0.02 * odds)) this.#ballots.push(vote())
  }

  #signSync(slot: number, epoch: number, proposer: number, isCalm: boolean): boolean[] {
    const { slotsPerEpoch, syncSeats, syncPeriod } = this.plan
    const seats = this.sync[Math.floor(epoch / syncPeriod)] as readonly number[]
    const all = this.#state.basePerIncrement(epoch) * (this.#state.totalActive(epoch) / eth)
    const seat = (all * 2n) / 64n / BigInt(slotsPerEpoch) / BigInt(syncSeats)
    const share = (seat * 8n) / 56n
    return seats.map((validator) => {
      const signed = isCalm || this.#draws.happens(0.8)
      this.#state.earn(validator, signed ? seat : -seat, slot)
      if (signed) {
        this.ledger.add(epoch, validator, 'sync_signatures', 1)
        this.ledger.add(epoch, validator, 'sync_reward', seat)
        this.#state.earn(proposer, share, slot)
        this.ledger.add(epoch, proposer, 'block_reward', share)
      } else {
        this.ledger.add(epoch, validator, 'sync_penalty', -seat)
        this.ledger.add(epoch, validator, 'missed_sync_reward', seat)
      }
      return signed
    })
  }

  /** Deposits, exits and consolidations. Those a block carries itself are told. */
  #move(epoch: number, isCalm: boolean): SimBlock['deposits'] {
    const isOn = () => !isCalm && this.#draws.happens(this.plan.moving)
    const usable = this.#state.active(epoch).filter((index) => !this.#state.validators[index]?.slashed)
    if (isOn() && usable.length > 20) {
      const leaving = this.#state.validators[this.#draws.pick(usable)] as SimValidator
      if (leaving.exit === far) Object.assign(leaving, { exit: epoch + 2, withdrawable: epoch + 4 })
    }
    const isElectra = this.#state.isFrom('electra', epoch)
    if (isElectra && isOn()) {
      // One with a seat could be fined after its balance has gone: nobody could tell the two apart.
      const seated = new Set(this.sync.flat())
      const gone = this.#state.validators.findIndex(
        (one, index) => one.withdrawable <= epoch && !one.slashed && one.balance > 0n && !seated.has(index),
      )
      if (gone >= 0) this.#state.consolidations.push({ from: gone, to: this.#draws.pick(usable) })
    }
    if (!isOn()) return []
    const isNew = this.#draws.happens(0.4)
    const amount = isNew ? 32n * eth : BigInt(this.#draws.whole(1, 4)) * eth
    const validator = isNew ? this.#enter(isElectra ? 0n : amount, far) : this.#draws.pick(usable)
    if (isElectra) {
      this.#state.queue.push({ validator, amount })
      return []
    }
    if (!isNew) (this.#state.validators[validator] as SimValidator).balance += amount
    return [{ pubkey: this.#state.validators[validator]?.pubkey as string, amount }]
  }

  #withdraw(epoch: number): SimBlock['withdrawals'] {
    if (!this.#state.isFrom('capella', epoch) || !this.#draws.happens(this.plan.moving)) return []
    const due = this.#state.validators.flatMap((validator, index) => {
      const excess = validator.withdrawable <= epoch ? validator.balance : validator.balance - 32n * eth
      return excess > 0n && !validator.credentials.startsWith('0x00') ? [{ validator: index, amount: excess }] : []
    })
    const chosen = this.#shuffled(due).slice(0, 3)
    for (const { validator, amount } of chosen) (this.#state.validators[validator] as SimValidator).balance -= amount
    return chosen
  }

  #enter(balance: bigint, activation: number): number {
    const kind = this.#draws.pick(['00', '01', '02'])
    const effective = balance - (balance % eth)
    return (
      this.#state.validators.push({
        pubkey: `0x${this.#draws.hex(96)}`,
        credentials: kind === '00' ? `0x00${this.#draws.hex(62)}` : `0x${kind}${'0'.repeat(22)}${this.#draws.hex(40)}`,
        balance,
        effective: least(effective, 32n * eth),
        slashed: false,
        eligible: activation,
        activation,
        exit: far,
        withdrawable: far,
        score: 0n,
        previous: 0,
        current: 0,
      }) - 1
    )
  }

  /** A proposal that is missed would have brought the mean of the epoch's blocks. */
  #closeProposals(epoch: number): void {
    const { slotsPerEpoch } = this.plan
    const slots = Array.from({ length: slotsPerEpoch }, (_, at) => epoch * slotsPerEpoch + at).filter(
      (slot) => slot > 0,
    )
    const made = slots.filter((slot) => this.blocks.has(slot)).length
    const sum = [...this.ledger.rows(epoch).values()].reduce((all, row) => all + (row.block_reward ?? 0), 0)
    for (const slot of slots) {
      if (this.blocks.has(slot) || made === 0) continue
      this.ledger.add(
        epoch,
        this.proposers[epoch]?.[slot % slotsPerEpoch] as number,
        'missed_block_reward',
        Math.floor(sum / made),
      )
    }
  }

  #shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, at: this.#draws.next() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item)
  }
}
