import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateOf } from './source-state.ts'

test('a failing source shows its failures in a row, or without any, what is wrong for its kind', () => {
  const labelOf = (kind: 'node' | 'rates' | 'feed', failures: number) => stateOf({ ok: false, kind, failures }).label
  assert.deepEqual(
    [labelOf('rates', 3), labelOf('feed', 1), labelOf('rates', 0), labelOf('feed', 0), labelOf('node', 0)],
    ['failing ×3', 'failing ×1', 'not used', 'stale', 'failing'],
  )
  assert.deepEqual(stateOf({ ok: true, kind: 'rates', failures: 0 }), { label: 'healthy', tone: 'good' })
  assert.deepEqual(stateOf({ ok: null, kind: 'node', failures: 0 }), { label: 'not used yet', tone: '' })
})
