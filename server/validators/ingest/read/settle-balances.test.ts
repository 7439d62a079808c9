// Balances of a few gwei, calculated by hand with the rules of process_rewards_and_penalties: source, target, head,
// inactivity; decrease_balance stops at zero each time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Carry } from '../epochs/process-epoch.ts'
import type { VoteRewards } from '../rules/vote-rewards.ts'
import type { ReadEpoch } from './epoch-reader.ts'
import { settleBalances } from './settle-balances.ts'

const rows: readonly (readonly [
  before: number,
  source: number,
  target: number,
  head: number,
  leak: number,
  after: number,
])[] = [
  // 100 + 3 + 5 + 2 = 110
  [100, 3, 5, 2, 0, 110],
  // 100 − 3 − 5 + 0 − 10 = 82
  [100, -3, -5, 0, -10, 82],
  // 2 − 3 stops at 0, + 5 = 5, + 2 = 7. Added up first it would be 2 + 4 = 6.
  [2, -3, 5, 2, 0, 7],
  // 4 − 3 = 1, − 5 stops at 0, + 2 = 2, − 10 stops at 0.
  [4, -3, -5, 2, -10, 0],
  // 1 + 3 = 4, − 5 stops at 0, + 2 = 2. Added up first it would be 1 + 0 = 1.
  [1, 3, -5, 2, 0, 2],
  [0, -3, -5, 0, -10, 0],
]

const column = (at: number) => Float64Array.from(rows, (row) => row[at] as number)
const voteRewards = { source: column(1), target: column(2), head: column(3), inactivity: column(4) } as VoteRewards

const epochWith = (awaitsRewards: boolean) =>
  ({ boundary: { awaitsRewards }, atEnd: { balance: column(0) } }) as unknown as ReadEpoch

test('rewards are added part by part, and no part makes a balance negative', () => {
  const epoch = epochWith(true)
  settleBalances(epoch, { voteRewards } as Carry)
  assert.deepEqual([...epoch.atEnd.balance], [...column(5)])
  assert.equal(epoch.boundary.awaitsRewards, false)
})

test('balances that already include the rewards are unchanged', () => {
  const epoch = epochWith(false)
  settleBalances(epoch, { voteRewards } as Carry)
  assert.deepEqual([...epoch.atEnd.balance], [...column(0)])
})
