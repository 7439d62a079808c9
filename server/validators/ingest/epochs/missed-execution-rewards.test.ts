// What a missed proposal would have paid outside the balance, with known and unknown payments of the other blocks.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { readEpoch } from '#test/read-states.ts'
import { NodeStates } from '../read/node-states.ts'
import { processEpoch } from './process-epoch.ts'
import { Sums } from './sums.ts'

test('a missed proposal misses the mean of the known payments, and an unknown amount if there is none', async () => {
  await using node = await openReplay()
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const { rules } = await beacon.chain()
  // Slot 56, the first of epoch 7, is empty.
  const data = await readEpoch(new NodeStates(beacon), 7)
  const missed = data.proposers[0] as number
  const [first, second] = data.blocks
  assert(first && second && first.slot > 56 && !data.blocks.some(({ proposer }) => proposer === missed))
  const payment = (gwei: number) => ({ priorityFee: gwei, baselineMev: 1, external: 0 })
  const measuresOf = (execution: typeof data.execution) => {
    const sums = new Sums()
    processEpoch(rules, { ...data, execution }, undefined, sums)
    return [sums.columns.missed_execution_reward[missed], sums.columns.execution_unknown[missed]]
  }
  assert.deepEqual(measuresOf(new Map()), [0, 1])
  assert.deepEqual(measuresOf(new Map([[first.slot, payment(10)]])), [11, 0])
  assert.deepEqual(
    measuresOf(
      new Map([
        [first.slot, payment(10)],
        [second.slot, payment(20)],
      ]),
    ),
    [16, 0],
  )
})
