import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewardStatement, scaleOf } from './reward-statement.ts'

/** Validator A of the worked example in docs/methodology.md, with 700 gwei for sync signatures. */
const record = {
  estimatedRewards: 82_945_258,
  sumAttestationRewards: 1_944_558,
  sumConsensusBlockRewards: 81_000_000,
  sumMissedAttestationPenalties: -34_200,
  sumLateSourcePenalties: -2394,
  sumLateTargetPenalties: 0,
  sumWrongTargetPenalties: -8892,
  sumWrongHeadPenalties: 0,
  sumSyncCommitteePenalties: 0,
  sumPriorityFees: 21_000_000,
  sumBaselineMev: 35_000_000,
  earnings: 82_899_772n,
}

test('the items of each part add up to its total', () => {
  const { consensus, execution, penalties, earnings } = rewardStatement(record)
  // 82 945 258 − 1 944 558 − 81 000 000 = 700
  assert.deepEqual(
    consensus.items.map(({ gwei }) => gwei),
    [1_944_558n, 700n, 81_000_000n],
  )
  assert.equal(consensus.total, 82_945_258n)
  assert.equal(execution.total, 56_000_000n)
  // 34 200 + 2394 + 8892 = 45 486
  assert.equal(penalties.total, -45_486n)
  assert.equal(earnings, 82_899_772n)
})

test('an unknown amount is not zero, and a total that contains it is unknown', () => {
  const { sumBaselineMev: _, ...unknown } = record
  const { execution, all } = rewardStatement(unknown)
  assert.deepEqual(execution.items, [
    { name: 'Priority fees', gwei: 21_000_000n },
    { name: 'MEV', gwei: undefined },
  ])
  assert.equal(execution.total, undefined)
  assert.equal(all, undefined)
})

test('an axis is in gwei until an amount reaches 0.001 ETH', () => {
  const small = scaleOf([-999_999n, undefined, 5n])
  assert.equal(small.unit, 'gwei')
  assert.equal(small.toAxisNumber(-999_999n), -999_999)
  const large = scaleOf([5n, -1_000_000n])
  assert.equal(large.unit, 'ETH')
  assert.equal(large.toAxisNumber(81_000_000n), 0.081)
  assert.equal(large.toAxisNumber(undefined), null)
})
