// Which states a chain process holds while the chain is not final for days.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EngineState } from './engine.ts'
import { HeldStates } from './held-states.ts'

const slotsPerEpoch = 32

/** Only what HeldStates uses. */
function openStates() {
  const released = new Set<number>()
  const stateAt = (slot: number) => ({ slot, release: () => void released.add(slot) }) as unknown as EngineState
  return { released, stateAt, held: new HeldStates({ blockStates: 64, epochStarts: 32 }) }
}

test('without finality, the newest blocks, the newest epoch starts and the justified one are held', () => {
  const { held, released, stateAt } = openStates()
  const [justified, epochs] = [3, 675]
  for (let slot = 1; slot <= epochs * slotsPerEpoch; slot++) {
    held.addBlock({ slot, root: `main ${slot}`, parentRoot: `main ${slot - 1}`, state: stateAt(slot) })
    // The epoch starts with an empty slot.
    const epoch = (slot + 1) / slotsPerEpoch
    if (!Number.isInteger(epoch)) continue
    held.addEpochStart({ epoch, root: `main ${slot}`, state: stateAt(slot + 0.5) }, justified)
  }
  assert.deepEqual(
    held.blocks().map(({ slot }) => slot),
    Array.from({ length: 64 }, (_, at) => epochs * slotsPerEpoch - 63 + at),
  )
  const starts = held.epochStarts().map(({ epoch }) => epoch)
  assert.deepEqual(starts, [justified, ...Array.from({ length: 31 }, (_, at) => epochs - 30 + at)])
  assert.ok(held.epochStart({ epoch: justified, root: `main ${justified * slotsPerEpoch - 1}` }))
  assert.equal(released.size, epochs * slotsPerEpoch + epochs - 64 - 32, 'all others are released')
})

test('the newest block of a branch stays while older ones of other branches go', () => {
  const { held, stateAt } = openStates()
  held.addBlock({ slot: 1, root: 'main 1', parentRoot: 'anchor', state: stateAt(1) })
  held.addBlock({ slot: 2, root: 'other', parentRoot: 'main 1', state: stateAt(2.5) })
  for (let slot = 2; slot <= 200; slot++)
    held.addBlock({ slot, root: `main ${slot}`, parentRoot: `main ${slot - 1}`, state: stateAt(slot) })
  assert.equal(held.blocks().length, 64)
  assert.ok(held.block('other'))
  assert.ok(held.latestWithBlock('main 200', 201))
  assert.equal(held.block('main 137'), undefined)
})
