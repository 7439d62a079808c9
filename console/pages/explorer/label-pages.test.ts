import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matching, pageOf, rowsMax } from './label-pages.ts'

const label = (labelname: string, shortdescription = '') => ({
  labelname,
  labelslug: labelname.toLowerCase().replaceAll(' ', '-'),
  shortdescription,
  notes: '',
  lastupdatedtimestamp: 1,
})
const labels = [label('North Bridge'), label('North Pool', 'A bridge of its own'), label('South Pool')]
const names = (text: string) => matching(labels, text).map(({ labelname }) => labelname)

test('every word has to be there, in any letter case, anywhere in the record', () => {
  assert.deepEqual(names('NORTH'), ['North Bridge', 'North Pool'])
  assert.deepEqual(names('bridge north'), ['North Bridge', 'North Pool'])
  assert.deepEqual(names('north-pool'), ['North Pool'])
  assert.deepEqual(names('north south'), [])
  assert.equal(names('  ').length, 3)
})

test('a page beyond the end is the last page', () => {
  const all = Array.from({ length: rowsMax * 2 + 1 }, (_, index) => index)
  assert.deepEqual(pageOf(all, 1).rows.length, rowsMax)
  assert.deepEqual(pageOf(all, 9), { rows: [rowsMax * 2], page: 2, pages: 3 })
  assert.deepEqual(pageOf([], 3), { rows: [], page: 0, pages: 1 })
})
