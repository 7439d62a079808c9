// Small pieces share a transaction, but not for longer than a caller should wait for what has been read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#runtime/clock.ts'
import { inBatches, type ProcessedSpan } from './batches.ts'

/** Pieces of one epoch with so many validators each, each made in so much time. */
async function* processedIn(
  clock: ManualClock,
  count: number,
  ms: number,
  validators: number,
): AsyncGenerator<ProcessedSpan> {
  for (let at = 0; at < count; at++) {
    clock.advance(ms)
    yield {
      span: { from: at, until: at + 1 },
      segment: { validator: new Int32Array(validators) },
    } as unknown as ProcessedSpan
  }
}

async function sizes(count: number, ms: number, validators: number): Promise<number[]> {
  const clock = new ManualClock(0)
  const found: number[] = []
  for await (const batch of inBatches(processedIn(clock, count, ms, validators), clock)) found.push(batch.length)
  return found
}

test('a small network on a slow node is written every few seconds', async () => {
  assert.deepEqual(await sizes(7, 1000, 10), [3, 3, 1])
  assert.deepEqual(await sizes(3, 60_000, 10), [1, 1, 1])
})

test('pieces that are there at once go together, up to a number of them and of rows', async () => {
  assert.deepEqual(await sizes(130, 1, 10), [64, 64, 2])
  assert.deepEqual(await sizes(3, 1, 40_000), [2, 1])
})
