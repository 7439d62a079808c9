import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openContext, testRequestInfo } from '#test/context.ts'
import { resolveOffer } from '../../pricing/resolve-offer.ts'
import { currencies } from './currencies.ts'

describe('200', () => {
  test('every configured currency is listed with the code that quotes use', async () => {
    const contract = `0x${'12'.repeat(20)}`
    const tokens = [
      { code: 'USDC', tracks: 'USD', decimals: 6, contract },
      { code: 'JPYX', tracks: 'JPY', decimals: 18, contract },
    ]
    await using context = await openContext({ fx: { chainId: 137, tokens } })
    const outcome = await currencies.handle({}, context, testRequestInfo())
    assert.ok(outcome.is === 'body')
    const { body } = outcome
    assert.equal(body.chainId, 137)
    assert.deepEqual(
      body.currencies.map(({ currency, ...rest }) => ({ code: currency, ...rest })),
      tokens,
    )
    for (const tenor of body.tenors) assert.ok(resolveOffer(context.settings.fx, 'USDC', 'JPYX', tenor))
  })
})
