// The fields of a state since Gloas as SSZ, in the order of the consensus specifications. Before Gloas, the fields that
// both have are zero.
import { withOffsets } from '#sources/beacon/ssz-type.ts'
import { indexInWithdrawal } from '../encode-payload.ts'
import { type GloasSnapshot, zeroRoot } from '../records.ts'
import { bitsOf, fixed, hex, u64, variable, zeros } from '../ssz-writer.ts'
import type {
  BuilderPayment,
  PartialWithdrawal,
  PendingPayment,
  SimulatedBid,
  SimulatedBuilder,
  SimulatedWithdrawal,
} from './gloas-records.ts'

/** EPOCHS_PER_HISTORICAL_VECTOR of simulated networks. */
const mixesCount = 16

export function mixBytes(gloas: GloasSnapshot | undefined): Buffer {
  const mixes = new Map([...(gloas?.mixes ?? [])].map(([epoch, mix]) => [(epoch + mixesCount) % mixesCount, mix]))
  return Buffer.concat(Array.from({ length: mixesCount }, (_, at) => hex(mixes.get(at) ?? zeroRoot)))
}

/** The next withdrawal and the validator at which the next sweep begins. */
export const sweepPosition = (gloas: GloasSnapshot | undefined): Buffer =>
  Buffer.concat([u64(gloas?.nextWithdrawal ?? 0), u64(gloas?.nextValidator ?? 0)])

/** From the index of the first deposit request to the epoch of the last consolidation. */
export const churnFields = (gloas: GloasSnapshot | undefined): Buffer =>
  Buffer.concat(
    [
      0,
      gloas?.depositGwei ?? 0,
      gloas?.exitGwei ?? 0,
      gloas?.exitEpoch ?? 0,
      gloas?.consolidationGwei ?? 0,
      gloas?.consolidationEpoch ?? 0,
    ].map(u64),
  )

export const partialWithdrawal = ({ validator, gwei, withdrawable }: PartialWithdrawal): Buffer =>
  Buffer.concat([validator, gwei, withdrawable].map(u64))

/** The fields at the end of a state. */
export type GloasFields = Pick<
  GloasSnapshot,
  | 'builders'
  | 'nextBuilder'
  | 'availability'
  | 'payments'
  | 'builderWithdrawals'
  | 'bid'
  | 'expected'
  | 'payloadCommittees'
>

export const gloasFields = (gloas: GloasFields) => [
  variable(Buffer.concat(gloas.builders.map(builder))),
  fixed(u64(gloas.nextBuilder)),
  fixed(bitsOf(gloas.availability)),
  ...gloas.payments.map((payment) => (payment ? fixed(pendingPayment(payment)) : zeros(paymentSize))),
  variable(Buffer.concat(gloas.builderWithdrawals.map(builderPayment))),
  variable(bidBytes(gloas.bid)),
  variable(Buffer.concat(gloas.expected.map(withdrawal))),
  fixed(Buffer.concat(gloas.payloadCommittees.flat().map(u64))),
]

const builder = ({ pubkey, address, balance, depositEpoch, withdrawable }: SimulatedBuilder): Buffer =>
  Buffer.concat([hex(pubkey), Buffer.alloc(1), hex(address), ...[balance, depositEpoch, withdrawable].map(u64)])

const paymentSize = 52

const builderPayment = ({ recipient, gwei, builder: index }: BuilderPayment): Buffer =>
  Buffer.concat([hex(recipient), u64(gwei), u64(index)])

const pendingPayment = (payment: PendingPayment): Buffer =>
  Buffer.concat([u64(payment.weight), builderPayment(payment), u64(payment.proposer)])

const withdrawal = (record: SimulatedWithdrawal): Buffer =>
  Buffer.concat([u64(record.index), u64(indexInWithdrawal(record)), hex(record.address), u64(record.amount)])

const bidBytes = (bid: SimulatedBid): Buffer =>
  withOffsets([
    ...[bid.parentHash, bid.parentRoot, bid.blockHash, bid.prevRandao, bid.feeRecipient].map((text) =>
      fixed(hex(text)),
    ),
    zeros(8),
    ...[bid.builder === 'self' ? Number.POSITIVE_INFINITY : bid.builder, bid.slot, bid.value, bid.executionPayment].map(
      (value) => fixed(u64(value)),
    ),
    variable(Buffer.alloc(0)),
    fixed(hex(bid.requestsRoot)),
  ])
