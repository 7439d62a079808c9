import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeMissed } from './describe-missed.ts'

const describeVote = (vote: { delay: number | null; bestDelay: number | null }) => {
  const included = vote.delay !== null
  const flags = { included, nextBlockMissing: vote.bestDelay !== 1, targetCorrect: included, headCorrect: included }
  const nothing = { missedBlocks: [], emptyBlocks: [], missedSyncSignatures: 0, slashedSlot: null }
  return describeMissed({ ...nothing, vote: { slot: 7, ...vote, ...flags } }, [])
}

test('a missing block excuses a late vote, but not one that was never included although a later block could', () => {
  assert.deepEqual(describeVote({ delay: 3, bestDelay: 3 }), [
    'the vote of slot 7 was included after 3 slots; there was no earlier block',
  ])
  assert.deepEqual(describeVote({ delay: 3, bestDelay: 2 }), [
    'the vote of slot 7 was included after 3 slots; 2 was the best possible delay',
  ])
  assert.deepEqual(describeVote({ delay: null, bestDelay: 2 }), ['the vote of slot 7 is missing'])
  assert.deepEqual(describeVote({ delay: null, bestDelay: null }), [
    'the vote of slot 7 is missing; there was no block to include it',
  ])
})
