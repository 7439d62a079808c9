import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Trail } from '#api/wire/trail.ts'
import { captionOf, cut, deeper, stepsOf } from './stream-progress.ts'

const address = (digit: number): string => `0x${String(digit).repeat(40)}`
const hop = (from: number, to: number) => ({
  address: address(to),
  block: from,
  timeStamp: '1700000000',
  fundingAddress: address(from),
  fundingTxn: `0x${'a'.repeat(64)}`,
  value: '1',
})
const label = { name: 'Somebody', source: 'registry', confidence: 95 }
const trail: Trail = {
  chainid: '1',
  address: address(1),
  hops: [hop(2, 1), { ...hop(3, 2), label }],
  end: { reason: 'label', address: address(3), message: 'Somebody' },
}

test('one step more than hops: the asked address, then every funder, the end at the last', () => {
  const steps = stepsOf(trail)
  assert.deepEqual(
    steps.map((step) => [step.address, captionOf(step), step.label?.name]),
    [
      [address(1), 'asked for', undefined],
      [address(2), '1 hop back', undefined],
      [address(3), '2 hops back · named', 'Somebody'],
    ],
  )
  assert.equal(steps[1]?.paid?.block, 2)
})

test('without hops the asked address is the end', () => {
  const [only, ...rest] = stepsOf({ ...trail, hops: [], end: { ...trail.end, reason: 'none' } })
  assert.equal(only && captionOf(only), 'asked for · never funded')
  assert.deepEqual(rest, [])
})

test('going deeper doubles, up to what one call allows', () => {
  assert.deepEqual([deeper(20, 100), deeper(80, 100), deeper(100, 100)], [40, 100, undefined])
})

test('what is cut says so', () => assert.deepEqual([cut('abcdef', 6), cut('abcdefg', 6)], ['abcdef', 'abcde…']))
