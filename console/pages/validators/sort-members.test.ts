import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RatedMember, sortMembers } from './sort-members.ts'

const member = (validatorIndex: number, effectiveness: number | null) =>
  ({ validatorIndex, effectiveness }) as RatedMember

test('members are sorted by a figure; those without it are last in either order', () => {
  const members = [member(1, 98), member(2, null), member(3, 91), member(4, 99)]
  const indices = (isDescending: boolean) =>
    sortMembers(members, 'effectiveness', isDescending).map(({ validatorIndex }) => validatorIndex)
  assert.deepEqual(indices(false), [3, 1, 4, 2])
  assert.deepEqual(indices(true), [4, 1, 3, 2])
})
