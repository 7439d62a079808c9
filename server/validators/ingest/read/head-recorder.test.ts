import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type Beacon, openBeacon } from '#sources/beacon/client.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { MovingHead } from '#test/simulator/moving-head.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { recordHead } from './head-recorder.ts'
import { StateRecords } from './state-records.ts'

const signal = new AbortController().signal

/** Calls `onState` before the first request for a state. */
function beforeState(beacon: Beacon, onState: () => void): Beacon {
  let isFirst = true
  const observed: Beacon = {
    ...beacon,
    request: (request, read, requestSignal) => {
      if (isFirst && request.path.includes('/states/') && !request.path.includes('/head/')) {
        isFirst = false
        onState()
      }
      return beacon.request(request, read, requestSignal)
    },
    each: () => [
      {
        ...{ name: 'node', beacon: observed, distrust: () => {}, isDistrusted: () => false },
        lastNotFound: () => undefined,
        ask: async () => undefined,
      },
    ],
  }
  return observed
}

test('states are not recorded if the chain is reorganized while they are read', async () => {
  const network = simulateNetwork('reorganized', { epochs: 6 })
  const { slotsPerEpoch } = network.plan
  const epoch = 3
  const first = epoch * slotsPerEpoch
  // The head is a branch that differs from the first slot of the epoch on.
  const head = new MovingHead(network, { headSlot: first, branches: [{ from: first, until: first + 1 }] })
  await using node = await openNodeOfRun(head)
  const beacon = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock })
  const { rules } = await beacon.chain(signal)
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-records-'))
  try {
    const records = new StateRecords(dir)
    const branchRoot = head.epoch(epoch)?.blocks.get(first)?.root ?? ''
    const chainRoot = network.blocks.get(first)?.root ?? ''
    assert.notEqual(branchRoot, chainRoot)
    const observed = beforeState(beacon, () => head.advance())
    await recordHead({ beacon: observed, records }, rules, epoch, signal)
    assert.equal(await records.has(epoch, branchRoot), false)
    // The next poll records the states of the chain.
    await recordHead({ beacon, records }, rules, epoch, signal)
    assert.equal(await records.has(epoch, branchRoot), false)
    assert.equal(await records.has(epoch, chainRoot), true)
  } finally {
    await rm(dir, { recursive: true })
  }
})
