import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aligned, assignRecords, indicesIn, type Subjects, subjectNames } from './side-by-side.ts'

const hrefOf = (who: string) => who
const uptime = (record: { uptime?: number }) => record.uptime ?? null

test('records of several validators lie over one axis, with gaps where one has none', () => {
  const parties: Subjects = [{ indices: [7, 9], hrefOf }]
  const told = assignRecords(
    parties,
    [
      { validatorIndex: 7, startEpoch: 450, uptime: 0.9 },
      { validatorIndex: 9, startEpoch: 450, uptime: 0.8 },
      { validatorIndex: 7, startEpoch: 225 },
      { validatorIndex: 9, startEpoch: 0, uptime: 0.7 },
    ],
    undefined,
  )
  assert.deepEqual(aligned(told, subjectNames(parties), uptime), {
    epochs: [0, 225, 450],
    values: [
      [null, null, 0.9],
      [0.7, null, 0.8],
    ],
  })
})

test('two pools lie over one axis, each under its name', () => {
  const parties: Subjects = [
    { name: 'North', indices: [1, 2], hrefOf },
    { name: 'South', indices: [3], hrefOf },
  ]
  const told = assignRecords(parties, [{ startEpoch: 225, uptime: 1 }], [{ startEpoch: 450, uptime: 0.5 }])
  assert.deepEqual(aligned(told, subjectNames(parties), uptime), {
    epochs: [225, 450],
    values: [
      [1, null],
      [null, 0.5],
    ],
  })
})

test('an address names at most ten validators, each once', () => {
  assert.deepEqual(indicesIn('12,34,12,x,-1,'), [12, 34])
  assert.deepEqual(indicesIn(null), [])
  assert.equal(indicesIn(Array.from({ length: 30 }, (_, index) => index).join()).length, 10)
})
