// What a state since Gloas contains about payloads, builders and withdrawals. Lists are kept as concatenated SSZ
// records. All of it together is small compared with the validators.
import { firstSlotOf } from '#core/chain-time.ts'
import type { ConsensusRules } from './consensus.ts'
import { builderOf, builderPaymentSize, committeeEpochs } from './gloas.ts'
import type { View } from './ssz.ts'
import { electraOffsets, gloasOffsets, stateOffsets } from './state-layout.ts'

export interface PayloadState {
  /** The last payload that is part of the chain. */
  readonly latestBlockHash: string
  /** The bid of the latest block. In the first state of the fork it only has the hash of the last payload before it. */
  readonly latestBid: {
    readonly slot: number
    readonly blockHash: string
    /** Gwei. */
    readonly value: number
    readonly builder: number | undefined
    readonly feeRecipient: string
  }
  readonly finalizedEpoch: number
  readonly builders: Uint8Array
  /** Payments of this epoch and the previous one that are not settled, by slot. */
  readonly builderPayments: Uint8Array
  /** Settled payments that no payload contains yet. */
  readonly builderWithdrawals: Uint8Array
  readonly partialWithdrawals: Uint8Array
  /** What the next payload of the chain has to pay out. The balances are already without it. */
  readonly expectedWithdrawals: Uint8Array
  readonly nextWithdrawalValidator: number
  readonly nextWithdrawalBuilder: number
  /** Seats of the payload committees of the previous epoch, this one and the next, by slot. */
  readonly committees: Uint32Array
}

export function payloadStateFromSsz(view: View, rules: ConsensusRules): PayloadState {
  const { latestBlockHash, nextWithdrawal, pendingDeposits } = electraOffsets(rules, 'gloas')
  const at = gloasOffsets(rules)
  const copy = (from: number, until: number) => new Uint8Array(view.variable(from, until).bytes)
  const bid = view.variable(at.latestBid, at.expectedWithdrawals)
  const payments = view.part(at.payments, at.payments + 2 * rules.slotsPerEpoch * builderPaymentSize)
  const seats = committeeEpochs * rules.slotsPerEpoch * rules.payloadCommitteeSize
  return {
    latestBlockHash: view.hex(latestBlockHash, 32),
    latestBid: {
      slot: bid.u64(164),
      blockHash: bid.hex(64, 32),
      value: bid.u64(172),
      builder: builderOf(bid.u64(156)),
      feeRecipient: bid.hex(128, 20),
    },
    finalizedEpoch: view.u64(stateOffsets(rules).finalized),
    builders: copy(at.builders, at.builderWithdrawals),
    builderPayments: new Uint8Array(payments.bytes),
    builderWithdrawals: copy(at.builderWithdrawals, at.latestBid),
    partialWithdrawals: copy(pendingDeposits + 4, pendingDeposits + 8),
    expectedWithdrawals: new Uint8Array(view.variable(at.expectedWithdrawals).bytes),
    nextWithdrawalValidator: view.u64(nextWithdrawal + 8),
    nextWithdrawalBuilder: view.u64(at.nextBuilder),
    committees: Uint32Array.from({ length: seats }, (_, seat) => view.u32(at.committees + seat * 8)),
  }
}

/** The seats of the payload committee of a slot. `state`: of the epoch of the slot, or of the epoch before or after. */
export function payloadCommitteeOf(
  { committees }: PayloadState,
  { slotsPerEpoch, payloadCommitteeSize }: ConsensusRules,
  stateEpoch: number,
  slot: number,
): Uint32Array | undefined {
  const at = (slot - firstSlotOf({ slotsPerEpoch }, stateEpoch - 1)) * payloadCommitteeSize
  return at >= 0 && at < committees.length ? committees.subarray(at, at + payloadCommitteeSize) : undefined
}
