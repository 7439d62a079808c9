// The rule of head votes, and wrong rules that are easily taken for it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PayloadStatus } from '#sources/beacon/payload-status.ts'
import { type GloasRow, gloasTruth } from '#test/gloas-recording.ts'
import { gloasForkSlot } from '#test/gloas-rows.ts'
import { type HeadVote, isHeadRight } from './head-vote.ts'

/** What only wrong rules look at. */
interface Surroundings {
  /** Whether a node has the envelope of the payload. */
  readonly hasEnvelope: boolean
  /** The slot of the vote is before the fork. */
  readonly isOfFulu: boolean
}

type Judged = HeadVote & Surroundings

const vote = (changes: Partial<Judged>): Judged => ({
  ...{ fork: 'gloas', blockRoot: '0xaa', headRoot: '0xaa', index: 0, isSameSlot: false, payload: 'full' },
  ...{ hasEnvelope: true, isOfFulu: false },
  ...changes,
})

const hasRightRoot = ({ blockRoot, headRoot }: Judged) => blockRoot === headRoot
const isExempt = ({ fork, isSameSlot }: Judged) => fork !== 'gloas' || isSameSlot
const payloadVote = (payload: PayloadStatus) => (payload === 'full' ? 1 : 0)

const wrongRules: Readonly<Record<string, (vote: Judged) => boolean>> = {
  'the index is ignored': hasRightRoot,
  'a payload is full if its envelope is served': (of) =>
    hasRightRoot(of) && (isExempt(of) || of.index === Number(of.hasEnvelope)),
  'votes of slots before the fork are exempt': (of) =>
    hasRightRoot(of) && (isExempt(of) || of.isOfFulu || of.index === payloadVote(of.payload)),
  'the index must be 1': (of) => hasRightRoot(of) && (isExempt(of) || of.index === 1),
  'the index must be 0': (of) => hasRightRoot(of) && (isExempt(of) || of.index === 0),
  'votes for the block of their own slot are judged by its payload': (of) =>
    hasRightRoot(of) && (of.fork !== 'gloas' || of.index === payloadVote(of.payload)),
}

const cases: readonly (readonly [label: string, vote: Judged, isRight: boolean])[] = [
  ['another root', vote({ blockRoot: '0xbb', index: 1 }), false],
  ['no block follows the slot yet', vote({ headRoot: undefined, index: 1 }), false],
  ['a full payload that the vote sees', vote({ index: 1 }), true],
  ['a full payload that the vote does not see', vote({ index: 0 }), false],
  ['an empty payload that the vote does not see', vote({ payload: 'empty', hasEnvelope: false }), true],
  ['an empty payload that came late', vote({ payload: 'empty', index: 1 }), false],
  ['an empty payload that came late, which the vote does not see', vote({ payload: 'empty', index: 0 }), true],
  ['the block of the own slot, with a full payload', vote({ isSameSlot: true }), true],
  ['the block of the own slot, with an empty payload', vote({ isSameSlot: true, payload: 'empty' }), true],
  ['a Fulu block includes it', vote({ fork: 'fulu', isOfFulu: true }), true],
  ['a Gloas block includes a vote of an empty Fulu slot', vote({ isOfFulu: true }), false],
  ['a Gloas block includes a vote of a Fulu slot with a block', vote({ isOfFulu: true, isSameSlot: true }), true],
]

for (const [label, given, isRight] of cases)
  test(`${label}: the head is ${isRight ? 'right' : 'wrong'}`, () => assert.equal(isHeadRight(given), isRight))

for (const [label, rule] of Object.entries(wrongRules)) {
  test(`the cases above reject the rule "${label}"`, () => {
    assert(cases.some(([, given, isRight]) => rule(given) !== isRight))
  })
}

describe('on a recorded chain', () => {
  const { epochs, slots } = gloasTruth()
  const bySlot = new Map(slots.map((entry) => [entry.slot, entry]))
  const lastBlockUpTo = (slot: number) => slots.findLast((entry) => entry.slot <= slot && entry.proposed)

  function judgedOf(row: GloasRow): Judged {
    const head = lastBlockUpTo(row.slot)
    const payload = head?.payload === 'in block' ? 'full' : (head?.payload ?? 'unknown')
    return vote({
      fork: (row.inclusionSlot ?? 0) >= gloasForkSlot ? 'gloas' : 'fulu',
      blockRoot: row.headRootCorrect ? '0xaa' : '0xbb',
      index: row.dataIndex ?? 0,
      isSameSlot: bySlot.get(row.slot)?.proposed === true,
      payload,
      hasEnvelope: head?.payload === 'in block' || head?.envelopeStatus === 200,
      isOfFulu: row.slot < gloasForkSlot,
    })
  }
  const included = epochs.flatMap(({ rows }) => rows).filter((row) => row.included)
  // The timely head flag of the chain, which is paid.
  const countWrong = (rule: (of: Judged) => boolean) =>
    included.filter(
      (row) => (rule(judgedOf(row)) && row.targetCorrect === true && row.inclusionDelay === 1) !== row.timelyHead,
    ).length

  test('the rule gives the timely head flag of every vote', () => assert.equal(countWrong(isHeadRight), 0))

  test('the rule gives the payload vote of the truth at every delay', () => {
    for (const row of included) {
      if (row.payloadVoteCorrect === null || !row.headRootCorrect) continue
      assert.equal(isHeadRight(judgedOf(row)), row.payloadVoteCorrect, `slot ${row.slot}, validator ${row.validator}`)
    }
  })

  const expected = [14, 7, 7, 24, 59, 434]
  for (const [at, [label, rule]] of Object.entries(wrongRules).entries()) {
    test(`with the rule "${label}", ${expected[at]} votes have a wrong flag`, () => {
      assert.equal(countWrong(rule), expected[at])
    })
  }
})
