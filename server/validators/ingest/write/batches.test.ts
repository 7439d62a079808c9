// Small segments share a transaction, but a slow node must not delay stored epochs for long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#test/manual-clock.ts'
import { type BatchMember, inBatches } from './batches.ts'

/** `count` segments of one epoch with `validators` rows, each processed in `ms`. */
async function* processedIn(
  clock: ManualClock,
  count: number,
  ms: number,
  validators: number,
): AsyncGenerator<BatchMember> {
  for (let at = 0; at < count; at++) {
    clock.advance(ms)
    yield {
      epochs: { from: at, until: at + 1 },
      segment: { validator: new Int32Array(validators) },
    } as unknown as BatchMember
  }
}

async function sizes(count: number, ms: number, validators: number): Promise<number[]> {
  const clock = new ManualClock(0)
  const lengths: number[] = []
  for await (const batch of inBatches(processedIn(clock, count, ms, validators), clock)) lengths.push(batch.length)
  return lengths
}

test('a small network on a slow node is written every few seconds', async () => {
  assert.deepEqual(await sizes(7, 1000, 10), [3, 3, 1])
  assert.deepEqual(await sizes(3, 60_000, 10), [1, 1, 1])
})

test('segments that are ready at once share a batch, up to a limit of segments and rows', async () => {
  assert.deepEqual(await sizes(130, 1, 10), [64, 64, 2])
  assert.deepEqual(await sizes(3, 1, 40_000), [2, 1])
})
