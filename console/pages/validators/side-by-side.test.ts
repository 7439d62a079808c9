import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alignRecords, assignRecords, indicesIn, type Subjects, subjectNames } from './side-by-side.ts'

const hrefOf = (name: string) => name
const uptime = (record: { uptime?: number }) => record.uptime ?? null

test('records of several validators share one axis, with null where a validator has no record', () => {
  const subjects: Subjects = [{ indices: [7, 9], hrefOf }]
  const records = assignRecords(
    subjects,
    [
      { validatorIndex: 7, startEpoch: 450, uptime: 0.9 },
      { validatorIndex: 9, startEpoch: 450, uptime: 0.8 },
      { validatorIndex: 7, startEpoch: 225 },
      { validatorIndex: 9, startEpoch: 0, uptime: 0.7 },
    ],
    undefined,
  )
  assert.deepEqual(alignRecords(records, subjectNames(subjects), uptime), {
    epochs: [0, 225, 450],
    values: [
      [null, null, 0.9],
      [0.7, null, 0.8],
    ],
  })
})

test('records of two pools share one axis, each under the name of its pool', () => {
  const subjects: Subjects = [
    { name: 'North', indices: [1, 2], hrefOf },
    { name: 'South', indices: [3], hrefOf },
  ]
  const records = assignRecords(subjects, [{ startEpoch: 225, uptime: 1 }], [{ startEpoch: 450, uptime: 0.5 }])
  assert.deepEqual(alignRecords(records, subjectNames(subjects), uptime), {
    epochs: [225, 450],
    values: [
      [1, null],
      [null, 0.5],
    ],
  })
})

test('indices from the address are unique and at most ten', () => {
  assert.deepEqual(indicesIn('12,34,12,x,-1,'), [12, 34])
  assert.deepEqual(indicesIn(null), [])
  assert.equal(indicesIn(Array.from({ length: 30 }, (_, index) => index).join()).length, 10)
})
