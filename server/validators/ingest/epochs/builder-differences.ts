// Compares the balances and payments of builders in the next state with those that the blocks lead to, since Gloas. The
// verification of an epoch reports what differs. Builders matter for validators, because what builders are owed
// determines which withdrawals a block deducts.
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { indicesOfKeys } from '#sources/beacon/validator-keys.ts'
import type { EpochStates } from '../read/epoch.ts'
import { depositRequests, pubkeysOf, readQueuedDeposits } from '../replay/execution-requests.ts'
import { type OnboardedDeposit, onboardBuilders, ReplayedBuilders } from '../replay/replayed-builders.ts'
import type { BlockEffects } from '../rules/block-effects.ts'
import type { BlockWithdrawals } from '../rules/deductions.ts'
import type { Stake } from '../rules/stake.ts'
import type { Votes } from '../rules/votes.ts'

export interface BuilderCheck {
  /** Effects of the blocks between the two states. */
  readonly effectsBetween: readonly BlockEffects[]
  readonly withdrawals: ReadonlyMap<number, BlockWithdrawals>
  /** Of the votes of the previous epoch and of this one. */
  readonly sameSlot: readonly (Votes['sameSlot'] | undefined)[]
  /** Of the epoch. */
  readonly stake: Stake
}

/** Empty if nothing differs, or if one of the states does not list its builders. */
export function findBuilderDifferences(rules: ConsensusRules, states: EpochStates, check: BuilderCheck): string[] {
  const { epoch, atStart, atEnd, blocks } = states
  const nextEpochSlot = firstSlotAt(rules, epoch + 1)
  const isFork = rules.forkEpochs.gloas === epoch + 1
  if (!atEnd.payloads || !(atStart.payloads || (isFork && atStart.pending))) return []
  const replay = new ReplayedBuilders(rules, atStart.payloads, epoch, atEnd.payloads)
  const endEpoch = () => {
    replay.endEpoch(epoch, check.stake.activeIncrements)
    if (isFork) onboardBuilders(rules, replay, removedAtFork(rules, states), atEnd.payloads)
  }
  let isEnded = false
  for (const { slot } of check.effectsBetween) {
    const block = blocks.find((other) => other.slot === slot)
    if (slot === nextEpochSlot) {
      endEpoch()
      isEnded = true
    }
    if (!block?.bid) continue
    const finalizedEpoch =
      slot === nextEpochSlot ? atEnd.payloads.finalizedEpoch : (atStart.payloads?.finalizedEpoch ?? 0)
    if (replay.buildsOnPayload(block)) {
      replay.applyParentPayload(block, finalizedEpoch)
      replay.withdraw(check.withdrawals.get(slot)?.builderWithdrawals ?? [])
    }
    const sameSlot = check.sameSlot.map((votes) => votes?.get(slot))
    replay.applyBlock(block, sameSlot)
  }
  if (!isEnded) endEpoch()
  return replay.differences(atEnd.payloads, epoch + 1)
}

/** The deposits that left the queue when the fork began and were credited to no validator. */
function removedAtFork(rules: ConsensusRules, { epoch, atStart, atEnd, blocks }: EpochStates): OnboardedDeposit[] {
  const all = (queue: Uint8Array | undefined) =>
    readQueuedDeposits(queue ?? new Uint8Array(0), Number.POSITIVE_INFINITY)
  const firstSlot = firstSlotAt(rules, epoch)
  const added = blocks.filter(({ bid, slot }) => !bid && slot > firstSlot).flatMap(depositRequests)
  const candidates = [...all(atStart.pending?.deposits), ...all(Buffer.concat(added))]
  const keyOf = ({ bytes }: OnboardedDeposit) => Buffer.from(bytes).toString('latin1')
  const left = new Set(all(atEnd.pending?.deposits).map(keyOf))
  const indices = indicesOfKeys(atEnd, pubkeysOf(candidates))
  return candidates.filter((deposit) => !indices.has(deposit.pubkey) && !left.has(keyOf(deposit)))
}
