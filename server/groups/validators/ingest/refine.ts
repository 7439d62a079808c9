// One finalized epoch: from what was read to every validator's measures (docs/methodology.md).
//
// 1. Blocks of this epoch and the next tell its votes. What the votes brought the proposers of the next epoch is carried on.
// 2. Votes are paid at the end of the next epoch, but belong to the epoch in which they were due.
// 3. Earnings are what the balance gained from the epoch's first state to the next epoch's first state. A state lies behind
//    the block of its slot, so an epoch's first block counts for the epoch before (decision 0104).
// 4. Epochs are refined in order. The first one is preceded by a pass over the epoch before it, which is not written.
import { type ConsensusRules, epochAt, firstSlotAt } from '#core/consensus.ts'
import { accusedIn } from '#io/beacon/block.ts'
import { isActiveAt } from '#io/beacon/validators.ts'
import type { Measure } from '../measures.ts'
import { earningsOf, type Moved } from './earnings.ts'
import { type BlockEffects, effectsOf, isSlashable, rewardOf } from './effects.ts'
import type { EpochReading, ExecutionGwei } from './epoch.ts'
import { payVotes, type Scores, type VotePay } from './pay.ts'
import { scoresFrom } from './scores.ts'
import { type Stake, stakeOf } from './stake.ts'
import type { Sums } from './sums.ts'
import { verifyBalances, verifyRegistry } from './verify.ts'
import { flag, tallyVotes, type Votes } from './votes.ts'

/** What an epoch leaves to the next one. */
export interface Carry {
  readonly epoch: number
  readonly proposerGwei: ReadonlyMap<number, number>
  readonly pay: VotePay
  readonly scores: Scores
  /** Of the block in the next epoch's first slot. */
  readonly first: BlockEffects | undefined
}

export interface Refined {
  readonly carry: Carry
  readonly moved: Moved
  readonly pay: VotePay
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
export function refineEpoch(
  rules: ConsensusRules,
  reading: EpochReading,
  before: Carry | undefined,
  sums: Sums,
  { startScores = new Map(), accept = acceptNone }: { startScores?: Scores | undefined; accept?: AcceptRemainder } = {},
): Refined {
  const { epoch, now, next } = reading
  const { stakes, votes, after, earnings } = accountFor(rules, reading, before, accept)
  const { pay, scores } = payVotes(rules, votes, {
    stake: stakes[1],
    isSlashed: slashedBy(rules, reading, stakes[1]),
    finalizedEpoch: reading.finalizedEpoch,
    // A whole state tells the scores that this epoch's votes find; otherwise they are carried on from epoch to epoch.
    scores: next.scores ? scoresFrom(next.scores) : (before?.scores ?? startScores),
  })
  const lastSlot = firstSlotAt(rules, epoch + 1)
  const own = [...(before?.first ? [before.first] : []), ...after.filter(({ slot }) => slot < lastSlot)]

  sums.reach(Math.max(now.count, next.count))
  addVotes(sums, votes, pay)
  addBlocks(sums, reading, own, firstSlotAt(rules, epoch))
  const { earned, moved } = earnings
  for (let index = 0; index < earned.length; index++) sums.add('earnings', index, earned[index] as number)
  markRows(sums, reading, epoch)
  const first = after.find(({ slot }) => slot === lastSlot)
  return { carry: { epoch, proposerGwei: votes.proposerGwei, pay, scores, first }, moved, pay, effects: own, votes }
}

/** An epoch without what can only be known when the next one has ended. */
type Account = Omit<EpochReading, 'finalizedEpoch' | 'proposers'>

/**
 * Verifies what `before` says was paid for votes: it is paid at the end of the epoch after theirs. So the last epoch that is about to
 * be stored is verified with the balances that follow it.
 */
export function verifyPay(rules: ConsensusRules, reading: Account, before: Carry, accept = acceptNone): void {
  accountFor(rules, reading, before, accept)
}

/** Accounts for all balances of the epoch and throws where it cannot. */
function accountFor(rules: ConsensusRules, reading: Account, before: Carry | undefined, accept: AcceptRemainder) {
  const { epoch, now, next } = reading
  verifyRegistry(reading)
  const stakes = [stakeOf(rules, epoch, now), stakeOf(rules, epoch + 1, next)] as const
  const votes = tallyVotes(rules, reading.committees, reading.blocks, stakes)
  const gweiOf = (slot: number) => (before?.proposerGwei.get(slot) ?? 0) + (votes.proposerGwei.get(slot) ?? 0)
  const after = effectsAfterFirst(rules, reading, stakes, gweiOf)
  const earnings = earningsOf(rules, reading, epoch > 0 ? before?.pay : undefined, after)
  // Without what the epoch before left, balances cannot be accounted for.
  if (before || epoch === 0) verifyBalances(rules, reading, earnings, accept)
  return { stakes, votes, after, earnings }
}

/** Of the blocks behind the epoch's first state, up to the next one's: those of slots first + 1 to next first. */
function effectsAfterFirst(
  rules: ConsensusRules,
  { epoch, blocks, now, sync }: Account,
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
      return effectsOf(rules, block, stake, committee, gweiOf(block.slot), wasSlashed)
    })
}

