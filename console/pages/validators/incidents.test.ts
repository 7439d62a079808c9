import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellsOf, formatTally, incidentsOf } from './incidents.ts'

const fine = {
  epoch: 100,
  startTimestamp: '2026-09-16T15:44:23.000Z',
  missedBlocks: [],
  emptyBlocks: [],
  missedSyncSignatures: 0,
  slashedSlot: null,
  message: [],
}
const vote = {
  slot: 3207,
  included: true,
  delay: 1,
  bestDelay: 1,
  nextBlockMissing: false,
  targetCorrect: true,
  headCorrect: true,
}
const late = { ...fine, vote: { ...vote, delay: 2 } }
const missed = { ...vote, included: false, delay: null, targetCorrect: null, headCorrect: null }

test('a vote that was taken as soon as there was a block is not the validator’s fault', () => {
  const [own] = incidentsOf(late)
  assert.deepEqual(own, { epoch: 100, slot: 3207, kind: 'late', amount: 2, fault: 'own' })
  const faultOf = (changed: object) => incidentsOf({ ...fine, vote: { ...vote, ...changed } })[0]?.fault
  assert.equal(faultOf({ delay: 3, bestDelay: 3, nextBlockMissing: true }), 'none')
  assert.equal(faultOf({ delay: 5, bestDelay: 3, nextBlockMissing: true }), 'both')
  assert.equal(faultOf({ ...missed }), 'own')
  assert.equal(faultOf({ ...missed, bestDelay: 2, nextBlockMissing: true }), 'both')
  assert.equal(faultOf({ ...missed, bestDelay: null, nextBlockMissing: true }), 'none')
})

test('everything that went wrong in an epoch is told, and nothing else', () => {
  assert.deepEqual(incidentsOf({ ...fine, vote }), [])
  const bad = {
    ...fine,
    vote: { ...vote, delay: 4, targetCorrect: false, headCorrect: false },
    missedBlocks: [3210, 3211],
    emptyBlocks: [3212],
    missedSyncSignatures: 30,
    slashedSlot: 3213,
  }
  assert.deepEqual(
    incidentsOf(bad).map(({ kind, slot, amount }) => [kind, slot, amount]),
    [
      ['late', 3207, 4],
      ['wrongTarget', 3207, null],
      ['wrongHead', 3207, null],
      ['noBlock', 3210, null],
      ['noBlock', 3211, null],
      ['emptyBlock', 3212, null],
      ['sync', null, 30],
      ['slashed', 3213, null],
    ],
  )
  assert.equal(
    formatTally(incidentsOf(bad)),
    '1 slashing, 2 blocks not made, 1 vote for a wrong target, 1 vote late, 1 vote for a wrong head, 1 block with an empty payload, 1 epoch with sync signatures missing',
  )
  assert.equal(formatTally([]), '')
})

test('a square shows the gravest thing of its epoch, and what was not the validator’s fault only when nothing else was', () => {
  const excused = { ...fine, epoch: 101, vote: { ...vote, delay: 2, bestDelay: 2, nextBlockMissing: true } }
  const both = { ...excused, epoch: 102, vote: { ...excused.vote, headCorrect: false } }
  const several = { ...fine, epoch: 103, vote: { ...vote, delay: 2, headCorrect: false }, missedBlocks: [3300] }
  const outside = { ...late, epoch: 200 }
  const incidents = [late, excused, both, several, outside].flatMap(incidentsOf)
  assert.deepEqual(cellsOf(incidents, { from: 100, until: 105 }), ['late', 'excused', 'wrongHead', 'noBlock', 'fine'])
})
