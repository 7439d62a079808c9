import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterLabels, pageOf, rowsMax } from './label-pages.ts'

const label = (labelname: string, shortdescription = '') => ({
  labelname,
  labelslug: labelname.toLowerCase().replaceAll(' ', '-'),
  shortdescription,
  notes: '',
  lastupdatedtimestamp: 1,
})
const labels = [label('North Bridge'), label('North Pool', 'A bridge of its own'), label('South Pool')]
const names = (text: string) => filterLabels(labels, text).map(({ labelname }) => labelname)

test('the filter finds labels that contain every word, in any case and any field', () => {
  assert.deepEqual(names('NORTH'), ['North Bridge', 'North Pool'])
  assert.deepEqual(names('bridge north'), ['North Bridge', 'North Pool'])
  assert.deepEqual(names('north-pool'), ['North Pool'])
  assert.deepEqual(names('north south'), [])
  assert.equal(names('  ').length, 3)
})

test('a page number beyond the end shows the last page', () => {
  const all = Array.from({ length: rowsMax * 2 + 1 }, (_, index) => index)
  assert.deepEqual(pageOf(all, 1).rows.length, rowsMax)
  assert.deepEqual(pageOf(all, 9), { rows: [rowsMax * 2], page: 2, pages: 3 })
  assert.deepEqual(pageOf([], 3), { rows: [], page: 0, pages: 1 })
})
