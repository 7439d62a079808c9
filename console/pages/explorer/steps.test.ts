import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Trail } from '#api/contract/wire/trail.ts'
import { captionOf, deeper, stepsOf, truncate } from './steps.ts'

const address = (digit: number): string => `0x${String(digit).repeat(40)}`
const hop = (from: number, to: number) => ({
  address: address(to),
  block: from,
  timeStamp: '1700000000',
  fundingAddress: address(from),
  fundingTxn: `0x${'a'.repeat(64)}`,
  value: '1',
})
const label = { name: 'Cobalt Exchange', source: 'registry', confidence: 95 }
const trail: Trail = {
  chainid: '1',
  address: address(1),
  hops: [hop(2, 1), { ...hop(3, 2), label }],
  end: { reason: 'label', address: address(3), message: 'Cobalt Exchange' },
}

test('the steps are the start address and every funder, and the last one has the reason of the end', () => {
  const steps = stepsOf(trail)
  assert.deepEqual(
    steps.map((step) => [step.address, captionOf(step), step.label?.name]),
    [
      [address(1), 'start', undefined],
      [address(2), '1 hop back', undefined],
      [address(3), '2 hops back · labelled', 'Cobalt Exchange'],
    ],
  )
  assert.equal(steps[1]?.paid?.block, 2)
})

test('without hops the start address is the end', () => {
  const [only, ...rest] = stepsOf({ ...trail, hops: [], end: { ...trail.end, reason: 'none' } })
  assert.equal(only && captionOf(only), 'start · not funded')
  assert.deepEqual(rest, [])
})

test('the next depth is twice the depth, up to the maximum of one request', () => {
  assert.deepEqual([deeper(20, 100), deeper(80, 100), deeper(100, 100)], [40, 100, undefined])
})

test('truncated text ends with an ellipsis', () =>
  assert.deepEqual([truncate('abcdef', 6), truncate('abcdefg', 6)], ['abcdef', 'abcde…']))
