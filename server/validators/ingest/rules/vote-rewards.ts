// Computes the rewards and penalties for the votes of one epoch, which the chain applies at the end of the next epoch:
// the flag rewards and penalties since Altair, and inactivity penalties.
//
// 1. They depend on the effective balances of the epoch after the votes.
// 2. They apply to validators that were active in the epoch of the votes, and to slashed ones until they can withdraw.
// 3. During an inactivity leak there are no rewards for votes, and missing votes cost more the longer it lasts.
import { type ConsensusRules, isFrom, weights } from '#sources/beacon/consensus.ts'
import { isActiveAt } from '#sources/beacon/validators.ts'
import { baseReward, floorDivide, type Stake } from './stake.ts'
import { flag, type Votes } from './votes.ts'

/** By validator, in gwei; penalties negative. */
const emptyVoteRewards = (count: number) => ({
  source: new Float64Array(count),
  target: new Float64Array(count),
  head: new Float64Array(count),
  inactivity: new Float64Array(count),
  /** The reward of a correct vote with all timely flags. */
  ideal: new Float64Array(count),
})

export interface VoteRewards extends Readonly<ReturnType<typeof emptyVoteRewards>> {
  /** 1 for validators that rewards and penalties apply to. */
  readonly eligible: Uint8Array
  readonly isSlashed: Uint8Array
}

/** Inactivity scores above zero, by validator. */
export type Scores = ReadonlyMap<number, number>

/** Converts the column of a state, without zeros. */
export function scoresFrom(column: Float64Array): Scores {
  const scores = new Map<number, number>()
  for (let index = 0; index < column.length; index++) {
    const score = column[index] as number
    if (score > 0) scores.set(index, score)
  }
  return scores
}

export interface VoteRewardsInput {
  /** The stake of the epoch after the votes. */
  readonly stake: Stake
  /** Slashed by the end of that epoch. */
  readonly isSlashed: Uint8Array
  /** The finalized epoch at the end of that epoch. */
  readonly finalizedEpoch: number
  readonly scores: Scores
}

export function computeVoteRewards(
  rules: ConsensusRules,
  votes: Votes,
  { stake, isSlashed, finalizedEpoch, scores }: VoteRewardsInput,
) {
  const { count } = stake.validators
  const isLeaking = votes.epoch - finalizedEpoch > rules.leakAfterEpochs
  const eligible = findEligible(stake, votes.epoch, isSlashed)
  const timely = (index: number) => (isSlashed[index] === 1 ? 0 : (votes.timely[index] ?? 0))
  const share = (bit: number) => participatingIncrements(stake, votes, bit, isSlashed)
  const parts = { source: share(flag.source), target: share(flag.target), head: share(flag.head) }
  const nextScores = isFrom(rules, 'altair', stake.epoch)
    ? updateScores(rules, scores, eligible, timely, isLeaking)
    : scores
  const voteRewards: VoteRewards = { ...emptyVoteRewards(count), eligible, isSlashed }
  const rewardOf = (base: number, name: keyof typeof parts) =>
    isLeaking ? 0 : floorDivide(base * weights[name] * parts[name], stake.activeIncrements * weights.all)
  for (let index = 0; index < count; index++) {
    if (eligible[index] === 0) continue
    const base = baseReward(stake, index)
    const flags = timely(index)
    const ideal = { source: rewardOf(base, 'source'), target: rewardOf(base, 'target'), head: rewardOf(base, 'head') }
    voteRewards.ideal[index] = ideal.source + ideal.target + ideal.head
    voteRewards.source[index] = flags & flag.source ? ideal.source : 0 - floorDivide(base * weights.source, weights.all)
    voteRewards.target[index] = flags & flag.target ? ideal.target : 0 - floorDivide(base * weights.target, weights.all)
    voteRewards.head[index] = flags & flag.head ? ideal.head : 0
    if (!(flags & flag.target))
      voteRewards.inactivity[index] = 0 - inactivityPenalty(rules, stake, index, nextScores.get(index) ?? 0)
  }
  return { voteRewards, scores: nextScores }
}

function findEligible(stake: Stake, epoch: number, isSlashed: Uint8Array): Uint8Array {
  const { validators } = stake
  const eligible = new Uint8Array(validators.count)
  for (let index = 0; index < validators.count; index++) {
    const isWaiting = isSlashed[index] === 1 && epoch + 1 < (validators.withdrawable[index] as number)
    if (isActiveAt(validators, index, epoch) || isWaiting) eligible[index] = 1
  }
  return eligible
}

/** Increments of the unslashed validators with a timely flag; at least 1. */
export function participatingIncrements(stake: Stake, votes: Votes, bit: number, isSlashed: Uint8Array): number {
  let sum = 0
  for (let index = 0; index < stake.validators.count; index++) {
    if ((votes.timely[index] as number) & bit && isSlashed[index] === 0)
      sum += stake.validators.increments[index] as number
  }
  return Math.max(1, sum)
}

function updateScores(
  rules: ConsensusRules,
  scores: Scores,
  eligible: Uint8Array,
  timely: (index: number) => number,
  isLeaking: boolean,
): Scores {
  const recovery = isLeaking ? 0 : rules.scoreRecovery
  // Without a leak, a score of zero stays zero, because the recovery is at least as large as the bias.
  if (scores.size === 0 && rules.scoreBias <= recovery) return scores
  const next = new Map<number, number>()
  for (let index = 0; index < eligible.length; index++) {
    const score = scores.get(index) ?? 0
    const updated =
      eligible[index] === 0
        ? score
        : Math.max(0, (timely(index) & flag.target ? Math.max(0, score - 1) : score + rules.scoreBias) - recovery)
    if (updated > 0) next.set(index, updated)
  }
  return next
}

function inactivityPenalty(rules: ConsensusRules, stake: Stake, index: number, score: number): number {
  if (score === 0) return 0
  const { altair, bellatrix } = rules.inactivityQuotient
  const quotient = isFrom(rules, 'bellatrix', stake.epoch) ? bellatrix : altair
  const balance = BigInt(stake.validators.increments[index] as number) * BigInt(rules.increment)
  return Number((balance * BigInt(score)) / (BigInt(rules.scoreBias) * BigInt(quotient)))
}
