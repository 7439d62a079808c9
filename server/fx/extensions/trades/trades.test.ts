// Trades without a node. Those that a node checks are in settled-on-chain.test.ts, those of two servers in on-postgres.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import type { Trade } from '#api/contract/wire/fx-trades.ts'
import { Fault } from '#core/fault.ts'
import { openTable } from '#operations/export/tables.ts'
import { dropQuotes, dropTrades } from '#operations/retention.ts'
import { tradeVerification } from '#operations/verify-fx.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { createTrade } from './create-trade.ts'
import { trade, tradePermit, trades } from './read-trades.ts'
import { reportTrade } from './report-trade.ts'
import { expireTrades } from './trade-store.ts'

const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const other = privateKeyToAccount(`0x${'43'.repeat(32)}`)
const infoOf = (keyId = 'ann') => testRequestInfo({ caller: { keyId, plan: 'enterprise' } })
const webhook = { id: 'desk', url: 'http://127.0.0.1:1/', secret: `whsec_${'A'.repeat(32)}` }

async function openDesk(settings: object = {}): Promise<TestContext> {
  const sources = [{ id: 'a', kind: 'push', staleMs: 360_000_000 }]
  const context = await openContext({
    fx: { spender: `0x${'33'.repeat(20)}`, sources, webhooks: [webhook] },
    ...settings,
  })
  const rate = { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: testNowMs }
  await storeRates(context.state, 'a', [rate], testNowMs)
  return context
}

type TradableQuote = Quote & { readonly typedData: TypedData }

