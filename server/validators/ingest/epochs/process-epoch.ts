// Computes the measures of all validators for one finalized epoch (docs/methodology.md).
//
// 1. The votes of an epoch are in its own blocks and in those of the next epoch. What they pay to proposers of the next
//    epoch is carried over.
// 2. Votes are rewarded at the end of the next epoch, but count for the epoch of the duty.
// 3. Earnings are the balance changes from the first state of the epoch to the first state of the next one. A state
//    includes the block of its slot, so the first block of an epoch counts for the previous epoch
//    (behaviour/validators.md#earnings).
// 4. Epochs are processed in order. Before the first one, the previous epoch is processed without storing its measures.

import { slashedIn } from '#sources/beacon/block.ts'
import { type ConsensusRules, epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import { isActiveAt } from '#sources/beacon/validators.ts'
import type { UnexplainedChange } from '#validators/duties/unexplained.ts'
import type { Measure, Transfer } from '#validators/method/measures.ts'
import type { EpochData, ExecutionRewards } from '../read/epoch.ts'
import { type BlockEffects, computeEffects, isSlashable, proposerReward } from '../rules/block-effects.ts'
import { computeStake, type Stake } from '../rules/stake.ts'
import { computeVoteRewards, scoresFrom, type VoteRewards } from '../rules/vote-rewards.ts'
import { flag, tallyVotes, type Votes } from '../rules/votes.ts'
import { computeEarnings } from './earnings.ts'
import { findProposals, isEmptyBlock, type Proposal } from './proposals.ts'
import type { Sums } from './sums.ts'

/** What the next epoch needs of this one. */
export interface Carry {
  readonly epoch: number
  readonly proposerGwei: ReadonlyMap<number, number>
  readonly voteRewards: VoteRewards
  /** Effects of the block in the first slot of the next epoch. */
  readonly effectsOfNextEpochStart: BlockEffects | undefined
}

export type ProcessedEpoch = Readonly<ReturnType<typeof processEpoch>>

/** Adds the epoch to the sums. Without `before`, only the carry of the result is valid (unless it is epoch 0). */
export function processEpoch(rules: ConsensusRules, data: EpochData, before: Carry | undefined, sums: Sums) {
  const { epoch, atStart, atEnd } = data
  const { stakes, votes, effectsBetween, earnings, unexplained } = accountForBalances(rules, data, before)
  const { voteRewards, scores } = computeVoteRewards(rules, votes, {
    stake: stakes[1],
    isSlashed: findSlashed(rules, data, stakes[1]),
    finalizedEpoch: data.finalizedEpoch,
    scores: scoresFrom(atEnd.scores),
  })
  const nextEpochSlot = firstSlotAt(rules, epoch + 1)
  const effects = [
    ...(before?.effectsOfNextEpochStart ? [before.effectsOfNextEpochStart] : []),
    ...effectsBetween.filter(({ slot }) => slot < nextEpochSlot),
  ]

  const proposals = findProposals(rules, data, votes, stakes[1])
  sums.ensureCapacity(Math.max(atStart.count, atEnd.count))
  addVotes(sums, votes, voteRewards)
  addBlocks(sums, data, effects, proposals, firstSlotAt(rules, epoch))
  const { earned, slashed, transfers } = earnings
  for (let index = 0; index < earned.length; index++) sums.add('earnings', index, earned[index] as number)
  for (const [index, gwei] of slashed) sums.add('slashing_penalty', index, gwei)
  // Also for validators without duties: a deposit comes before the activation, a full withdrawal after the exit.
  for (const [name, byValidator] of Object.entries(transfers) as [Transfer, ReadonlyMap<number, number>][])
    for (const [index, gwei] of byValidator) sums.add(name, index, gwei)
  markActive(sums, data, epoch)
  const effectsOfNextEpochStart = effectsBetween.find(({ slot }) => slot === nextEpochSlot)
  const carry: Carry = { epoch, proposerGwei: votes.proposerGwei, voteRewards, effectsOfNextEpochStart }
  return { carry, transfers, unexplained, voteRewards, scores, effects, votes, proposals }
}

/** Changes that are listed for a report of the defect. */
const listedMax = 3

/** Undefined: the rules explain all balances. */
function summarizeUnexplained(epoch: number, changes: ReadonlyMap<number, number>): UnexplainedChange | undefined {
  if (changes.size === 0) return undefined
  const gwei = [...changes.values()]
  return {
    epoch,
    validators: changes.size,
    inGwei: gwei.reduce((sum, change) => sum + Math.max(0, change), 0),
    outGwei: gwei.reduce((sum, change) => sum + Math.max(0, 0 - change), 0),
    listed: [...changes].slice(0, listedMax),
  }
}

/** An epoch without the data that is only known at the end of the next one. */
type AccountedEpoch = Omit<EpochData, 'finalizedEpoch' | 'proposers'>

/**
 * Replays all balances of the epoch. What differs from its last state is not explained by the rules: those of this epoch,
 * and those of the vote rewards of the previous one (`before`).
 */
export function accountForBalances(rules: ConsensusRules, data: AccountedEpoch, before: Carry | undefined) {
  const { epoch, atStart, atEnd } = data
  const stakes = [computeStake(rules, epoch, atStart), computeStake(rules, epoch + 1, atEnd)] as const
  const votes = tallyVotes(rules, data.committees, data.blocks, stakes, data.parent)
  const gweiOf = (slot: number) => (before?.proposerGwei.get(slot) ?? 0) + (votes.proposerGwei.get(slot) ?? 0)
  const effectsBetween = computeEffectsBetween(rules, data, stakes, gweiOf)
  const voteRewards = epoch > 0 ? before?.voteRewards : undefined
  const earnings = computeEarnings(rules, data, voteRewards, effectsBetween, data.withdrawals ?? new Map())
  // Without the carry of the previous epoch, its rewards are not known.
  const unexplained = before || epoch === 0 ? summarizeUnexplained(epoch, earnings.unexplained) : undefined
  return { stakes, votes, effectsBetween: earnings.effectsBetween, earnings, unexplained }
}

/**
 * Effects of the blocks between the two states. A state includes the block of its slot, so these are the blocks after the
 * first slot of the epoch, up to and with the first slot of the next one.
 */
function computeEffectsBetween(
  rules: ConsensusRules,
  { epoch, blocks, atStart, sync }: AccountedEpoch,
  stakes: readonly [Stake, Stake],
  gweiOf: (slot: number) => number,
): BlockEffects[] {
  const firstSlot = firstSlotAt(rules, epoch)
  const nextEpochSlot = firstSlotAt(rules, epoch + 1)
  const wasSlashed = new Set<number>()
  for (let index = 0; index < atStart.count; index++) if (atStart.slashed[index] === 1) wasSlashed.add(index)
  return blocks
    .filter(({ slot }) => slot > firstSlot && slot <= nextEpochSlot)
    .map((block) => {
      const isNext = block.slot === nextEpochSlot
      const [stake, committee] = isNext ? [stakes[1], sync.next] : [stakes[0], sync.now]
      return computeEffects(rules, block, stake, committee, gweiOf(block.slot), wasSlashed)
    })
}

/** The validators that were slashed by the end of the next epoch. */
function findSlashed(rules: ConsensusRules, { blocks, atEnd, epoch }: EpochData, stake: Stake): Uint8Array {
  const isSlashed = atEnd.slashed.slice()
  for (const block of blocks) {
    if (epochAt(rules, block.slot) !== epoch + 1) continue
    for (const validator of slashedIn(block)) {
      if (isSlashable(stake, validator)) isSlashed[validator] = 1
    }
  }
  return isSlashed
}

/** Runs for a million validators per epoch, so it accesses the columns directly. */
export function addVotes(sums: Sums, votes: Votes, voteRewards: VoteRewards): void {
  const columns = sums.columns
  const { dutySlot, delay, right, timely, inclusions } = votes
  for (let index = 0; index < dutySlot.length; index++) {
    const isAssigned = (dutySlot[index] as number) >= 0
    const slots = delay[index] as number
    if (isAssigned) {
      sums.mark(index)
      add(columns.assigned, index, 1)
    }
    if (isAssigned && slots > 0) {
      const correct = right[index] as number
      const timelyTarget = (timely[index] as number) & flag.target
      add(columns.included, index, 1)
      add(columns.inclusions, index, inclusions[index] as number)
      add(columns.inclusion_delay, index, slots)
      add(columns.correct_source, index, 1)
      if (correct & flag.target) add(columns.correct_target, index, 1)
      if (correct & flag.head) add(columns.correct_head, index, 1)
      if (!((timely[index] as number) & flag.source)) add(columns.late_source, index, 1)
      if (correct & flag.target && !timelyTarget) add(columns.late_target, index, 1)
    }
    if (voteRewards.eligible[index] === 1) {
      sums.mark(index)
      addVoteRewards(columns, votes, voteRewards, index, isAssigned)
    }
  }
}

function add(column: Sums['columns'][Measure], index: number, value: number): void {
  column[index] = (column[index] as number) + value
}

/** Inactivity penalties count as target penalties (behaviour/validators.md#penalties). */
function addVoteRewards(
  columns: Sums['columns'],
  votes: Votes,
  voteRewards: VoteRewards,
  index: number,
  isAssigned: boolean,
): void {
  const source = voteRewards.source[index] as number
  const target = voteRewards.target[index] as number
  const sourceLoss = Math.min(0, source)
  const targetLoss = Math.min(0, target) + (voteRewards.inactivity[index] as number)
  add(
    columns.attestation_reward,
    index,
    Math.max(0, source) + Math.max(0, target) + (voteRewards.head[index] as number),
  )
  const isIncluded = (votes.delay[index] ?? 0) > 0
  // The chain ignores the votes of slashed validators.
  if (!isIncluded || voteRewards.isSlashed[index] === 1) {
    add(columns.missed_attestation_penalty, index, sourceLoss + targetLoss)
    if (!isIncluded && isAssigned) add(columns.missed_attestation_reward, index, voteRewards.ideal[index] as number)
    return
  }
  if (sourceLoss !== 0) add(columns.late_source_penalty, index, sourceLoss)
  if (targetLoss === 0) return
  const isRight = ((votes.right[index] as number) & flag.target) !== 0
  add(isRight ? columns.late_target_penalty : columns.wrong_target_penalty, index, targetLoss)
}

function addBlocks(
  sums: Sums,
  { proposers, blocks, execution: knownRewards }: EpochData,
  effects: readonly BlockEffects[],
  proposals: readonly Proposal[],
  firstSlot: number,
): void {
  const bySlot = new Map(blocks.map((block) => [block.slot, block]))
  const proposalAt = new Map(proposals.map((proposal) => [proposal.slot, proposal]))
  const execution = knownRewards && withPaidBids(knownRewards, proposals)
  const mean = meanOf(effects.map(proposerReward))
  const knownSums = effects.flatMap(({ slot }) => execution?.get(slot) ?? []).map(executionSum)
  const addMissedExecution = (proposer: number) =>
    knownSums.length > 0
      ? sums.add('missed_execution_reward', proposer, meanOf(knownSums))
      : sums.add('execution_unknown', proposer, 1)
  for (let at = 0; at < proposers.length; at++) {
    const proposer = proposers[at] as number
    if (proposer < 0) continue
    sums.add('proposer_duties', proposer, 1)
    const block = bySlot.get(firstSlot + at)
    if (!block) {
      sums.add('missed_block_reward', proposer, mean)
      if (execution) addMissedExecution(proposer)
      continue
    }
    sums.add('proposed', proposer, 1)
    const proposal = proposalAt.get(block.slot)
    if (isEmptyBlock(block, proposal)) sums.add('proposed_empty', proposer, 1)
    const paid = execution?.get(block.slot)
    // A payload that is not part of the chain pays nothing, as a missing block.
    if (execution && !paid && proposal?.payload === 'empty') addMissedExecution(proposer)
    else if (execution && !paid) sums.add('execution_unknown', proposer, 1)
    if (!paid) continue
    sums.add('priority_fee', proposer, paid.priorityFee)
    sums.add('baseline_mev', proposer, paid.baselineMev)
    sums.add('external_reward', proposer, paid.external)
  }
  for (const block of effects) addEffects(sums, block)
}

/** What a builder pays although its payload is not part of the chain. */
function withPaidBids(
  execution: ReadonlyMap<number, ExecutionRewards>,
  proposals: readonly Proposal[],
): ReadonlyMap<number, ExecutionRewards> {
  const paid = proposals.filter(({ payload, isPaid }) => payload === 'empty' && isPaid)
  const rewardOf = ({ slot, valueGwei }: Proposal) =>
    [slot, { priorityFee: 0, baselineMev: valueGwei, external: valueGwei }] as const
  return paid.length === 0 ? execution : new Map([...execution, ...paid.map(rewardOf)])
}

const executionSum = ({ priorityFee, baselineMev }: ExecutionRewards): number => priorityFee + baselineMev

const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : Math.floor(values.reduce((sum, value) => sum + value, 0) / values.length)

function addEffects(sums: Sums, block: BlockEffects): void {
  sums.add('block_reward', block.proposer, proposerReward(block))
  sums.add('slashes_collected', block.proposer, block.slashed.length)
  for (const { validator } of block.slashed) sums.add('slashes_received', validator, 1)
  for (const { validator, signed, gwei } of block.seats) {
    if (signed) {
      sums.add('sync_signatures', validator, 1)
      sums.add('sync_reward', validator, gwei)
    } else {
      sums.add('sync_penalty', validator, gwei)
      sums.add('missed_sync_reward', validator, block.syncSeat)
    }
  }
}

function markActive(sums: Sums, { atStart, execution }: EpochData, epoch: number): void {
  for (let index = 0; index < atStart.count; index++) {
    if (!isActiveAt(atStart, index, epoch)) continue
    sums.mark(index)
    if (!execution) sums.add('execution_unknown', index, 1)
  }
}
