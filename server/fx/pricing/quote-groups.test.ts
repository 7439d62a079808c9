// Concurrent quotes that are stored in one transaction.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { openContext, type TestContext, testNowMs } from '#test/context.ts'
import { countStatements } from '#test/count-statements.ts'
import { getReceiptSigner, rotateReceiptKey } from '../receipts/receipt-key.ts'
import { type NewQuote, type Replay, readQuote, storeQuote } from './quotes.ts'

type Change = Partial<NewQuote>

async function quoteOf(context: TestContext, change: Change = {}): Promise<NewQuote> {
  const id = context.random.uuid()
  return {
    ...{ id, keyId: 'caller', createdMs: testNowMs, asOfMs: testNowMs, nonce: null, pricedFrom: '{}' },
    ...{ receiptKey: (await getReceiptSigner(context)).id, receiptSignature: new Uint8Array(64) },
    ...{ reply: new TextEncoder().encode(id), overrides: 0, ...change },
  }
}

const replayOf = (idempotencyKey: string, bodyHash = 'same'): Replay => ({
  ...{ keyId: 'caller', idempotencyKey, bodyHash, nowMs: testNowMs },
})
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const store = async (context: TestContext, quotes: readonly (readonly [NewQuote, (Replay | undefined)?])[]) =>
  Promise.allSettled(
    quotes.map(async ([quote, replay]) => text((await storeQuote(context.state, async () => quote, replay)).reply)),
  )

test('a group of quotes takes one statement, with idempotency keys two', async () => {
  await using context = await openContext()
  const { state, counts } = countStatements(context.state)
  const quotes = await Promise.all(Array.from({ length: 40 }, () => quoteOf(context)))
  await store(
    { ...context, state },
    quotes.map((quote) => [quote] as const),
  )
  assert.deepEqual([counts.transactions, counts.statements], [1, 1])
  const more = await Promise.all(Array.from({ length: 40 }, () => quoteOf(context)))
  await store(
    { ...context, state },
    more.map((quote, at) => [quote, replayOf(String(at))] as const),
  )
  assert.deepEqual([counts.transactions, counts.statements], [2, 3])
  for (const { id } of [...quotes, ...more])
    assert.equal(text((await readQuote(state, id))?.reply ?? new Uint8Array()), id)
})

test('in one group, a taken key returns its response, another body is refused, and the rest is stored', async () => {
  await using context = await openContext()
  const first = await quoteOf(context)
  await store(context, [[first, replayOf('old')]])
  const quotes = await Promise.all(Array.from({ length: 6 }, () => quoteOf(context)))
  const keys = [
    ...[undefined, replayOf('old'), replayOf('old', 'other'), replayOf('new')],
    ...[replayOf('new'), replayOf('new', 'other')],
  ]
  const results = await store(
    context,
    quotes.map((quote, at) => [quote, keys[at]] as const),
  )
  const outcomes = results.map((result) =>
    result.status === 'fulfilled' ? result.value : result.reason instanceof Fault && result.reason.code,
  )
  const refused = 'fx.idempotency'
  assert.deepEqual(outcomes, [quotes[0]?.id, first.id, refused, quotes[3]?.id, quotes[3]?.id, refused])
  assert.deepEqual(await context.state.get('select count(*) as n from fx_quotes'), { n: 3 })
})

test('in one group, a quote with a taken nonce or a retired key is built again; its key stays free meanwhile', async () => {
  await using context = await openContext()
  const retired = await getReceiptSigner(context)
  await rotateReceiptKey(context)
  await store(context, [[await quoteOf(context, { nonce: 7 })]])
  const changes: Change[] = [{ nonce: 7 }, { receiptKey: retired.id }, { nonce: 8 }, { nonce: 8 }, {}]
  const built: number[] = changes.map(() => 0)
  const replies = await Promise.all(
    changes.map((change, at) =>
      storeQuote(
        context.state,
        (attempt) => {
          built[at] = (built[at] ?? 0) + 1
          return quoteOf(context, attempt === 0 ? change : {})
        },
        replayOf(`key ${at}`),
      ),
    ),
  )
  const [taken, retiredKey, one, other, alone] = built
  assert.deepEqual([taken, retiredKey, alone], [2, 2, 1])
  // Of the two with the same nonce, whichever came first is stored.
  assert.deepEqual([one, other].toSorted(), [1, 2])
  assert.equal(new Set(replies.map(({ reply }) => text(reply))).size, 5)
  assert.deepEqual(await context.state.get('select count(*) as n from fx_idempotency'), { n: 5 })
  assert.deepEqual(
    await context.state.all('select quote_id from fx_idempotency where quote_id not in (select id from fx_quotes)'),
    [],
  )
})
