import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prependPrices } from './older-prices.ts'

const plot = { xs: [500, 600], lines: [{ label: 'Yes', values: [0.7, 0.8], steps: true }] }
const history = (...times: number[]) => times.map((t) => ({ t, p: t / 1000 }))

test('the plot of prices begins with the stored history, and gaps have no value', () => {
  const { xs, lines } = prependPrices(plot, [history(100, 110, 120, 130, 300, 310, 320, 500, 510)])
  assert.deepEqual(xs, [100, 110, 120, 130, 140, 300, 310, 320, 500, 600])
  assert.deepEqual(lines[0]?.values, [0.1, 0.11, 0.12, 0.13, null, 0.3, 0.31, 0.32, 0.7, 0.8])
})

test('without a history for every outcome, the plot stays as it is', () => {
  assert.equal(prependPrices(plot, []), plot)
  assert.equal(prependPrices(plot, [history(1), history(1)]), plot)
})
