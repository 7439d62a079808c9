import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { openContext, testNowMs } from '#test/context.ts'
import { callHandler } from '#test/validators-world.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { rates } from './rates.ts'

const contract = `0x${'12'.repeat(20)}`
const tokens = ['USD', 'EUR', 'GBP', 'JPY', 'EUR'].map((tracks, at) => ({
  ...{ code: `${tracks}${at}`, tracks, decimals: 6, contract },
}))
const sources = ['bank', 'desk'].map((id) => ({ id, kind: 'push', staleMs: 60_000 }))

async function openRates() {
  const context = await openContext({ fx: { tokens, sources, crossVia: ['USD'] } })
  const put = (source: string, base: string, quote: string, rate: string, agoMs: number) =>
    storeRates(context.state, source, [{ source, base, quote, rate, atMs: testNowMs - agoMs }], testNowMs - agoMs)
  return { context, put, [Symbol.asyncDispose]: () => context[Symbol.asyncDispose]() }
}

describe('200', () => {
  test('200: direct rates are medians, missing ones are crossed, and stale and disputed ones have no rate', async () => {
    await using at = await openRates()
    await at.put('bank', 'EUR', 'USD', '1.24', 1000)
    await at.put('desk', 'USD', 'EUR', '0.8', 3000)
    await at.put('bank', 'USD', 'GBP', '0.5', 2000)
    await at.put('bank', 'EUR', 'JPY', '160', 61_000)
    const { body } = await callHandler(rates, at.context, { base: 'EUR' })
    assert.deepEqual(body, {
      base: 'EUR',
      rates: [
        {
          ...{ quote: 'USD', status: 'fresh', rate: '1.245', via: null, sources: ['bank', 'desk'] },
          at: new Date(testNowMs - 3000).toISOString(),
        },
        {
          ...{ quote: 'GBP', status: 'fresh', rate: '0.6225', via: 'USD', sources: ['bank', 'desk'] },
          at: new Date(testNowMs - 3000).toISOString(),
        },
        { quote: 'JPY', status: 'stale', rate: null, at: null, via: null, sources: [] },
      ],
    })
    await at.put('bank', 'EUR', 'USD', '2', 500)
    const { body: disputed } = await callHandler(rates, at.context, { base: 'EUR' })
    assert.deepEqual(disputed.rates[0], {
      ...{ quote: 'USD', status: 'disputed', rate: null, at: null, via: null, sources: [] },
    })
  })

  test('200: the default is the reference currency of the first token', async () => {
    await using at = await openRates()
    const { body } = await callHandler(rates, at.context, {})
    assert.equal(body.base, 'USD')
    assert.deepEqual(
      body.rates.map(({ quote }) => quote),
      ['EUR', 'GBP', 'JPY'],
    )
  })
})

test('400: a currency that no token tracks is refused', async () => {
  await using at = await openRates()
  await assert.rejects(callHandler(rates, at.context, { base: 'CHF' }), (error) => {
    assert.ok(error instanceof Fault)
    assert.deepEqual([error.code, error.publicMessage], ['fx.pair_unknown', 'No offered currency tracks CHF.'])
    return true
  })
})
