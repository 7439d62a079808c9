import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn } from '#io/clock.ts'
import { turnsDuring } from '#test/turns.ts'
import { Breath, inLine } from './breath.ts'

test('1: of many that stand in line one goes on in each turn, in the order they came', async () => {
  const seen: number[] = []
  const { turns } = await turnsDuring(() =>
    Promise.all(Array.from({ length: 50 }, (_, at) => inLine().then(() => seen.push(at)))),
  )
  assert.ok(turns >= 50, `${turns} turns`)
  assert.deepEqual(
    seen,
    Array.from({ length: 50 }, (_, at) => at),
  )
})

test('2: who rests until the next turn does not wait for the line', async () => {
  const order: string[] = []
  await Promise.all([
    ...Array.from({ length: 5 }, () => inLine().then(() => order.push('line'))),
    nextTurn().then(() => order.push('turn')),
  ])
  assert.ok(order.indexOf('turn') <= 1, order.join())
})

test('a breath is taken once in 500 steps, however they are counted', async () => {
  let rests = 0
  const rest = async () => {
    rests += 1
  }
  const ones = new Breath(rest)
  for (let step = 0; step < 1499; step++) await ones.take(1)
  assert.equal(rests, 2)
  const many = new Breath(rest)
  await many.take(10_000)
  await many.take(499)
  assert.equal(rests, 3)
})
