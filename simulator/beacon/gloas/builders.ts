// The registry of builders and their payments: deposits, exits, bids, and payment by delivery or by quorum.
import { eth, far } from '../amounts.ts'
import type { ChainState } from '../chain.ts'
import type { SimulatedBid } from './gloas-records.ts'

/** A builder must keep this much besides what it owes. */
const minDeposit = eth

/** Its deposit is final, and it has not asked to exit. */
export function isActiveBuilder(chain: ChainState, index: number): boolean {
  const builder = chain.gloas.builders[index]
  return builder !== undefined && builder.depositEpoch < chain.data.finalized && builder.withdrawable === far
}

/** Gwei that is not paid yet. */
function owedBy({ gloas }: ChainState, index: number): bigint {
  const payments = [...gloas.builderWithdrawals, ...gloas.payments.flatMap((payment) => payment ?? [])]
  return payments.reduce((sum, { builder, gwei }) => (builder === index ? sum + gwei : sum), 0n)
}

/** Gwei that the builder can bid at most; zero if it is not active. */
export function bidMax(chain: ChainState, index: number): bigint {
  const free = (chain.gloas.builders[index]?.balance ?? 0n) - minDeposit - owedBy(chain, index)
  return isActiveBuilder(chain, index) && free > 0n ? free : 0n
}

/** Where the payment for the block of a slot is kept; undefined if the slot is before the previous epoch. */
function paymentAt({ plan }: ChainState, slot: number, epoch: number): number | undefined {
  const { slotsPerEpoch } = plan
  const age = epoch - Math.floor(slot / slotsPerEpoch)
  if (age > 1) return undefined
  return (1 - age) * slotsPerEpoch + (slot % slotsPerEpoch)
}

/** The bid of a new block. */
export function acceptBid(chain: ChainState, bid: SimulatedBid, proposer: number, epoch: number): void {
  const { gloas } = chain
  const { slot, value, builder, feeRecipient: recipient } = bid
  if (builder !== 'self' && (!isActiveBuilder(chain, builder) || value > bidMax(chain, builder)))
    throw new Error(`builder ${builder} cannot bid ${value} gwei`)
  const at = paymentAt(chain, slot, epoch) as number
  if (value > 0n && builder !== 'self')
    gloas.payments[at] = { recipient, gwei: value, builder, slot, proposer, weight: 0n }
  gloas.bid = bid
}

/** The payload of the newest block is part of the chain, so its builder pays. */
export function payForDelivery(chain: ChainState, epoch: number): void {
  const { gloas, truth } = chain
  const { slot, value, builder, feeRecipient: recipient } = gloas.bid
  const at = paymentAt(chain, slot, epoch)
  if (at === undefined) {
    // Its entry was dropped, whether the quorum was reached or not.
    if (value > 0n) gloas.builderWithdrawals.push({ recipient, gwei: value, builder: Number(builder) })
  } else {
    const payment = gloas.payments[at]
    if (payment) gloas.builderWithdrawals.push(plain(payment))
    gloas.payments[at] = undefined
  }
  if (value > 0n) truth.setPaid(slot)
}

const plain = ({ recipient, gwei, builder }: { recipient: string; gwei: bigint; builder: number }) => ({
  ...{ recipient, gwei, builder },
})

/** A validator voted for the block of this slot in the same slot. */
export function addWeight(chain: ChainState, slot: number, epoch: number, gwei: bigint): void {
  const payment = chain.gloas.payments[paymentAt(chain, slot, epoch) ?? -1]
  if (payment) payment.weight += gwei
}

/** A proposer that is slashed for its block of this slot gets no payment for it. */
export function dropPayment(chain: ChainState, slot: number, proposer: number, epoch: number): void {
  const at = paymentAt(chain, slot, epoch) ?? -1
  if (chain.gloas.payments[at]?.proposer !== proposer) return
  chain.gloas.payments[at] = undefined
  chain.truth.note('payment of a slashed proposer')
}

/** At the end of an epoch: payments of the previous one are due if enough validators voted for the block. */
export function payByQuorum(chain: ChainState, ended: number): void {
  const { gloas, truth } = chain
  const { slotsPerEpoch } = chain.plan
  const quorum = ((chain.totalActive(ended) / BigInt(slotsPerEpoch)) * 6n) / 10n
  for (const payment of gloas.payments.splice(0, slotsPerEpoch)) {
    if (!payment) continue
    truth.note(payment.weight >= quorum ? 'payment by quorum' : 'missed quorum')
    if (payment.weight < quorum) continue
    gloas.builderWithdrawals.push(plain(payment))
    truth.setPaid(payment.slot)
  }
  gloas.payments.push(...new Array<undefined>(slotsPerEpoch).fill(undefined))
}

const builderPrefix = '0xb0'
export const isBuilderCredentials = (credentials: string): boolean => credentials.startsWith(builderPrefix)
export const builderCredentials = (address: string): string => `${builderPrefix}${'0'.repeat(22)}${address.slice(2)}`

export interface BuilderDeposit {
  readonly pubkey: string
  readonly credentials: string
  readonly gwei: bigint
}

/** `epoch`: the current one. `slot`: when the deposit was made. */
export function depositToBuilder(
  chain: ChainState,
  { pubkey, credentials, gwei }: BuilderDeposit,
  slot: number,
  epoch: number,
): void {
  const { builders } = chain.gloas
  const known = builders.find((builder) => builder.pubkey === pubkey)
  if (known) {
    if (known.withdrawable !== far && known.balance === 0n) known.withdrawable = epoch + chain.constants.builderDelay
    known.balance += gwei
    return
  }
  // The place of a builder that has left is used again.
  const free = builders.findIndex(({ withdrawable, balance }) => withdrawable <= epoch && balance === 0n)
  if (free >= 0) chain.truth.note('builder index used again')
  builders[free < 0 ? builders.length : free] = {
    ...{ pubkey, address: `0x${credentials.slice(26)}`, balance: gwei },
    ...{ depositEpoch: Math.floor(slot / chain.plan.slotsPerEpoch), withdrawable: far },
  }
}

/** Ignores requests of others, of builders that are not active, and of those that owe something. */
export function exitBuilder(
  chain: ChainState,
  { sender, pubkey }: { readonly sender: string; readonly pubkey: string },
  epoch: number,
): void {
  const index = chain.gloas.builders.findIndex((builder) => builder.pubkey === pubkey)
  const builder = chain.gloas.builders[index]
  if (!builder || !isActiveBuilder(chain, index) || builder.address !== sender) return
  if (owedBy(chain, index) > 0n) {
    chain.truth.note('refused builder exit')
    return
  }
  builder.withdrawable = epoch + chain.constants.builderDelay
  chain.truth.note('builder exit')
}
