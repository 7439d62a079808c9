import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addRecent, parseRecent, type RecentItem } from './recent-items.ts'

const item = (id: number): RecentItem => ({ kind: 'Validator', label: `Validator ${id}`, href: `/validators/${id}` })

test('the newest item is first, each is listed once, and twelve are kept', () => {
  const items = Array.from({ length: 20 }, (_, id) => item(id)).reduce(addRecent, [] as readonly RecentItem[])
  assert.equal(items.length, 12)
  assert.deepEqual(addRecent(items, item(15)).slice(0, 2), [item(15), item(19)])
  assert.equal(addRecent(items, item(15)).length, 12)
})

test('text that is not a list of items of this console is ignored', () => {
  assert.deepEqual(parseRecent(JSON.stringify([item(1), { href: 1 }, null, { ...item(2), href: 'https://x.test' }])), [
    item(1),
  ])
  assert.deepEqual(parseRecent('no JSON'), [])
  assert.deepEqual(parseRecent('{}'), [])
})
