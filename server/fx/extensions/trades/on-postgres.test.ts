// Trades of two servers on PostgreSQL.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { openState } from '#storage/open.ts'
import { settingsWith, testRequestInfo } from '#test/context.ts'
import { noPostgres, startPostgres } from '#test/postgres.ts'
import { provenTimeOf } from '#test/proven-time.ts'
import { createFxCaches, type FxContext } from '../../context.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { createTrade } from './create-trade.ts'
import { listTrades } from './trade-store.ts'

const accounts = ['42', '43'].map((digits) => privateKeyToAccount(`0x${digits.repeat(32)}`))
const sources = [{ id: 'a', kind: 'push', staleMs: 360_000_000 }]
const webhooks = [{ id: 'desk', url: 'http://127.0.0.1:1/', secret: `whsec_${'A'.repeat(32)}` }]
const settings = settingsWith({ fx: { spender: `0x${'33'.repeat(20)}`, sources, webhooks } })
const text = new TextDecoder()

async function quoteOf(context: FxContext): Promise<Quote & { readonly typedData: TypedData }> {
  const sides = { from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' } }
  const input = { ...sides, tenor: 'instant', type: 'tradable', recipientAddress: `0x${'11'.repeat(20)}` } as const
  const outcome = await createQuote.handle(input, context, testRequestInfo())
  assert.ok(outcome.is === 'bytes')
  return parseJson(text.decode(outcome.bytes)) as Quote & { typedData: TypedData }
}

test('two servers accept a quote once, and only before it expires by the clock of the database', {
  skip: noPostgres,
}, async () => {
  await using server = await startPostgres()
  const location = await server.schema()
  const states = [await openState('', { state: location }), await openState('', { state: location })]
  try {
    const contextOf = (state: FxContext['state'], aheadMs = 0): FxContext => {
      const clock = { ...systemClock, now: () => systemClock.now() + aheadMs }
      const parts = { settings, random: systemRandom, log: silentLog, fx: createFxCaches() }
      return { ...parts, state, clock, provenTime: provenTimeOf(clock) }
    }
    const [one, other] = states.map((state) => contextOf(state)) as [FxContext, FxContext]
    const rate = { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: systemClock.now() - 20_000 }
    await storeRates(one.state, 'a', [rate], rate.atMs)
    const accept = async (context: FxContext, quote: Quote & { typedData: TypedData }, account = accounts[0]) => {
      assert.ok(account)
      const signature = await signQuote(quote, account)
      const input = { quoteId: quote.id, address: account.address, signature }
      const outcome = await createTrade.handle(input, context, testRequestInfo())
      assert.ok(outcome.is === 'bytes')
      return text.decode(outcome.bytes)
    }
    const codeOf = (error: unknown) => (error instanceof Fault ? error.code : String(error))
    for (let round = 0; round < 10; round++) {
      const quote = await quoteOf(round % 2 === 0 ? one : other)
      const results = await Promise.all(
        [0, 1, 2, 3, 4, 5].map((at) =>
          accept(at % 2 === 0 ? one : other, quote, accounts[at % 3 === 2 ? 1 : 0]).catch(codeOf),
        ),
      )
      const [accepted, ...others] = [...new Set(results.filter((result) => result !== 'fx.trade_conflict'))]
      assert.deepEqual([others, JSON.parse(accepted ?? '{}').quoteId], [[], quote.id])
      assert.ok(results.includes('fx.trade_conflict'))
    }
    // The server's clock is behind, so that for it the quote is still valid.
    const behind = contextOf(one.state, -25_000)
    const old = await quoteOf(contextOf(one.state, -40_000))
    await assert.rejects(accept(behind, old), (error) => codeOf(error) === 'fx.quote_expired')
    const nowMs = systemClock.now()
    assert.equal((await listTrades(one.state, { nowMs, count: 100 })).length, 10)
    assert.deepEqual(await one.state.get('select count(*) as n from fx_deliveries'), { n: 10 })
  } finally {
    await Promise.all(states.map((state) => state.close()))
  }
})
