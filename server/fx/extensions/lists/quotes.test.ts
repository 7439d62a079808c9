// Runs on SQLite and on PostgreSQL (test/on-postgres.test.ts).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import { openContext, type TestContext, testNowMs, testRequestInfo } from '#test/context.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { quote } from './quote.ts'
import { quotes } from './quotes.ts'

const infoOf = (keyId: string) => testRequestInfo({ caller: { keyId, plan: 'free' } })
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

async function openPricedContext() {
  const source = { id: 'a', kind: 'push', staleMs: 3_600_000 }
  const context = await openContext({ fx: { spender: `0x${'33'.repeat(20)}`, sources: [source] } })
  const rate = { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: testNowMs }
  await storeRates(context.state, 'a', [rate], testNowMs)
  return context
}

async function create(context: TestContext, keyId: string): Promise<string> {
  const sides = { from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' } }
  const recipientAddress = `0x${'11'.repeat(20)}`
  const input = { ...sides, tenor: 'instant', type: 'tradable', recipientAddress } as const
  const outcome = await createQuote.handle(input, context, infoOf(keyId))
  assert.ok(outcome.is === 'bytes')
  return (parseJson(text(outcome.bytes)) as Quote).id
}

async function list(context: TestContext, keyId: string, limit: number, before?: string) {
  const outcome = await quotes.handle({ limit, ...(before && { before }) }, context, infoOf(keyId))
  assert.ok(outcome.is === 'bytes')
  const page = parseJson(text(outcome.bytes)) as { quotes: Quote[]; next: string | null }
  return { ids: page.quotes.map(({ id }) => id), next: page.next, text: text(outcome.bytes) }
}

describe('200', () => {
  test('200: pages contain every quote of the key once, newest first, also those of the same millisecond', async () => {
    await using context = await openPricedContext()
    const annsIds: string[] = []
    for (let at = 0; at < 7; at++) {
      if (at % 3 === 0) context.clock.advance(1000)
      annsIds.push(await create(context, 'ann'))
      await create(context, 'bob')
    }
    const whole = await list(context, 'ann', 100)
    assert.equal(whole.next, null)
    assert.deepEqual(whole.ids.toSorted(), annsIds.toSorted())
    assert.deepEqual([whole.ids[0], whole.ids.slice(-3).toSorted()], [annsIds[6], annsIds.slice(0, 3).toSorted()])
    for (const limit of [1, 2, 3, 7]) {
      const walked: string[] = []
      let before: string | undefined
      do {
        const page = await list(context, 'ann', limit, before)
        walked.push(...page.ids)
        before = page.next ?? undefined
      } while (before !== undefined)
      assert.deepEqual(walked, whole.ids, `limit ${limit}`)
    }
  })

  test('200: each quote has the bytes of the call that created it', async () => {
    await using context = await openPricedContext()
    const id = await create(context, 'ann')
    const one = await quote.handle({ id }, context, infoOf('ann'))
    assert.ok(one.is === 'bytes')
    assert.equal((await list(context, 'ann', 1)).text, `{"quotes":[${text(one.bytes)}],"next":null}`)
  })

  test('200: a key without quotes, and a cursor of another key or of a deleted quote, return an empty list', async () => {
    await using context = await openPricedContext()
    const id = await create(context, 'ann')
    context.clock.advance(1000)
    const newer = await create(context, 'bob')
    const none = { ids: [], next: null, text: '{"quotes":[],"next":null}' }
    assert.deepEqual(await list(context, 'eve', 5), none)
    assert.deepEqual(await list(context, 'ann', 5, newer), none)
    assert.deepEqual(await list(context, 'ann', 5, id), none)
    assert.deepEqual(await list(context, 'ann', 5, '6f1c0a52-7f6e-4c1a-9b0e-0d8f2f3a4b5c'), none)
  })

  test('200: a page reads an index, whatever the number of quotes of other keys', async () => {
    await using context = await openPricedContext()
    if (context.state.engine !== 'sqlite') return
    const plan = await context.state.all<{ detail: string }>(
      'explain query plan select id, reply from fx_quotes where key_id = ? order by created_ms desc, id desc limit 5',
      'ann',
    )
    assert.deepEqual(
      plan.map(({ detail }) => detail),
      ['SEARCH fx_quotes USING INDEX fx_quotes_by_key (key_id=?)'],
    )
  })
})