/** Who was slashed when the next epoch ended. */
function slashedBy(rules: ConsensusRules, { blocks, next, epoch }: EpochReading, stake: Stake): Uint8Array {
  const isSlashed = next.slashed.slice()
  for (const block of blocks) {
    if (epochAt(rules, block.slot) !== epoch + 1) continue
    for (const validator of accusedIn(block)) {
      if (isSlashable(stake, validator)) isSlashed[validator] = 1
    }
  }
  return isSlashed
}

/** A million times an epoch: the columns are at hand and nothing is looked up twice. */
function addVotes(sums: Sums, votes: Votes, pay: VotePay): void {
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
    if (pay.eligible[index] === 1) {
      sums.mark(index)
      addPay(columns, votes, pay, index, isAssigned)
    }
  }
}

function add(column: Sums['columns'][Measure], index: number, value: number): void {
  column[index] = (column[index] as number) + value
}

/** Each penalty goes to what caused it; the leak's goes with the target, whose lack it punishes (decision 0103). */
function addPay(columns: Sums['columns'], votes: Votes, pay: VotePay, index: number, isAssigned: boolean): void {
  const source = pay.source[index] as number
  const target = pay.target[index] as number
  const sourceLoss = Math.min(0, source)
  const targetLoss = Math.min(0, target) + (pay.inactivity[index] as number)
  add(columns.attestation_reward, index, Math.max(0, source) + Math.max(0, target) + (pay.head[index] as number))
  const isIncluded = (votes.delay[index] ?? 0) > 0
  // The votes of a slashed validator count for nothing, as if it had not voted.
  if (!isIncluded || pay.isSlashed[index] === 1) {
    add(columns.missed_attestation_penalty, index, sourceLoss + targetLoss)
    if (!isIncluded && isAssigned) add(columns.missed_attestation_reward, index, pay.ideal[index] as number)
    return
  }
  if (sourceLoss !== 0) add(columns.late_source_penalty, index, sourceLoss)
  if (targetLoss === 0) return
  const isRight = ((votes.right[index] as number) & flag.target) !== 0
  add(isRight ? columns.late_target_penalty : columns.wrong_target_penalty, index, targetLoss)
}

function addBlocks(
  sums: Sums,
  { proposers, blocks, execution }: EpochReading,
  own: readonly BlockEffects[],
  first: number,
): void {
  const effects = new Map(own.map((one) => [one.slot, one]))
  const bySlot = new Map(blocks.map((block) => [block.slot, block]))
  const mean = meanOf(own.map(rewardOf))
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

const executionSum = ({ priorityFee, baselineMev }: ExecutionGwei): number => priorityFee + baselineMev

const meanOf = (values: readonly number[]): number =>
  values.length === 0 ? 0 : Math.floor(values.reduce((sum, value) => sum + value, 0) / values.length)

function addEffects(sums: Sums, one: BlockEffects): void {
  sums.add('block_reward', one.proposer, rewardOf(one))
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

function markRows(sums: Sums, { now, execution }: EpochReading, epoch: number): void {
  for (let index = 0; index < now.count; index++) {
    if (!isActiveAt(now, index, epoch)) continue
    sums.mark(index)
    if (!execution) sums.add('execution_unknown', index, 1)
  }
}
