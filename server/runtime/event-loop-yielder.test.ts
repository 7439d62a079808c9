import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { countLoopTurns } from '#test/event-loop-turns.ts'
import { EventLoopYielder, yieldInOrder } from './event-loop-yielder.ts'

test('1: one waiting task continues in each turn of the event loop, in order', async () => {
  const seen: number[] = []
  const { turns } = await countLoopTurns(() =>
    Promise.all(Array.from({ length: 50 }, (_, at) => yieldInOrder().then(() => seen.push(at)))),
  )
  assert.ok(turns >= 50, `${turns} turns`)
  assert.deepEqual(
    seen,
    Array.from({ length: 50 }, (_, at) => at),
  )
})

test('2: a task that waits for the next turn does not wait for the others', async () => {
  const order: string[] = []
  await Promise.all([
    ...Array.from({ length: 5 }, () => yieldInOrder().then(() => order.push('line'))),
    nextEventLoopTurn().then(() => order.push('turn')),
  ])
  assert.ok(order.indexOf('turn') <= 1, order.join())
})

test('it yields once in 500 steps, however they are added', async () => {
  let rests = 0
  const rest = async () => {
    rests += 1
  }
  const ones = new EventLoopYielder(rest)
  for (let step = 0; step < 1499; step++) await ones.spend(1)
  assert.equal(rests, 2)
  const many = new EventLoopYielder(rest)
  await many.spend(10_000)
  await many.spend(499)
  assert.equal(rests, 3)
})
