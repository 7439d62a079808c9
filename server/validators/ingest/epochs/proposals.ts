// What became of the blocks of an epoch since Gloas: whether their payloads are part of the chain, who built them, and
// whether a builder paid the proposer (docs/methodology.md, "Payloads since Gloas").
import type { Block } from '#sources/beacon/block.ts'
import { type ConsensusRules, epochAt } from '#sources/beacon/consensus.ts'
import { paymentQuorum } from '#sources/beacon/gloas.ts'
import { type PayloadStatus, payloadStatus } from '#sources/beacon/payload-status.ts'
import { chainOf, type EpochData } from '../read/epoch.ts'
import type { Stake } from '../rules/stake.ts'
import type { Votes } from '../rules/votes.ts'

export interface Proposal {
  readonly slot: number
  readonly proposer: number
  readonly payload: PayloadStatus
  /** Undefined: the proposer built the payload itself. */
  readonly builder?: number | undefined
  /** What the builder offered from its balance. */
  readonly valueGwei: number
  /** What the builder promised to pay with a transaction. */
  readonly executionPaymentGwei?: number
  /** Whether the value is paid. Undefined: nothing is to be paid, or it is not decided yet. */
  readonly isPaid?: boolean | undefined
}

/** The proposer withheld its own payload, or was late. */
const isProposerFault = ({ payload, builder }: Proposal): boolean => payload === 'empty' && builder === undefined

/**
 * Whether a block counts as proposed with an empty payload (docs/methodology.md, `proposed_empty`). Before Gloas, the block
 * contains the payload, and it has no transactions. Since Gloas, `proposal` is what became of the payload.
 */
export const isEmptyBlock = ({ payload }: Pick<Block, 'payload'>, proposal: Proposal | undefined): boolean =>
  proposal ? isProposerFault(proposal) : payload?.transactions === 0

/** How much stake must have voted for a block in its own slot, so that its builder pays although the payload is missing. */
function quorumGwei({ increment, slotsPerEpoch }: ConsensusRules, activeIncrements: number): bigint {
  const perSlot = (BigInt(activeIncrements) * BigInt(increment)) / BigInt(slotsPerEpoch)
  return (perSlot * BigInt(paymentQuorum.numerator)) / BigInt(paymentQuorum.denominator)
}

/** Of the blocks of the epoch since Gloas. `votes`: those of the epoch. `next`: the stake of the next epoch. */
export function findProposals(
  rules: ConsensusRules,
  data: Pick<EpochData, 'epoch' | 'blocks' | 'parent' | 'child'>,
  votes: Votes,
  next: Stake,
): Proposal[] {
  const chain = chainOf(data)
  const weights = new Map<number, number>()
  for (const bySlot of votes.sameSlot.values())
    for (const [slot, increments] of bySlot) weights.set(slot, (weights.get(slot) ?? 0) + increments)
  const quorum = quorumGwei(rules, next.activeIncrements)
  const hasQuorum = (slot: number) => BigInt(weights.get(slot) ?? 0) * BigInt(rules.increment) >= quorum
  return chain.flatMap((block, at): Proposal[] => {
    const { bid, slot, proposer } = block
    if (!bid || epochAt(rules, slot) !== data.epoch) return []
    const { builder, value: valueGwei, executionPayment: executionPaymentGwei } = bid
    const payload = payloadStatus(block, chain[at + 1])
    const isPaid =
      builder === undefined || valueGwei === 0 || payload === 'unknown'
        ? undefined
        : payload === 'full' || (hasQuorum(slot) && !isSlashed(block, data.blocks))
    return [{ slot, proposer, payload, builder, valueGwei, executionPaymentGwei, isPaid }]
  })
}

/** Whether the proposer was slashed for this block by the end of the next epoch. The payment is then dropped. */
const isSlashed = ({ slot, proposer }: Block, blocks: readonly Block[]): boolean =>
  blocks.some(({ proposerSlashings, slashedSlots = [] }) =>
    proposerSlashings.some((slashed, at) => slashed === proposer && slashedSlots[at] === slot),
  )
