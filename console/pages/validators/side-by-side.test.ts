import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alignRecords, assignRecords, indicesIn, namesIn, type Subject, subjectNames } from './side-by-side.ts'

const uptime = (record: { uptime?: number | null }) => record.uptime ?? null

test('records of several validators share one axis, with null where a validator has no record', () => {
  const subjects: Subject[] = [{ indices: [7, 9] }]
  const records = assignRecords(subjects, [
    [
      { validatorIndex: 7, startEpoch: 450, uptime: 0.9 },
      { validatorIndex: 9, startEpoch: 450, uptime: 0.8 },
      { validatorIndex: 7, startEpoch: 225 },
      { validatorIndex: 9, startEpoch: 0, uptime: 0.7 },
    ],
  ])
  assert.deepEqual(alignRecords(records, subjectNames(subjects), uptime), {
    epochs: [0, 225, 450],
    values: [
      [null, null, 0.9],
      [0.7, null, 0.8],
    ],
  })
})

test('records of pools share one axis, each under the name of its pool', () => {
  const subjects: Subject[] = [
    { name: 'North', indices: [1, 2] },
    { name: 'South', indices: [3] },
    { name: 'West', indices: [4] },
    { name: 'East', indices: [5] },
  ]
  const records = assignRecords(subjects, [
    [{ startEpoch: 225, uptime: 1 }],
    [{ startEpoch: 450, uptime: 0.5 }],
    [],
    [{ startEpoch: 450, uptime: 0.25 }],
  ])
  assert.deepEqual(alignRecords(records, subjectNames(subjects), uptime), {
    epochs: [225, 450],
    values: [
      [1, null],
      [null, 0.5],
      [null, null],
      [null, 0.25],
    ],
  })
})

test('indices from the address are unique and at most ten', () => {
  assert.deepEqual(indicesIn('12,34,12,x,-1,'), [12, 34])
  assert.deepEqual(indicesIn(null), [])
  assert.equal(indicesIn(Array.from({ length: 30 }, (_, index) => index).join()).length, 10)
})

test('names from the address are unique and at most four', () => {
  assert.deepEqual(namesIn(['North', '', 'South', 'North']), ['North', 'South'])
  assert.deepEqual(namesIn(['a', 'b', 'c', 'd', 'e']), ['a', 'b', 'c', 'd'])
})
