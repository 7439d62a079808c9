import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CommonHeaders, headerList, headerListOnce } from './header-list.ts'

const common: CommonHeaders = [
  ['cache-control', 'no-store'],
  ['vary', 'origin'],
]
const headers = { etag: '"1"', 'cache-control': 'public' }

test('a response that is sent many times has the id of each request and the headers of each path', () => {
  const once = {}
  for (const id of ['a', 'b', 'c']) {
    const list = headerListOnce({ id, common }, headers, once)
    assert.deepEqual(list, ['x-request-id', id, 'vary', 'origin', 'etag', '"1"', 'cache-control', 'public'])
    list.push('content-length', '7')
  }
  const other: CommonHeaders = [['x-other', '1']]
  assert.deepEqual(
    headerListOnce({ id: 'd', common: other }, headers, once),
    headerList({ id: 'd', common: other }, headers),
  )
})
