// One finalized epoch: from what was read to every validator's measures (docs/methodology.md).
//
// 1. Blocks of this epoch and the next tell its votes. What the votes brought the proposers of the next epoch is carried on.
// 2. Votes are paid at the end of the next epoch, but belong to the epoch in which they were due.
// 3. Earnings are what the balance gained from the epoch's first state to the next epoch's first state. A state lies behind
//    the block of its slot, so an epoch's first block counts for the epoch before (behaviour/validators.md#earnings).
// 4. Epochs are refined in order. The first one is preceded by a pass over the epoch before it, which is not written.

import { slashedIn } from '#sources/beacon/block.ts'
import { type ConsensusRules, epochAt, firstSlotAt } from '#sources/beacon/consensus.ts'
import { isActiveAt } from '#sources/beacon/validators.ts'
import type { Measure } from '#validators/ratings/measures.ts'
import type { EpochData, ExecutionRewards } from '../read/epoch.ts'
import { verifyBalances, verifyRegistry } from '../read/verify.ts'
import { type BlockEffects, computeEffects, isSlashable, proposerReward } from './block-effects.ts'
import { computeEarnings, type UnexplainedBalanceChanges } from './earnings.ts'
import { scoresFrom } from './inactivity-scores.ts'
import { computeStake, type Stake } from './stake.ts'
import type { Sums } from './sums.ts'
import { computeVoteRewards, type Scores, type VoteRewards } from './vote-rewards.ts'
import { flag, tallyVotes, type Votes } from './votes.ts'

/** What an epoch leaves to the next one. */
export interface Carry {
  readonly epoch: number
  readonly proposerGwei: ReadonlyMap<number, number>
  readonly voteRewards: VoteRewards
  readonly scores: Scores
  /** Of the block in the next epoch's first slot. */
  readonly first: BlockEffects | undefined
}

export interface ProcessedEpoch {
  readonly carry: Carry
  readonly unexplainedBalanceChanges: UnexplainedBalanceChanges
  readonly voteRewards: VoteRewards
  readonly effects: readonly BlockEffects[]
  readonly votes: Votes
}

/** Whether a remainder of balances is what another node has as well. */
export type AcceptRemainder = (remainder: string) => boolean

const acceptNone: AcceptRemainder = () => false

/**
 * Adds the epoch to the sums. Without `before` (the first pass, unless it is epoch 0) the result is good for its carry only,
 * and the scores that its votes find come separately. Throws a ContradictionError before the sums change.
 */
export function processEpoch(
  rules: ConsensusRules,
  data: EpochData,
  before: Carry | undefined,
  sums: Sums,
  { startScores = new Map(), accept = acceptNone }: { startScores?: Scores | undefined; accept?: AcceptRemainder } = {},
): ProcessedEpoch {
  const { epoch, now, next } = data
  const { stakes, votes, after, earnings } = accountForBalances(rules, data, before, accept)
  const { voteRewards, scores } = computeVoteRewards(rules, votes, {
    stake: stakes[1],
    isSlashed: findSlashed(rules, data, stakes[1]),
    finalizedEpoch: data.finalizedEpoch,
    // A whole state tells the scores that this epoch's votes find; otherwise they are carried on from epoch to epoch.
    scores: next.scores ? scoresFrom(next.scores) : (before?.scores ?? startScores),
  })
  const lastSlot = firstSlotAt(rules, epoch + 1)
  const own = [...(before?.first ? [before.first] : []), ...after.filter(({ slot }) => slot < lastSlot)]

  sums.ensureCapacity(Math.max(now.count, next.count))
  addVotes(sums, votes, voteRewards)
  addBlocks(sums, data, own, firstSlotAt(rules, epoch))
  const { earned, unexplainedBalanceChanges } = earnings
  for (let index = 0; index < earned.length; index++) sums.add('earnings', index, earned[index] as number)
  markActive(sums, data, epoch)
  const first = after.find(({ slot }) => slot === lastSlot)
  return {
    carry: { epoch, proposerGwei: votes.proposerGwei, voteRewards, scores, first },
    unexplainedBalanceChanges,
    voteRewards,
    effects: own,
    votes,
  }
}

/** An epoch without what can only be known when the next one has ended. */
type AccountedEpoch = Omit<EpochData, 'finalizedEpoch' | 'proposers'>

/**
 * Verifies what `before` says was paid for votes: it is paid at the end of the epoch after theirs. So the last epoch that is about to
 * be stored is verified with the balances that follow it.
 */
export function verifyVoteRewards(
  rules: ConsensusRules,
  data: AccountedEpoch,
  before: Carry,
  accept = acceptNone,
): void {
  accountForBalances(rules, data, before, accept)
}

/** Accounts for all balances of the epoch and throws where it cannot. */
function accountForBalances(
  rules: ConsensusRules,
  data: AccountedEpoch,
  before: Carry | undefined,
  accept: AcceptRemainder,
) {
  const { epoch, now, next } = data
  verifyRegistry(data)
  const stakes = [computeStake(rules, epoch, now), computeStake(rules, epoch + 1, next)] as const
  const votes = tallyVotes(rules, data.committees, data.blocks, stakes)
  const gweiOf = (slot: number) => (before?.proposerGwei.get(slot) ?? 0) + (votes.proposerGwei.get(slot) ?? 0)
  const after = effectsAfterFirst(rules, data, stakes, gweiOf)
  const earnings = computeEarnings(rules, data, epoch > 0 ? before?.voteRewards : undefined, after)
  // Without what the epoch before left, balances cannot be accounted for.
  if (before || epoch === 0) verifyBalances(rules, data, earnings, accept)
  return { stakes, votes, after, earnings }
}

