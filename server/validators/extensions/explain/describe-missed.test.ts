import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeMissed } from './describe-missed.ts'

const describeVote = (vote: { delay: number | null; bestDelay: number | null }) => {
  const included = vote.delay !== null
  const flags = { included, nextBlockMissing: vote.bestDelay !== 1, targetCorrect: included, headCorrect: included }
  const nothing = { missedBlocks: [], emptyBlocks: [], missedSyncSignatures: 0, slashedSlot: null }
  return describeMissed({ ...nothing, vote: { slot: 7, ...vote, ...flags } }, [])
}

test('the messages about a vote state whether blocks were missing, not whose fault it is', () => {
  assert.deepEqual(describeVote({ delay: 3, bestDelay: 3 }), [
    'the vote of slot 7 was included after 3 slots; there was no earlier block',
  ])
  assert.deepEqual(describeVote({ delay: 3, bestDelay: 2 }), [
    'the vote of slot 7 was included after 3 slots; 2 was the best possible delay',
  ])
  assert.deepEqual(describeVote({ delay: null, bestDelay: 1 }), ['the vote of slot 7 is missing'])
  assert.deepEqual(describeVote({ delay: null, bestDelay: 2 }), [
    'the vote of slot 7 is missing; the next slot had no block',
  ])
})
