import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { openContext, testNowMs } from '#test/context.ts'
import { callHandler } from '#test/validators-world.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { rateHistory } from './rate-history.ts'

const source = (id: string) => ({ id, kind: 'push' })

test('the last rate of each part of the time is returned, inverted if the source states it the other way round', async () => {
  await using context = await openContext({ fx: { sources: [source('desk'), source('bank')] } })
  const rate = (id: string, base: string, quote: string, atMs: number, text: string) => ({
    ...{ source: id, base, quote, atMs, rate: text },
  })
  // One hour has 120 parts of 30 s. The first two rates are in one part, and the oldest is too old.
  const start = Math.floor((testNowMs - 1_800_000) / 30_000) * 30_000
  await storeRates(
    context.state,
    'desk',
    [
      rate('desk', 'EUR', 'USD', testNowMs - 3_700_000, '1.5'),
      rate('desk', 'EUR', 'USD', start + 1000, '1.08'),
      rate('desk', 'EUR', 'USD', start + 2000, '1.09'),
      rate('desk', 'EUR', 'USD', start + 31_000, '1.1'),
    ],
    testNowMs,
  )
  await storeRates(context.state, 'bank', [rate('bank', 'USD', 'EUR', start, '0.8')], testNowMs)
  const { body } = await callHandler(rateHistory, context, { base: 'EUR', quote: 'USD', hours: 1 })
  assert.deepEqual(body.sources, [
    {
      source: 'desk',
      points: [
        { at: new Date(start + 2000).toISOString(), rate: 1.09 },
        { at: new Date(start + 31_000).toISOString(), rate: 1.1 },
      ],
    },
    { source: 'bank', points: [{ at: new Date(start).toISOString(), rate: 1.25 }] },
  ])
  const { body: none } = await callHandler(rateHistory, context, { base: 'EUR', quote: 'GBP' })
  assert.deepEqual(none.sources, [])
})
