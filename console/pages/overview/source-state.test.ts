import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateOf } from './source-state.ts'

test('a source that is not well says how often it failed, or what else is wrong with its kind; never that it failed no times', () => {
  const word = (kind: 'node' | 'rates' | 'feed', failures: number) => stateOf({ ok: false, kind, failures }).label
  assert.deepEqual(
    [word('rates', 3), word('feed', 1), word('rates', 0), word('feed', 0), word('node', 0)],
    ['failing ×3', 'failing ×1', 'not used', 'stale', 'failing'],
  )
  assert.deepEqual(stateOf({ ok: true, kind: 'rates', failures: 0 }), { word: 'good', tone: 'good' })
  assert.deepEqual(stateOf({ ok: null, kind: 'node', failures: 0 }), { word: 'not asked', tone: '' })
})
