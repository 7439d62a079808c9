import assert from 'node:assert/strict'
import { test } from 'node:test'
import { colourOfStyle, smallestDistance, themes } from '#test/colour-vision.ts'
import { cells, cellsOf, formatTally, incidentsOf, incidentsOfDay } from './incidents.ts'

const fine = {
  epoch: 100,
  startTimestamp: '2026-09-16T15:44:23.000Z',
  final: true,
  missedBlocks: [],
  emptyBlocks: [],
  missedSyncSignatures: 0,
  slashedSlot: null,
  messages: [],
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

test('an attestation in the first block after its slot is not the validator’s fault, however late', () => {
  const [lateVote] = incidentsOf(late)
  assert.deepEqual(lateVote, { epoch: 100, slot: 3207, kind: 'late', amount: 2, fault: 'validator' })
  const faultOf = (changed: object) => incidentsOf({ ...fine, vote: { ...vote, ...changed } })[0]?.fault
  assert.equal(faultOf({ delay: 3, bestDelay: 3, nextBlockMissing: true }), 'none')
  assert.equal(faultOf({ delay: 5, bestDelay: 3, nextBlockMissing: true }), 'both')
  assert.equal(faultOf({ ...missed }), 'validator')
  assert.equal(faultOf({ ...missed, bestDelay: 2, nextBlockMissing: true }), 'validator')
  assert.equal(faultOf({ ...missed, bestDelay: null, nextBlockMissing: true }), 'none')
})

test('every missed, late or wrong duty of an epoch is one incident', () => {
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
    '1 slashing, 2 missed blocks, 1 attestation with a wrong target, 1 late attestation, 1 attestation with a wrong head, 1 block with an empty payload, 1 epoch with missed sync signatures',
  )
  assert.equal(formatTally([]), '')
})

test('a payload that a builder withheld and a vote that pays nothing are no fault of the validator', () => {
  const payloadVote = {
    ...{ slot: 3207, onChain: false, couldBeOnChain: true, payloadSeen: null, blobsSeen: null },
    payload: 'full' as const,
  }
  const withheld = { ...fine, withheldPayloads: [3208] }
  const incidents = [withheld, { ...fine, epoch: 101, payloadVote }].flatMap((epoch) => incidentsOf(epoch))
  assert.deepEqual(
    incidents.map(({ kind, slot, fault }) => [kind, slot, fault]),
    [
      ['withheld', 3208, 'builder'],
      ['payloadVote', 3207, 'costless'],
    ],
  )
  assert.deepEqual(cellsOf(incidents, { from: 100, until: 102 }), ['excused', 'payloadVote'])
  const tally = '2 payloads that a builder withheld'
  assert.equal(formatTally([...incidents, ...incidentsOf(withheld)].filter(({ kind }) => kind === 'withheld')), tally)
})

test('since Gloas, a payload that the validator built and the chain does not have is not called empty', () => {
  const epochs = [
    { ...fine, emptyBlocks: [3201] },
    { ...fine, epoch: 101, emptyBlocks: [3240, 3241] },
  ]
  const proposals = [3240, 3241].map((slot) => ({
    ...{ slot, payload: 'empty' as const, builder: null, valueGwei: 0, paid: null },
  }))
  const incidents = incidentsOfDay({ epochs, proposals })
  assert.deepEqual(
    incidents.map(({ kind, slot, fault }) => [kind, slot, fault]),
    [
      ['emptyBlock', 3201, 'validator'],
      ['ownPayload', 3240, 'validator'],
      ['ownPayload', 3241, 'validator'],
    ],
  )
  assert.equal(formatTally(incidents), '1 block with an empty payload, 2 own payloads missing from the chain')
})

test('a cell shows the worst incident of its epoch; one that is not the validator’s fault only if there is no other', () => {
  const excused = { ...fine, epoch: 101, vote: { ...vote, delay: 2, bestDelay: 2, nextBlockMissing: true } }
  const both = { ...excused, epoch: 102, vote: { ...excused.vote, headCorrect: false } }
  const several = { ...fine, epoch: 103, vote: { ...vote, delay: 2, headCorrect: false }, missedBlocks: [3300] }
  const outside = { ...late, epoch: 200 }
  const incidents = [late, excused, both, several, outside].flatMap((epoch) => incidentsOf(epoch))
  assert.deepEqual(cellsOf(incidents, { from: 100, until: 105 }), ['late', 'excused', 'wrongHead', 'noBlock', 'fine'])
})

/** Small squares that are apart. Those of one colour mean the same loss; the table below them names each. */
const distanceMin = 10

for (const theme of themes)
  test(`the colours of incidents differ for every kind of vision in the ${theme} theme`, () => {
    const styles = [...new Set(Object.values(cells).map(({ colour }) => colour))]
    for (const [at, one] of styles.entries())
      for (const other of styles.slice(0, at)) {
        const found = smallestDistance(colourOfStyle(theme, one), colourOfStyle(theme, other))
        assert.ok(found >= distanceMin, `${one} and ${other}: ${found.toFixed(1)}`)
      }
  })
