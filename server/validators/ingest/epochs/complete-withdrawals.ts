// Completes the withdrawals that the blocks of an epoch deduct from balances, since Gloas. Blocks do not contain them, so
// they come from the envelopes of payloads (read/payloads.ts). If a node does not have an envelope, all withdrawals of the
// epoch are computed from its first state.
import type { Block } from '#sources/beacon/block.ts'
import { withdrawalsFrom } from '#sources/beacon/block-ssz.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { View } from '#sources/beacon/ssz.ts'
import type { EpochData } from '../read/epoch.ts'
import { StateSearch } from '../read/states-not-found.ts'
import { ReplayedValidators } from '../replay/replayed-validators.ts'
import type { BlockEffects } from '../rules/block-effects.ts'
import type { BlockWithdrawals } from '../rules/deductions.ts'

/**
 * By slot, for all blocks since Gloas between the two states. `effectsBetween`: of these blocks. Throws a
 * StatesNotFoundError if they are not known, or the failure of the requests for envelopes.
 */
export function completeWithdrawals(
  rules: ConsensusRules,
  data: Pick<EpochData, 'epoch' | 'atStart' | 'atEnd' | 'blocks' | 'withdrawals' | 'envelopeSearch'>,
  effectsBetween: readonly BlockEffects[],
): ReadonlyMap<number, BlockWithdrawals> {
  const known = data.withdrawals ?? new Map<number, BlockWithdrawals>()
  const bySlot = new Map(data.blocks.map((block) => [block.slot, block]))
  const blocks = effectsBetween.flatMap(({ slot }) => bySlot.get(slot) ?? [])
  const missing = blocks.find(({ bid, slot }) => bid && !known.has(slot))
  if (!missing) return known
  const computed = computeWithdrawals(rules, data, effectsBetween, blocks)
  const unknown = blocks.find(({ bid, slot }) => bid && !computed.has(slot) && !known.has(slot))
  if (unknown)
    throw (data.envelopeSearch ?? new StateSearch()).error(
      `the node has neither the envelope of the payload of slot ${unknown.slot} nor the full states of epoch ${data.epoch}`,
    )
  return new Map([...computed, ...known])
}

function computeWithdrawals(
  rules: ConsensusRules,
  { epoch, atStart, atEnd }: Pick<EpochData, 'epoch' | 'atStart' | 'atEnd'>,
  effectsBetween: readonly BlockEffects[],
  blocks: readonly Block[],
): Map<number, BlockWithdrawals> {
  const computed = new Map<number, BlockWithdrawals>()
  const nextEpochSlot = firstSlotAt(rules, epoch + 1)
  if (atStart.payloads && atEnd.payloads) {
    // The transition to the next epoch is not replayed, so what it needs does not matter.
    const transition = { slashings: new Float64Array(rules.slashingsVector), depositBalanceToConsume: 0 }
    const state = new ReplayedValidators(rules, epoch, atStart, atEnd, transition)
    const context = { finalizedEpoch: atStart.payloads.finalizedEpoch, sameSlot: [] }
    for (const [at, effects] of effectsBetween.entries()) {
      const block = blocks[at]
      if (!block || block.slot === nextEpochSlot) break
      const withdrawals = state.applyBlock(block, effects, context)
      if (withdrawals) computed.set(block.slot, withdrawals)
    }
  }
  // The next state has the list of its own block, or an earlier one if that block deducts nothing.
  const last = blocks.at(-1)
  if (last?.slot === nextEpochSlot && atEnd.payloads && last.bid)
    computed.set(nextEpochSlot, withdrawalsFrom(new View(atEnd.payloads.expectedWithdrawals)))
  return computed
}
