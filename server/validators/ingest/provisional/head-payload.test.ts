import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BeaconEvent } from '#sources/beacon/events.ts'
import { type HeadPayload, headPayloadAfter } from './head-payload.ts'

const [one, two] = [`0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`]
const after = (...events: readonly BeaconEvent[]): HeadPayload | undefined =>
  events.reduce<HeadPayload | undefined>(headPayloadAfter, undefined)
const head = (root: string | undefined, payloadStatus?: BeaconEvent['payloadStatus']): BeaconEvent => ({
  topic: 'head_v2',
  root,
  payloadStatus,
})
const arrived = (root: string): BeaconEvent => ({ topic: 'execution_payload', root })

test('a payload that changes under the same block is noticed, in both directions', () => {
  assert.deepEqual(after(head(one, 'empty'), head(one, 'full')), { root: one, status: 'full' })
  assert.deepEqual(after(head(one, 'full'), head(one, 'empty')), { root: one, status: 'empty' })
})

test('a payload that arrives without a new report makes the status unknown, not full', () => {
  assert.deepEqual(after(head(one, 'empty'), arrived(one)), { root: one, status: undefined })
  assert.deepEqual(after(head(one, 'empty'), arrived(one), head(one, 'empty')), { root: one, status: 'empty' })
  assert.deepEqual(after(head(one, 'full'), arrived(one)), { root: one, status: 'full' })
})

test('the payload of another block and other events change nothing', () => {
  assert.deepEqual(after(head(one, 'empty'), arrived(two), { topic: 'chain_reorg' }), { root: one, status: 'empty' })
  assert.equal(after(arrived(one), { topic: 'head' }), undefined)
})

test('a new block replaces what was known about the one before', () => {
  assert.deepEqual(after(head(one, 'full'), head(two, 'empty')), { root: two, status: 'empty' })
  assert.deepEqual(after(head(one, 'full'), head(two)), { root: two, status: undefined })
  assert.equal(after(head(one, 'full'), head(undefined)), undefined)
})
