import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResponseCache } from './response-cache.ts'

test('the oldest response is dropped first, unless it was used', () => {
  const cache = new ResponseCache<{ byteCount: number; name: string }>()
  const keep = (name: string) => cache.keep(name, { name, byteCount: 10 }, 30)
  const held = (...names: string[]) => names.filter((name) => cache.find(name))
  for (const name of ['a', 'b', 'c']) keep(name)
  assert.equal(cache.find('a')?.name, 'a')
  keep('d')
  assert.deepEqual(held('b'), [], 'b is the oldest that was not used')
  keep('e')
  assert.deepEqual(held('c'), [], 'then c')
  assert.deepEqual(held('a', 'd', 'e'), ['a', 'd', 'e'])
  keep('f')
  assert.equal(held('a', 'd', 'e').length, 2, 'if all were used, one of them is dropped')
  assert.deepEqual(held('f'), ['f'])
  cache.keep('large', { name: 'large', byteCount: 31 }, 30)
  assert.equal(held('a', 'd', 'e', 'f', 'large').length, 3, 'a response beyond the limit displaces none')
})
