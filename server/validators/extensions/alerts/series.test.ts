import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  emptyMissedDuty,
  type MissedDuty,
  type MissedKind,
  missedKinds,
  payloadFlags,
  wrongHead,
  wrongTarget,
} from '../../duties/missed.ts'
import { assignSeries, countMissed, countStatuses } from './series.ts'
import type { WatchedValidator } from './watched-validators.ts'

const watch = (count: number, poolOf: (index: number) => string | null, changes: Partial<WatchedValidator> = {}) =>
  new Map(
    Array.from({ length: count }, (_, index) => {
      const validator = {
        index,
        pool: poolOf(index),
        operator: null,
        eligibilityEpoch: 0,
        activationEpoch: 0,
        exitEpoch: null,
        ...changes,
      }
      return [index, validator] as const
    }),
  )

const missed = (kind: MissedKind, changes: Partial<MissedDuty> = {}): MissedDuty => ({
  ...{ ...emptyMissedDuty, epoch: 7, slot: 56, best_delay: 1 },
  kind: missedKinds.indexOf(kind),
  ...changes,
})

const countsOf = (...duties: MissedDuty[]) =>
  Object.fromEntries(
    countMissed(
      watch(1, () => null),
      duties,
    ).flatMap(({ duty, count }) => (count > 0 ? [[duty, count]] : [])),
  )

test('a vote counts as missing, late or wrong; a delay without an earlier block is not late', () => {
  assert.deepEqual(countsOf(missed('vote')), { attestation: 1 })
  assert.deepEqual(countsOf(missed('vote', { delay: 2 })), { late_vote: 1 })
  assert.deepEqual(countsOf(missed('vote', { delay: 2, best_delay: 2 })), {})
  assert.deepEqual(countsOf(missed('vote', { delay: 1, wrong: wrongHead })), { wrong_head: 1 })
  assert.deepEqual(countsOf(missed('vote', { delay: 3, wrong: wrongHead | wrongTarget })), {
    late_vote: 1,
    wrong_target: 1,
    wrong_head: 1,
  })
})

test('blocks, slashings and each missing sync signature are counted', () => {
  const duties = [missed('noBlock'), missed('noBlock'), missed('emptyBlock'), missed('slashed')]
  assert.deepEqual(countsOf(...duties, missed('sync', { missing: 5 })), {
    block: 2,
    empty_block: 1,
    slashed: 1,
    sync_signature: 5,
  })
})

test('of proposals, only payloads that a builder withheld are counted; payload votes are not', () => {
  const { full, empty, unpaid } = payloadFlags
  const duties = [
    missed('proposal', { builder: 3, payload: empty | unpaid }),
    missed('proposal', { builder: 3, payload: full }),
    missed('proposal', { builder: 3 }),
    missed('proposal', { builder: 0, payload: empty }),
    missed('payloadVote', { payload: empty }),
  ]
  assert.deepEqual(countsOf(...duties), { withheld_payload: 1 })
})

test('problems of blocks are counted', () => {
  const problems = [
    { validator: 0, duty: 'unknown_relay' as const },
    { validator: 0, duty: 'wrong_fee_recipient' as const },
  ]
  const counts = countMissed(
    watch(1, () => null),
    [],
    [...problems, ...problems],
  )
  assert.deepEqual(
    counts.filter(({ count }) => count > 0).map(({ duty, count }) => [duty, count]),
    [
      ['wrong_fee_recipient', 2],
      ['unknown_relay', 2],
    ],
  )
})

test('up to 100 validators have their own series, more are added up by pool', () => {
  const seriesCount = (watched: ReturnType<typeof watch>) =>
    new Set([...watched.keys()].map(assignSeries(watched))).size
  assert.equal(seriesCount(watch(100, () => 'North')), 100)
  assert.equal(seriesCount(watch(101, () => 'North')), 1)
  const many = watch(1000, (index) => `pool ${index % 300}`)
  assert.equal(seriesCount(many), 101)
  // The ten largest pools have four validators.
  assert.deepEqual(assignSeries(many)(5), { pool: 'pool 5', operator: 'none', validator: '' })
  assert.deepEqual(assignSeries(many)(299), { pool: 'other', operator: 'other', validator: '' })
})

test('operators have series of their own, and the number of pairs of pool and operator is bounded', () => {
  const byOperator = (count: number, operators: number) =>
    new Map(
      [...watch(count, () => 'North')].map(([index, validator]) => [
        index,
        { ...validator, operator: `operator ${index % operators}` },
      ]),
    )
  const seriesOf = assignSeries(byOperator(200, 2))
  assert.deepEqual(seriesOf(4), { pool: 'North', operator: 'operator 0', validator: '' })
  assert.deepEqual(seriesOf(5), { pool: 'North', operator: 'operator 1', validator: '' })
  const many = byOperator(1000, 400)
  assert.equal(new Set([...many.keys()].map(assignSeries(many))).size, 101)
  assert.deepEqual(assignSeries(byOperator(3, 3))(2), { pool: 'North', operator: 'operator 2', validator: '2' })
})

test('validators are counted by status', () => {
  const counts = (changes: Partial<WatchedValidator>) =>
    countStatuses(
      watch(3, () => null, changes),
      10,
    ).filter(({ count }) => count > 0)
  const none = { pool: 'none', operator: 'none' }
  assert.deepEqual(counts({ activationEpoch: null }), [{ ...none, status: 'pending', count: 3 }])
  assert.deepEqual(counts({ activationEpoch: 11 }), [{ ...none, status: 'pending', count: 3 }])
  assert.deepEqual(counts({}), [{ ...none, status: 'active', count: 3 }])
  assert.deepEqual(counts({ exitEpoch: 11 }), [{ ...none, status: 'exiting', count: 3 }])
  assert.deepEqual(counts({ exitEpoch: 10 }), [{ ...none, status: 'exited', count: 3 }])
})
