// The builders of a chain since Gloas while blocks and epoch transitions are applied to them, as the consensus
// specifications define it: balances, exits, payments to proposers, and the queue of payments that are to be withdrawn.
// Signatures are not verified: a deposit creates a builder if a later state has it.
import type { Bid, Block, BuilderWithdrawal } from '#sources/beacon/block.ts'
import { type ConsensusRules, epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import {
  builderDepositRequestSize,
  builderExitRequestSize,
  builderPaymentSize,
  builderPrefix,
  builderSize,
  builderWithdrawalSize,
  paymentQuorum,
} from '#sources/beacon/gloas.ts'
import type { PayloadState } from '#sources/beacon/payload-state.ts'
import type { PendingDeposit } from '#sources/beacon/pending.ts'
import { View } from '#sources/beacon/ssz.ts'
import { pubkeySize } from '#sources/beacon/validator-keys.ts'

export interface Builder {
  readonly pubkey: string
  readonly address: string
  readonly depositEpoch: number
  /** Gwei. */
  balance: number
  /** Epoch from which the balance is paid out; Infinity: the builder has not exited. */
  withdrawable: number
}

interface Payment extends BuilderWithdrawal {
  readonly proposer: number
  /** Gwei of the stake that voted for the block in its own slot. */
  weight: number
}

type LatestBid = Pick<Bid, 'slot' | 'blockHash' | 'value' | 'builder'>

export class ReplayedBuilders {
  readonly builders: Builder[]
  readonly #rules: ConsensusRules
  /** Public keys of the builders of a later state; undefined: unknown. */
  readonly #later: ReadonlySet<string> | undefined
  /** By slot, of this epoch and the previous one. */
  readonly #payments: Map<number, Payment>
  /** The deposits of builders that were created since the first state, by key. */
  readonly #created = new Map<string, number[]>()
  #queue: readonly BuilderWithdrawal[]
  /** Undefined: the latest block is of the fork before. Its payload is part of it. */
  #latestBid: LatestBid | undefined

  /** `state`: at the first slot of the epoch; undefined: the fork begins. `later`: a later state of the same chain. */
  constructor(rules: ConsensusRules, state: PayloadState | undefined, epoch: number, later: PayloadState | undefined) {
    this.#rules = rules
    this.builders = state ? buildersIn(state) : []
    this.#later = later && new Set(buildersIn(later).map(({ pubkey }) => pubkey))
    this.#payments = state ? paymentsIn(state, firstSlotAt(rules, epoch - 1)) : new Map()
    this.#queue = state ? queueIn(state) : []
    this.#latestBid = state?.latestBid
  }

  /** Whether the later state has a builder with this key. */
  existsLater(pubkey: string): boolean {
    return this.#later?.has(pubkey) !== false
  }

  /** Payments that wait for a withdrawal. */
  get queue(): readonly BuilderWithdrawal[] {
    return this.#queue
  }

  buildsOnPayload({ bid }: Block): boolean {
    return !this.#latestBid || bid?.parentBlockHash === this.#latestBid.blockHash
  }

  /** The requests of the parent's payload, and the payment for it. Only if the block builds on that payload. */
  applyParentPayload({ slot, requests }: Block, finalizedEpoch: number): void {
    const epoch = epochAt(this.#rules, slot)
    const deposits = new View(requests?.builderDeposits ?? none).list(builderDepositRequestSize)
    for (const request of deposits) this.#deposit(request, epoch)
    const exits = new View(requests?.builderExits ?? none).list(builderExitRequestSize)
    for (const request of exits) this.#exit(request, epoch, finalizedEpoch)
    if (!this.#latestBid) return
    const { slot: parentSlot, value, builder } = this.#latestBid
    const payment = this.#payments.get(parentSlot)
    if (payment) this.#queue = [...this.#queue, { builder: payment.builder, amount: payment.amount }]
    // A payment of an earlier epoch is not kept any more, but it is still due.
    else if (epochAt(this.#rules, parentSlot) < epoch - 1 && value > 0 && builder !== undefined)
      this.#queue = [...this.#queue, { builder, amount: value }]
    this.#payments.delete(parentSlot)
  }

  #deposit(request: View, epoch: number): void {
    if (request.bytes[pubkeySize] !== builderPrefix) return
    const [pubkey, amount] = [request.hex(0, pubkeySize), request.u64(80)]
    const existing = this.builders.find((builder) => builder.pubkey === pubkey)
    if (existing) {
      // It has exited and its balance was paid out: the deposit is paid out after the same delay.
      if (Number.isFinite(existing.withdrawable) && existing.balance === 0)
        existing.withdrawable = epoch + this.#rules.builderExitEpochs
      existing.balance += amount
      this.#created.get(pubkey)?.push(amount)
      return
    }
    if (!this.existsLater(pubkey)) return
    this.#created.set(pubkey, [amount])
    this.addBuilder({ pubkey, address: request.hex(pubkeySize + 12, 20), balance: amount, depositEpoch: epoch }, epoch)
  }

  /** The index of a builder whose balance was paid out is used again. */
  addBuilder(builder: Omit<Builder, 'withdrawable'>, epoch: number): void {
    const free = this.builders.findIndex(({ withdrawable, balance }) => withdrawable <= epoch && balance === 0)
    this.builders[free < 0 ? this.builders.length : free] = { ...builder, withdrawable: Number.POSITIVE_INFINITY }
  }

  #exit(request: View, epoch: number, finalizedEpoch: number): void {
    const pubkey = request.hex(20, pubkeySize)
    const index = this.builders.findIndex((builder) => builder.pubkey === pubkey)
    const builder = this.builders[index]
    if (!builder || Number.isFinite(builder.withdrawable) || builder.depositEpoch >= finalizedEpoch) return
    if (builder.address !== request.hex(0, 20)) return
    const isOwed = (entry: BuilderWithdrawal) => entry.builder === index
    if (this.#queue.some(isOwed) || this.#payments.values().some(isOwed)) return
    builder.withdrawable = epoch + this.#rules.builderExitEpochs
  }

  /** `withdrawals`: all of a block. Payments come first, as many as fit; the rest are balances of exited builders. */
  withdraw(withdrawals: readonly BuilderWithdrawal[]): void {
    this.#queue = this.#queue.slice(this.#rules.blockLimits.withdrawals - 1)
    for (const { builder, amount } of withdrawals) {
      const entry = this.builders[builder]
      if (entry) entry.balance -= Math.min(entry.balance, amount)
    }
  }

  /** The bid and the operations of a block. `sameSlot`: increments by slot of the vote (Votes in ../rules/votes.ts). */
  applyBlock(
    { bid, proposer, proposerSlashings, slashedSlots = [] }: Block,
    sameSlot: readonly (ReadonlyMap<number, number> | undefined)[],
  ): void {
    if (!bid) return
    const { builder, value, slot } = bid
    if (value > 0 && builder !== undefined) this.#payments.set(slot, { builder, amount: value, proposer, weight: 0 })
    this.#latestBid = bid
    for (const [at, slashed] of proposerSlashings.entries()) {
      const slashedSlot = slashedSlots[at] ?? -1
      if (this.#payments.get(slashedSlot)?.proposer === slashed) this.#payments.delete(slashedSlot)
    }
    for (const bySlot of sameSlot) {
      for (const [voteSlot, increments] of bySlot ?? []) {
        const payment = this.#payments.get(voteSlot)
        if (payment) payment.weight += increments * this.#rules.increment
      }
    }
  }

  /** At the end of an epoch, the payments of the epoch before are decided. */
  endEpoch(epoch: number, activeIncrements: number): void {
    const quorum = quorumGwei(this.#rules, activeIncrements)
    const until = firstSlotAt(this.#rules, epoch)
    for (const slot of [...this.#payments.keys()].filter((at) => at < until).sort((a, b) => a - b)) {
      const { builder, amount, weight } = this.#payments.get(slot) as Payment
      if (BigInt(weight) >= quorum) this.#queue = [...this.#queue, { builder, amount }]
      this.#payments.delete(slot)
    }
  }

  /**
   * The first deposits of a new builder may have had invalid signatures, so that the chain dropped them. Nothing else
   * changes the balance of a new builder.
   */
  #dropUnsigned(nodeBuilders: readonly Builder[]): void {
    if (this.#created.size === 0) return
    const balances = new Map(nodeBuilders.map(({ pubkey, balance }) => [pubkey, balance]))
    for (const builder of this.builders) {
      const deposits = this.#created.get(builder.pubkey) ?? []
      const expected = balances.get(builder.pubkey)
      const totals = deposits.map((_, from) => deposits.slice(from).reduce((sum, gwei) => sum + gwei, 0))
      if (totals.length > 1 && builder.balance === totals[0] && totals.some((total) => total === expected))
        builder.balance = expected as number
    }
  }

  /** What differs from a state of a node. */
  differences(state: PayloadState, epoch: number): string[] {
    const isEqual = (a: Builder | undefined, b: Builder | undefined) =>
      a?.pubkey === b?.pubkey && a?.balance === b?.balance && a?.withdrawable === b?.withdrawable
    const describe = (builder: Builder | undefined) =>
      builder
        ? `the key ${builder.pubkey}, ${builder.balance} gwei and the withdrawable epoch ${builder.withdrawable}`
        : 'no entry'
    const nodeBuilders = buildersIn(state)
    this.#dropUnsigned(nodeBuilders)
    const differing = Array.from({ length: Math.max(nodeBuilders.length, this.builders.length) }, (_, index) => index)
      .filter((index) => !isEqual(this.builders[index], nodeBuilders[index]))
      .map((index) => `builder ${index} has ${describe(nodeBuilders[index])}, not ${describe(this.builders[index])}`)
    const isSame = (a: readonly BuilderWithdrawal[], b: readonly BuilderWithdrawal[]) =>
      a.length === b.length &&
      a.every(({ builder, amount }, at) => builder === b[at]?.builder && amount === b[at].amount)
    const bySlot = (payments: ReadonlyMap<number, Payment>) =>
      [...payments].sort(([a], [b]) => a - b).map(([, payment]) => payment)
    const payments = paymentsIn(state, firstSlotAt(this.#rules, epoch - 1))
    return [
      ...differing,
      ...(isSame(this.#queue, queueIn(state)) ? [] : ['the queue of payments of builders differs']),
      ...(isSame(bySlot(this.#payments), bySlot(payments)) ? [] : ['the pending payments of builders differ']),
    ]
  }
}

/** The stake that has to vote for a block in its own slot, so that its builder is paid without a payload. */
export function quorumGwei({ increment, slotsPerEpoch }: ConsensusRules, activeIncrements: number): bigint {
  const perSlot = (BigInt(activeIncrements) * BigInt(increment)) / BigInt(slotsPerEpoch)
  return (perSlot * BigInt(paymentQuorum.numerator)) / BigInt(paymentQuorum.denominator)
}

/**
 * The builders when the fork begins: from queued deposits with the credentials of a builder, which leave the queue, and
 * from further deposits for them. `removed`: the deposits that left the queue at the fork. `expected`: the first state of
 * the fork; it tells which deposits the chain dropped because of their signatures.
 */
export function onboardBuilders(
  rules: ConsensusRules,
  replay: ReplayedBuilders,
  removed: readonly OnboardedDeposit[],
  expected?: PayloadState,
): void {
  const balances = new Map((expected ? buildersIn(expected) : []).map(({ pubkey, balance }) => [pubkey, balance]))
  const ofBuilders = removed.filter(({ pubkey }) => replay.existsLater(pubkey))
  const onboarded = Array.from(
    Map.groupBy(ofBuilders, ({ pubkey }) => pubkey),
    ([pubkey, deposits]) => {
      const total = (from: OnboardedDeposit) =>
        deposits.slice(deposits.indexOf(from)).reduce((sum, { gwei }) => sum + gwei, 0)
      const candidates = deposits.filter(({ bytes }) => bytes[pubkeySize] === builderPrefix)
      const firstValid = candidates.find((deposit) => total(deposit) === balances.get(pubkey)) ?? candidates[0]
      return firstValid ? [{ firstValid, balance: total(firstValid) }] : []
    },
  ).flat()
  const inQueueOrder = onboarded.sort((a, b) => removed.indexOf(a.firstValid) - removed.indexOf(b.firstValid))
  for (const { firstValid, balance } of inQueueOrder) {
    const depositEpoch = epochAt(rules, firstValid.slot)
    const address = new View(firstValid.bytes).hex(pubkeySize + 12, 20)
    replay.addBuilder({ pubkey: firstValid.pubkey, address, balance, depositEpoch }, depositEpoch)
  }
}

/** A queued deposit and its SSZ record. */
export type OnboardedDeposit = PendingDeposit & { readonly bytes: Uint8Array }

const none = new Uint8Array(0)

const buildersIn = ({ builders }: PayloadState): Builder[] =>
  new View(builders).list(builderSize).map((record) => ({
    pubkey: record.hex(0, pubkeySize),
    address: record.hex(49, 20),
    balance: record.u64(69),
    depositEpoch: record.u64(77),
    withdrawable: record.u64(85),
  }))

const queueIn = ({ builderWithdrawals }: PayloadState): BuilderWithdrawal[] =>
  new View(builderWithdrawals)
    .list(builderWithdrawalSize)
    .map((record) => ({ amount: record.u64(20), builder: record.u64(28) }))

/** `from`: the first slot of the epoch before that of the state. */
function paymentsIn({ builderPayments }: PayloadState, from: number): Map<number, Payment> {
  const payments = new View(builderPayments).list(builderPaymentSize).map((record, at) => {
    const [weight, amount, builder, proposer] = [record.u64(0), record.u64(28), record.u64(36), record.u64(44)]
    return [from + at, { weight, amount, builder, proposer }] as const
  })
  return new Map(payments.filter(([, { amount }]) => amount > 0))
}