async function quoteOf(context: TestContext, keyId?: string, changes: object = {}): Promise<TradableQuote> {
  const sides = { from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' } }
  const input = { ...sides, tenor: 'instant', type: 'tradable', recipientAddress: `0x${'11'.repeat(20)}` } as const
  const outcome = await createQuote.handle({ ...input, ...changes }, context, infoOf(keyId))
  assert.ok(outcome.is === 'bytes')
  return parseJson(new TextDecoder().decode(outcome.bytes)) as TradableQuote
}

interface Acceptance {
  readonly quoteId: string
  readonly address: string
  readonly signature: string
  readonly message?: object
}

async function post(context: TestContext, input: Acceptance, keyId?: string): Promise<string> {
  const outcome = await createTrade.handle(input, context, infoOf(keyId))
  assert.ok(outcome.is === 'bytes', outcome.is)
  return new TextDecoder().decode(outcome.bytes)
}

const signed = async (quote: TradableQuote, account = taker): Promise<Acceptance> => ({
  ...{ quoteId: quote.id, address: account.address, signature: await signQuote(quote, account) },
})

async function accept(context: TestContext, keyId?: string): Promise<Trade> {
  return parseJson(await post(context, await signed(await quoteOf(context, keyId)), keyId)) as Trade
}

async function read(context: TestContext, id: string, keyId?: string): Promise<Trade> {
  const outcome = await trade.handle({ id }, context, infoOf(keyId))
  assert.ok(outcome.is === 'body', outcome.is)
  return outcome.body as Trade
}

const report = async (context: TestContext, id: string, status: 'settled' | 'failed', digit: string) => {
  const input = { id, status, settlementTransactionHash: `0x${digit.repeat(64)}` }
  const outcome = await reportTrade.handle(input, context, infoOf('admin'))
  assert.ok(outcome.is === 'body', outcome.is)
  return outcome.body as Trade
}

const failsWith = (code: string) => (error: unknown) => error instanceof Fault && error.code === code
const eventsOf = async ({ state }: TestContext) =>
  (
    await state.all<{ event: string; body: string }>('select event, body from fx_deliveries order by created_ms, id')
  ).map(({ event, body }) => ({ event, body }))

describe('acceptance', () => {
  test('a signed quote becomes a trade with its amounts, and the same request gets the same bytes, also later', async () => {
    await using context = await openDesk()
    const quote = await quoteOf(context)
    const request = await signed(quote)
    const first = await post(context, request)
    const { from, to, rate, fee, id } = quote
    assert.deepEqual(parseJson(first), {
      ...{ id, quoteId: id, status: 'accepted', rate, from, to, fee, tenor: 'instant', address: taker.address },
      ...{ recipient: `0x${'11'.repeat(20)}`, createDate: '2026-11-15T12:00:00.000Z' },
      ...{ updateDate: '2026-11-15T12:00:00.000Z', maturity: '2026-11-15T12:30:00.000Z' },
    })
    context.clock.advance(3_600_000)
    assert.equal(await post(context, request), first)
    assert.equal(await post(context, { ...request, address: taker.address.toLowerCase() }), first)
  })

  test('another address or signature is a conflict, also for a valid signature', async () => {
    await using context = await openDesk()
    const quote = await quoteOf(context)
    await post(context, await signed(quote))
    await assert.rejects(post(context, await signed(quote, other)), failsWith('fx.trade_conflict'))
    const { signature, ...request } = await signed(quote)
    await assert.rejects(post(context, { ...request, signature: `${signature}00` }), failsWith('fx.trade_conflict'))
  })

  test('concurrent requests create one trade', async () => {
    await using context = await openDesk()
    const quote = await quoteOf(context)
    const requests = [await signed(quote), await signed(quote), await signed(quote, other)]
    const results = await Promise.allSettled(requests.map((request) => post(context, request)))
    const accepted = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    assert.equal(new Set(accepted).size, 1)
    assert.deepEqual(await context.state.all('select count(*) as n from fx_trades'), [{ n: 1 }])
  })

  test('it is accepted until just before `expiresAt`, and refused from then on', async () => {
    await using context = await openDesk()
    const [early, late] = [await quoteOf(context), await quoteOf(context)]
    context.clock.advance(29_999)
    await post(context, await signed(early))
    context.clock.advance(1)
    await assert.rejects(post(context, await signed(late)), failsWith('fx.quote_expired'))
    assert.deepEqual(await context.state.all('select id from fx_trades'), [{ id: early.id }])
  })

  test('only the signature of the address over this quote is accepted', async () => {
    await using context = await openDesk()
    const [quote, another] = [await quoteOf(context), await quoteOf(context)]
    const { signature } = await signed(quote)
    const wrong: Acceptance[] = [
      { quoteId: quote.id, address: other.address, signature },
      { quoteId: another.id, address: taker.address, signature },
      { quoteId: quote.id, address: taker.address, signature: `${signature.slice(0, -2)}00` },
      { quoteId: quote.id, address: taker.address, signature: '0x' },
    ]
    for (const request of wrong) await assert.rejects(post(context, request), failsWith('fx.signature_invalid'))
    assert.deepEqual(await context.state.all('select id from fx_trades'), [])
    await post(context, await signed(quote))
  })

  test('the message may be sent, as text or as numbers, and must be that of the quote', async () => {
    await using context = await openDesk()
    const [quote, another] = [await quoteOf(context), await quoteOf(context)]
    const { message } = quote.typedData
    await assert.rejects(
      post(context, { ...(await signed(quote)), message: another.typedData.message }),
      failsWith('input.invalid'),
    )
    await post(context, { ...(await signed(quote)), message: { ...message, nonce: String(message.nonce) } })
  })

  test('reference quotes, quotes of other keys and wrong checksums are refused', async () => {
    await using context = await openDesk()
    const reference = await quoteOf(context, 'ann', { type: 'reference' })
    const request = await signed(await quoteOf(context))
    await assert.rejects(post(context, { ...request, quoteId: reference.id }), failsWith('input.invalid'))
    const wrong = `0x${taker.address.slice(2).replace(/[a-f]/i, (digit) => (digit < 'a' ? digit.toLowerCase() : digit.toUpperCase()))}`
    await assert.rejects(post(context, { ...request, address: wrong }), failsWith('input.invalid'))
    assert.equal((await createTrade.handle(request, context, infoOf('bob'))).is, 'nothing')
    const { id } = parseJson(await post(context, request)) as Trade
    assert.equal((await createTrade.handle(request, context, infoOf('bob'))).is, 'nothing')
    assert.equal((await trade.handle({ id }, context, infoOf('bob'))).is, 'nothing')
  })
})

describe('states', () => {
  test('a trade expires when its maturity has passed, with one event', async () => {
    await using context = await openDesk()
    const { id } = await accept(context)
    context.clock.advance(1_799_999)
    assert.equal((await read(context, id)).status, 'accepted')
    assert.equal(await expireTrades(context, context.clock.now()), 0)
    context.clock.advance(1)
    const expired = await read(context, id)
    assert.deepEqual([expired.status, expired.updateDate], ['expired', '2026-11-15T12:30:00.000Z'])
    assert.equal(await expireTrades(context, context.clock.now()), 1)
    assert.equal(await expireTrades(context, context.clock.now()), 0)
    assert.deepEqual(await read(context, id), expired)
    assert.deepEqual(
      (await eventsOf(context)).map(({ event }) => event),
      ['trade_accepted', 'trade_expired'],
    )
  })

  test('a failed or expired trade can be settled, and a settled one does not change', async () => {
    await using context = await openDesk()
    const { id } = await accept(context)
    context.clock.advance(1)
    assert.equal((await report(context, id, 'failed', 'a')).status, 'failed')
    context.clock.advance(3_600_000)
    const settled = await report(context, id, 'settled', 'B')
    assert.deepEqual(
      [settled.status, settled.settlementTransactionHash, settled.completeDate],
      ['settled', `0x${'b'.repeat(64)}`, '2026-11-15T13:00:00.001Z'],
    )
    context.clock.advance(1000)
    assert.deepEqual(await report(context, id, 'settled', 'b'), settled)
    await assert.rejects(report(context, id, 'settled', 'c'), failsWith('fx.trade_conflict'))
    await assert.rejects(report(context, id, 'failed', 'b'), failsWith('fx.trade_conflict'))
    assert.deepEqual(await read(context, id), settled)
    assert.equal(await expireTrades(context, context.clock.now()), 0)
    assert.deepEqual(
      (await eventsOf(context)).map(({ event }) => event),
      ['trade_accepted', 'trade_failed', 'trade_settled'],
    )
    assert.equal(
      (
        await reportTrade.handle(
          { id: context.random.uuid(), status: 'failed', settlementTransactionHash: `0x${'a'.repeat(64)}` },
          context,
          infoOf(),
        )
      ).is,
      'nothing',
    )
  })

  test('pages contain every trade of the key once, newest first, by status', async () => {
    await using context = await openDesk()
    const ids: string[] = []
    for (let at = 0; at < 5; at++) {
      if (at % 2 === 0) context.clock.advance(1000)
      ids.push((await accept(context)).id)
      await accept(context, 'bob')
    }
    await report(context, ids[1] as string, 'settled', 'a')
    const list = async (input: object) => {
      const outcome = await trades.handle({ limit: 2, ...input }, context, infoOf())
      assert.ok(outcome.is === 'body')
      return outcome.body as { trades: Trade[]; next: string | null }
    }
    const found: Trade[] = []
    for (let before: string | null | undefined; before !== null; ) {
      const page = await list(before === undefined ? {} : { before })
      found.push(...page.trades)
      before = page.next
    }
    assert.deepEqual(found.map(({ id }) => id).sort(), ids.toSorted())
    assert.deepEqual(
      found.map(({ createDate }) => createDate),
      found
        .map(({ createDate }) => createDate)
        .sort()
        .reverse(),
    )
    const settled = await list({ status: 'settled' })
    assert.deepEqual([settled.trades.map(({ id }) => id), settled.next], [[ids[1]], null])
    context.clock.advance(7_200_000)
    assert.deepEqual((await list({ status: 'accepted' })).trades, [])
    assert.equal((await list({ status: 'expired', limit: 100 })).trades.length, 4)
  })
})

describe('signatures', () => {
  test('the permit has the signature; events, exports and other replies do not', async () => {
    await using context = await openDesk()
    const quote = await quoteOf(context)
    const request = await signed(quote)
    const reply = await post(context, request)
    const permit = await tradePermit.handle({ id: quote.id }, context, infoOf('admin'))
    assert.ok(permit.is === 'body')
    const { owner, signature, typedData } = permit.body as { owner: string; signature: string; typedData: TypedData }
    assert.deepEqual([owner, signature, typedData], [taker.address, request.signature, quote.typedData])
    const exported = openTable('trades', context.state, { fromMs: 0, untilMs: context.clock.now() + 1 })
    const rows: unknown[] = []
    for await (const batch of exported.batches()) rows.push(...batch.rows)
    assert.equal(rows.length, 1)
    const texts = [
      reply,
      JSON.stringify(await eventsOf(context)),
      JSON.stringify(rows),
      JSON.stringify(await read(context, quote.id)),
    ]
    for (const text of texts) assert.ok(!text.toLowerCase().includes(request.signature.slice(2, 66)))
  })

  test('the doctor finds changed trades', async () => {
    await using context = await openDesk()
    const [{ id }, late, swapped] = [await accept(context), await accept(context), await accept(context)]
    const good = await tradeVerification.run(context, 10)
    assert.deepEqual([good.checked, good.differing], [3, []])
    await context.state.write(async (tx) => {
      await tx.run('update fx_trades set signature = ? where id = ?', new Uint8Array(65).fill(7), id)
      await tx.run('update fx_trades set accepted_ms = accepted_ms + 30000 where id = ?', late.id)
      await tx.run('update fx_trades set address = ? where id = ?', other.address, swapped.id)
    })
    const { differing } = await tradeVerification.run(context, 10)
    assert.equal(differing.length, 3)
    assert.match(differing.join('\n'), /signature is not that of its address/)
    assert.match(differing.join('\n'), /accepted after its quote had expired/)
    assert.match(differing.join('\n'), /response is about another trade or address/)
  })
})

describe('retention', () => {
  test('trades and their quotes are kept, until retention.tradesDays deletes both', async () => {
    await using context = await openDesk({ retention: { quotesDays: 2, tradesDays: 10 } })
    const signal = AbortSignal.timeout(10_000)
    const { id } = await accept(context)
    await quoteOf(context)
    context.clock.advance(9 * 86_400_000)
    assert.deepEqual([await dropTrades(context, signal), await dropQuotes(context, signal)], [0, 1])
    assert.equal((await read(context, id)).id, id)
    context.clock.advance(2 * 86_400_000)
    assert.equal(await dropTrades(context, signal), 0)
    await expireTrades(context, context.clock.now())
    assert.deepEqual([await dropTrades(context, signal), await dropQuotes(context, signal)], [1, 1])
  })
})