/** Of the blocks behind the epoch's first state, up to the next one's: those of slots first + 1 to next first. */
function effectsAfterFirst(
  rules: ConsensusRules,
  { epoch, blocks, now, sync }: AccountedEpoch,
  stakes: readonly [Stake, Stake],
  gweiOf: (slot: number) => number,
): BlockEffects[] {
  const first = firstSlotAt(rules, epoch)
  const last = firstSlotAt(rules, epoch + 1)
  const wasSlashed = new Set<number>()
  for (let index = 0; index < now.count; index++) if (now.slashed[index] === 1) wasSlashed.add(index)
  return blocks
    .filter(({ slot }) => slot > first && slot <= last)
    .map((block) => {
      const isNext = block.slot === last
      const [stake, committee] = isNext ? [stakes[1], sync.next] : [stakes[0], sync.now]
      return computeEffects(rules, block, stake, committee, gweiOf(block.slot), wasSlashed)
    })
}

/** Who was slashed when the next epoch ended. */
function findSlashed(rules: ConsensusRules, { blocks, next, epoch }: EpochData, stake: Stake): Uint8Array {
  const isSlashed = next.slashed.slice()
  for (const block of blocks) {
    if (epochAt(rules, block.slot) !== epoch + 1) continue
    for (const validator of slashedIn(block)) {
      if (isSlashable(stake, validator)) isSlashed[validator] = 1
    }
  }
  return isSlashed
}

/** A million times an epoch: the columns are at hand and nothing is looked up twice. */
function addVotes(sums: Sums, votes: Votes, voteRewards: VoteRewards): void {
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
      const rightly = right[index] as number
      const timelyTarget = (timely[index] as number) & flag.target
      add(columns.included, index, 1)
      add(columns.inclusions, index, inclusions[index] as number)
      add(columns.inclusion_delay, index, slots)
      add(columns.correct_source, index, 1)
      if (rightly & flag.target) add(columns.correct_target, index, 1)
      if (rightly & flag.head) add(columns.correct_head, index, 1)
      if (!((timely[index] as number) & flag.source)) add(columns.late_source, index, 1)
      if (rightly & flag.target && !timelyTarget) add(columns.late_target, index, 1)
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

/** Each penalty goes to what caused it; the leak's goes with the target, whose lack it punishes (behaviour/validators.md#penalties). */
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
  // The votes of a slashed validator count for nothing, as if it had not voted.
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
  { proposers, blocks, execution }: EpochData,
  own: readonly BlockEffects[],
  first: number,
): void {
  const effects = new Map(own.map((one) => [one.slot, one]))
  const bySlot = new Map(blocks.map((block) => [block.slot, block]))
  const mean = meanOf(own.map(proposerReward))
  const executionMean = meanOf(own.flatMap(({ slot }) => execution?.get(slot) ?? []).map(executionSum))
  for (let at = 0; at < proposers.length; at++) {
    const proposer = proposers[at] as number
    if (proposer < 0) continue
    sums.add('proposer_duties', proposer, 1)
    const block = bySlot.get(first + at)
    if (!block) {
      sums.add('missed_block_reward', proposer, mean)
      if (execution) sums.add('missed_execution_reward', proposer, executionMean)
      continue
    }
    sums.add('proposed', proposer, 1)
    if (block.payload && block.payload.transactions === 0) sums.add('proposed_empty', proposer, 1)
    const paid = execution?.get(block.slot)
    if (execution && !paid) sums.add('execution_unknown', proposer, 1)
    if (!paid) continue
    sums.add('priority_fee', proposer, paid.priorityFee)
    sums.add('baseline_mev', proposer, paid.baselineMev)
    sums.add('external_reward', proposer, paid.external)
  }
  for (const one of effects.values()) addEffects(sums, one)
}

const executionSum = ({ priorityFee, baselineMev }: ExecutionRewards): number => priorityFee + baselineMev

const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : Math.floor(values.reduce((sum, value) => sum + value, 0) / values.length)

function addEffects(sums: Sums, one: BlockEffects): void {
  sums.add('block_reward', one.proposer, proposerReward(one))
  sums.add('slashes_collected', one.proposer, one.slashed.length)
  for (const { validator } of one.slashed) sums.add('slashes_received', validator, 1)
  const gwei = one.syncSeat
  for (const { validator, signed } of one.seats) {
    if (signed) {
      sums.add('sync_signatures', validator, 1)
      sums.add('sync_reward', validator, gwei)
    } else {
      sums.add('sync_penalty', validator, 0 - gwei)
      sums.add('missed_sync_reward', validator, gwei)
    }
  }
}

function markActive(sums: Sums, { now, execution }: EpochData, epoch: number): void {
  for (let index = 0; index < now.count; index++) {
    if (!isActiveAt(now, index, epoch)) continue
    sums.mark(index)
    if (!execution) sums.add('execution_unknown', index, 1)
  }
}
