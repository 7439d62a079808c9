import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addTo, indicesIn, parseWatchList, removeFrom, watchedMax } from './watch-list.ts'

test('validators are added once, sorted, up to a maximum, and removed', () => {
  const list = addTo(addTo({}, 'mainnet', [34, 12]), 'mainnet', [12, 7])
  assert.deepEqual(list, { mainnet: [7, 12, 34] })
  assert.deepEqual(removeFrom(list, 'mainnet', 12), { mainnet: [7, 34] })
  const many = Array.from({ length: watchedMax + 1 }, (_, index) => index)
  assert.equal(addTo({}, 'hoodi', many).hoodi?.length, watchedMax)
})

test('a stored list that is not valid is ignored', () => {
  assert.deepEqual(parseWatchList(null), {})
  for (const text of ['{', '7', 'null', '[1]']) assert.deepEqual(parseWatchList(text), {})
  assert.deepEqual(parseWatchList('{"mainnet":[3,"x",-1,3,1.5],"Other":[1],"hoodi":2}'), { mainnet: [3] })
})

test('indices are read from a text, or not at all', () => {
  assert.deepEqual(indicesIn(' 12, 34 56;7 '), [12, 34, 56, 7])
  for (const text of ['', ' ', '12, x', '0xab', '-1']) assert.equal(indicesIn(text), undefined)
})
