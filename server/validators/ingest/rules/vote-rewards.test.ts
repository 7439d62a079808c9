// Rewards and penalties of votes, compared with figures that were calculated by hand.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readRules } from '#sources/beacon/consensus.ts'
import { emptyPendingQueues } from '#sources/beacon/pending.ts'
import type { Validators } from '#sources/beacon/validators.ts'
import { computeStake, floorDivide } from './stake.ts'
import { computeVoteRewards } from './vote-rewards.ts'
import { flag, type Votes } from './votes.ts'

const rules = readRules({ ALTAIR_FORK_EPOCH: '0', BELLATRIX_FORK_EPOCH: '0', DENEB_FORK_EPOCH: '0' })

/** By default four validators of 32 ETH that are always active. */
function validatorsOf(changes: { increments?: number[]; exit?: number[]; withdrawable?: number[] } = {}): Validators {
  const count = changes.increments?.length ?? 4
  const all = (value: number) => new Float64Array(count).fill(value)
  return {
    count,
    pubkeys: new Uint8Array(48 * count),
    credentials: new Uint8Array(32 * count),
    balance: all(32e9),
    increments: Uint32Array.from(changes.increments ?? [32, 32, 32, 32]),
    slashed: new Uint8Array(count),
    eligible: all(0),
    activation: all(0),
    exit: changes.exit ? Float64Array.from(changes.exit) : all(Number.POSITIVE_INFINITY),
    withdrawable: changes.withdrawable ? Float64Array.from(changes.withdrawable) : all(Number.POSITIVE_INFINITY),
    pending: emptyPendingQueues,
    scores: all(0),
  }
}

const votesOf = (epoch: number, timely: number[]): Votes => ({
  epoch,
  dutySlot: new Int32Array(timely.length).fill(epoch * 32),
  inclusions: Uint16Array.from(timely, (flags) => (flags ? 1 : 0)),
  delay: Uint16Array.from(timely, (flags) => (flags ? 1 : 0)),
  right: Uint8Array.from(timely),
  timely: Uint8Array.from(timely),
  proposerGwei: new Map(),
  sameSlot: new Map(),
})

const allFlags = flag.source | flag.target | flag.head

describe('without a leak', () => {
  const validators = validatorsOf()
  const input = {
    stake: computeStake(rules, 11, validators),
    isSlashed: new Uint8Array(4),
    finalizedEpoch: 9,
    scores: new Map(),
  }

  test('the base reward per increment is 10^9 · 64 / √(128 · 10^9) = 64 000 000 000 / 357 770 = 178 885', () => {
    assert.equal(input.stake.perIncrement, 178_885)
    // 178 885 · 128 · 2 / 64 / 32 = 22 360 for all seats, / 512 = 43 for one, · 8 / 56 = 6 for its proposer.
    assert.deepEqual([input.stake.syncSeat, input.stake.syncProposer], [43, 6])
  })

  test('a timely flag pays its weight times the share of validators with it; a missing one costs its full weight', () => {
    const { voteRewards: rewards } = computeVoteRewards(rules, votesOf(10, [allFlags, allFlags, flag.source, 0]), input)
    // Base 32 · 178 885 = 5 724 320. Source: · 14 / 64 = 1 252 195, · 96/128 = 939 146. Target: · 26 / 64 = 2 325 505,
    // · 64/128 = 1 162 752. Head: · 14 / 64, · 64/128 = 626 097.
    assert.deepEqual([...rewards.source], [939_146, 939_146, 939_146, -1_252_195])
    assert.deepEqual([...rewards.target], [1_162_752, 1_162_752, -2_325_505, -2_325_505])
    assert.deepEqual([...rewards.head], [626_097, 626_097, 0, 0])
    assert.deepEqual([...rewards.inactivity], [0, 0, 0, 0])
    assert.equal(rewards.ideal[3], 939_146 + 1_162_752 + 626_097)
  })

  test('votes of a slashed validator count neither for itself nor for the participation', () => {
    const isSlashed = Uint8Array.from([0, 0, 0, 1])
    const { voteRewards: rewards } = computeVoteRewards(rules, votesOf(10, [allFlags, allFlags, allFlags, allFlags]), {
      ...input,
      isSlashed,
    })
    assert.equal(rewards.source[3], -1_252_195)
    assert.equal(rewards.source[0], 939_146)
  })
})

test('a slashed validator that has exited gets penalties until it can withdraw', () => {
  const validators = validatorsOf({ exit: [99, 99, 99, 5], withdrawable: [99, 99, 99, 12] })
  const isSlashed = Uint8Array.from([0, 0, 0, 1])
  const paid = (epoch: number) =>
    computeVoteRewards(rules, votesOf(epoch, [allFlags, allFlags, allFlags, 0]), {
      stake: computeStake(rules, epoch + 1, validators),
      isSlashed,
      finalizedEpoch: epoch - 1,
      scores: new Map(),
    }).voteRewards.eligible[3]
  assert.deepEqual([paid(10), paid(11)], [1, 0])
})

describe('during an inactivity leak', () => {
  const stake = computeStake(rules, 21, validatorsOf())
  const input = { stake, isSlashed: new Uint8Array(4), finalizedEpoch: 14, scores: new Map([[3, 100]]) }
  const { voteRewards: rewards, scores } = computeVoteRewards(
    rules,
    votesOf(20, [allFlags, allFlags, allFlags, 0]),
    input,
  )

  test('there are no rewards, but still penalties', () => {
    assert.deepEqual([...rewards.source], [0, 0, 0, -1_252_195])
    assert.equal(rewards.ideal[3], 0)
  })

  test('the score of a validator without a vote grows by 4; its penalty is 32·10^9 · 104 / (4 · 2^24) = 49 591', () => {
    assert.deepEqual([...scores], [[3, 104]])
    assert.equal(rewards.inactivity[3], -49_591)
  })

  test('the leak starts in the fifth epoch after the finalized one', () => {
    const sourceReward = (finalizedEpoch: number) =>
      computeVoteRewards(rules, votesOf(20, [allFlags, allFlags, allFlags, allFlags]), { ...input, finalizedEpoch })
        .voteRewards.source[0]
    assert.deepEqual([sourceReward(15), sourceReward(16)], [0, 1_252_195])
  })

  test('after the leak, scores fall by 16 per epoch, and by one more with a vote', () => {
    const after = computeVoteRewards(rules, votesOf(20, [0, 0, 0, allFlags]), {
      ...input,
      finalizedEpoch: 18,
      scores: new Map([
        [3, 100],
        [2, 20],
      ]),
    })
    // 100 − 1 − 16 = 83; 20 + 4 − 16 = 8.
    assert.deepEqual(
      [...after.scores],
      [
        [2, 8],
        [3, 83],
      ],
    )
  })
})

test('floorDivide is exact for the largest safe integers', () => {
  assert.equal(floorDivide(9_007_199_254_740_991, 9_007_199_254_740_990), 1)
  assert.equal(floorDivide(9_007_199_254_740_990, 9_007_199_254_740_991), 0)
})
