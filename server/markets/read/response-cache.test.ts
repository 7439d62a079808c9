import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { State, StateReader } from '#storage/state.ts'
import { ResponseCache } from './response-cache.ts'

/** A store whose markets have this revision, and nothing in common with others. */
const stateAt = (seq: number): State => {
  const get = async (sql: string) => (sql.includes('market_revision') ? { seq, at_ms: seq } : undefined)
  const reader = { get, all: async () => [] } as unknown as StateReader
  const snapshot: State['snapshot'] = (work) => work(reader)
  return { version: () => seq, snapshot } as Partial<State> as State
}
const shown = { names: new Set<string>(), numbers: [] }

test('the oldest response is dropped first, unless it was used', async () => {
  const cache = new ResponseCache<{ byteCount: number; name: string }>()
  await cache.dropOutdated(stateAt(1))
  const keep = (name: string) => cache.keep(name, { name, byteCount: 10 }, shown, 1, 30)
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
  cache.keep('large', { name: 'large', byteCount: 31 }, shown, 1, 30)
  assert.equal(held('a', 'd', 'e', 'f', 'large').length, 3, 'a response beyond the limit displaces none')
})

test('a response of another revision is not kept', async () => {
  const cache = new ResponseCache<{ byteCount: number; name: string }>()
  await cache.dropOutdated(stateAt(2))
  for (const revision of [1, 3]) cache.keep('a', { name: 'a', byteCount: 10 }, shown, revision, 30)
  assert.equal(cache.find('a'), undefined)
  cache.keep('a', { name: 'a', byteCount: 10 }, shown, 2, 30)
  assert.equal(cache.find('a')?.name, 'a')
  await cache.dropOutdated(stateAt(3))
  assert.equal(cache.find('a'), undefined)
})
