// The payloads of a large network: which builder made the payload of a slot, whether it was delivered, and what it pays
// out. All of it follows from the slot, so that blocks, envelopes and states agree without a simulation.
//
// 1. In each epoch, one builder withholds its payload. The next block does not build on it, and its payload pays out the
//    same withdrawals.
// 2. A builder is charged when a block builds on its payload. The votes for a withheld payload reach the quorum, so its
//    builder is charged at the end of the next epoch.

import { text, zeroText } from '../encode-payload.ts'
import type { BuilderPayment, SimulatedBid, SimulatedWithdrawal } from '../gloas/gloas-records.ts'
import type { LargePlan } from './large-plan.ts'

const withheldAt = 17
const withdrawalsPerBlock = 16
/** Gwei. */
const withdrawnGwei = 1000n
const bidGwei = 50_000_000n

export const address = (number: number): string => {
  const bytes = Buffer.alloc(20, 0xa0)
  bytes.writeUInt32LE(number)
  return text(bytes)
}

export const payloadHash = (slot: number): string => {
  const bytes = Buffer.alloc(32, 9)
  bytes.writeUInt32LE(slot)
  return text(bytes)
}

/** The RANDAO mix in the blocks of an epoch. */
export const mixOf = (epoch: number): Buffer => {
  const bytes = Buffer.alloc(32, 5)
  bytes.writeUInt32LE(epoch)
  return bytes
}

export const isWithheld = ({ fork, slotsPerEpoch }: LargePlan, slot: number): boolean =>
  fork === 'gloas' && slot % slotsPerEpoch === withheldAt

/** The charge for the payload of a slot. Undefined: its proposer built it. */
export const paymentFor = ({ builders }: LargePlan, slot: number): BuilderPayment | undefined =>
  slot % 10 === 3 ? undefined : { recipient: address(slot), gwei: bidGwei, builder: slot % builders }

/** Withheld payloads of the epoch before that of the slot and of its own epoch, up to the slot. */
export function unpaidSlots(plan: LargePlan, slot: number): number[] {
  const firstSlot = (Math.floor(slot / plan.slotsPerEpoch) - 1) * plan.slotsPerEpoch
  return Array.from({ length: slot - firstSlot + 1 }, (_, at) => firstSlot + at).filter((at) => isWithheld(plan, at))
}

/** What builders owe when the block of this slot is processed. */
function chargesAt(plan: LargePlan, slot: number): BuilderPayment[] {
  if (plan.fork !== 'gloas' || isWithheld(plan, slot - 1)) return []
  const decided =
    slot % plan.slotsPerEpoch === 0 ? unpaidSlots(plan, slot - 1).filter((at) => at < slot - plan.slotsPerEpoch) : []
  return [...decided, slot - 1].flatMap((at) => paymentFor(plan, at) ?? [])
}

/** Whether the block of this slot deducts the withdrawals of its payload from balances. */
export const deducts = (plan: LargePlan, slot: number): boolean => !isWithheld(plan, slot - 1)

/** What the payload of a slot pays out. */
export function withdrawalsAt(plan: LargePlan, slot: number): SimulatedWithdrawal[] {
  const from = deducts(plan, slot) ? slot : slot - 1
  const index = from * withdrawalsPerBlock
  const charges = chargesAt(plan, from)
  const paid = charges.map(({ recipient, gwei, builder }) => ({
    ...{ validator: builder, isBuilder: true, address: recipient, amount: gwei },
  }))
  const sweptCount = plan.prunesEnvelopes ? 0 : withdrawalsPerBlock - charges.length
  const swept = Array.from({ length: sweptCount }, (_, at) => {
    const validator = (index + at) % plan.count
    return { validator, address: address(validator), amount: withdrawnGwei }
  })
  return [...paid, ...swept].map((withdrawal, at) => ({ ...withdrawal, index: index + at }))
}

/** `parentRoot`: of the block. */
export const bidAt = (plan: LargePlan, slot: number, parentRoot: string): SimulatedBid => ({
  slot,
  parentHash: payloadHash(isWithheld(plan, slot - 1) ? slot - 2 : slot - 1),
  parentRoot,
  blockHash: payloadHash(slot),
  prevRandao: text(mixOf(Math.floor(slot / plan.slotsPerEpoch))),
  feeRecipient: address(slot),
  builder: paymentFor(plan, slot)?.builder ?? 'self',
  value: paymentFor(plan, slot)?.gwei ?? 0n,
  executionPayment: 0n,
  requestsRoot: zeroText(32),
})
