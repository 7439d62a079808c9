import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { createLink } from '#admin/sessions.ts'
import { createClient } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { OverrideList, OverrideView, QuoteList, StoredQuote, TradeList, TradeView } from '#shared/console-calls.ts'
import { createKey } from '#storage/keys.ts'
import { openEmptyServer } from '#test/empty-server.ts'

/** Signs in as the operator. Returns a function that reads a path under /console. */
async function signIn(server: Awaited<ReturnType<typeof openEmptyServer>>) {
  const { token } = await createLink(server.context)
  const headers = { origin: server.url, 'content-type': 'application/json' }
  const session = await fetch(`${server.url}/console/session`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ token }),
  })
  const cookie = (session.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  return (path: string, sentCookie = cookie, body?: object) =>
    fetch(`${server.url}/console/${path}`, {
      headers: { ...headers, cookie: sentCookie },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
}

const fx = { spender: `0x${'33'.repeat(20)}`, sources: [{ id: 'desk', kind: 'push' }] }
let server: Awaited<ReturnType<typeof openEmptyServer>>
before(async () => {
  server = await openEmptyServer({ fx })
})
after(() => server[Symbol.asyncDispose]())

async function openDesk({ url, context: { state, clock, random } }: typeof server) {
  const { id: keyId, key } = await createKey(state, { name: 'test', plan: 'enterprise', admin: true }, clock, random)
  const client = createClient({ baseUrl: url, key })
  await client.fx.setRate({ pair: 'EUR/USD', rate: '1.25' })
  const createQuote = (currency: string, amount: string) =>
    client.fx.createQuote({
      from: { currency, amount },
      ...{ to: { currency: 'EURC' }, tenor: 'hourly', recipientAddress: `0x${'11'.repeat(20)}` },
    })
  return { keyId, client, createQuote }
}

test('the operator lists the quotes of all keys and reads any of them; others do not', async () => {
  const { keyId, createQuote } = await openDesk(server)
  const quote = await createQuote('USDC', '250')
  const get = await signIn(server)
  const list = (await (await get('quotes')).json()) as QuoteList
  const { typedData: _, collateral: __, ...listed } = quote
  assert.deepEqual(list.quotes, [{ ...listed, keyId }])
  assert.equal(list.hasMore, false)
  const stored = (await (await get(`quotes/${quote.id}`)).json()) as StoredQuote
  assert.equal(stored.quote.id, quote.id)
  assert.equal(stored.receipt.receipt.quote.id, quote.id)
  assert.deepEqual(
    await Promise.all(
      [get('quotes?page=0'), get('quotes/nothing'), get('quotes', ''), get(`quotes/${quote.id}`, '')].map(
        async (reply) => (await reply).status,
      ),
    ),
    [400, 404, 401, 401],
  )
})

test('the typed data of a quote keeps integers beyond 2^53', async () => {
  const contract = `0x${'22'.repeat(20)}`
  const tokens = [
    { code: 'USDX', tracks: 'USD', decimals: 18, contract },
    { code: 'EURC', tracks: 'EUR', decimals: 6, contract: `0x${'44'.repeat(20)}` },
  ]
  await using withTokens = await openEmptyServer({ fx: { ...fx, tokens } })
  const { createQuote } = await openDesk(withTokens)
  const quote = await createQuote('USDX', '123456.789012')
  assert.equal(quote.typedData?.message.permitted.amount, 123_456_789_012_000_000_000_000n)
  const get = await signIn(withTokens)
  const stored = parseJson(await (await get(`quotes/${quote.id}`)).text()) as StoredQuote
  assert.deepEqual(stored.quote, quote)
})

test('the operator lists the trades of all keys, without signatures, and reports a settlement', async () => {
  const { keyId, client, createQuote } = await openDesk(server)
  const quote = await createQuote('USDC', '250')
  const taker = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const signature = await client.fx.signQuote(quote, taker)
  const trade = await client.fx.createTrade({ quoteId: quote.id, address: taker.address, signature })
  const call = await signIn(server)
  const text = await (await call('fx/trades?status=accepted')).text()
  assert.deepEqual((JSON.parse(text) as TradeList).trades, [{ ...trade, keyId, reportedBy: null }])
  assert.ok(!text.includes(signature.slice(2, 66)))
  const report = { status: 'settled', settlementTransactionHash: `0x${'ab'.repeat(32)}` }
  const settled = (await (await call(`fx/trades/${trade.id}`, undefined, report)).json()) as TradeView
  assert.deepEqual([settled.status, settled.settlementTransactionHash], ['settled', report.settlementTransactionHash])
  assert.match(settled.reportedBy ?? '', /^console session /)
  assert.deepEqual(await (await call(`fx/trades/${trade.id}`)).json(), settled)
  const wrong = ['fx/trades?status=open', 'fx/trades/none', `fx/trades/${trade.id}`]
  assert.deepEqual(
    await Promise.all(wrong.map(async (path, at) => (await call(path, at === 2 ? '' : undefined)).status)),
    [400, 404, 401],
  )
})

test('the operator pauses and resumes pairs; others do not', async () => {
  const call = await signIn(server)
  const change = (body: object, cookie?: string) => call('fx/overrides', cookie, body)
  assert.equal((await change({ pair: 'all', paused: true }, '')).status, 401)
  const { overrides } = (await (
    await change({ pair: 'EURC/USDC', paused: true, spreadBps: '40' })
  ).json()) as OverrideList
  const [{ changedAt: _, changedBy, ...override } = {} as OverrideView] = overrides
  assert.deepEqual(override, { pair: 'EURC/USDC', paused: true, spreadBps: '40' })
  assert.match(changedBy, /^console session /)
  const wrong = [{ pair: 'EURC/GBPC' }, { pair: 'all', spreadBps: '-1' }, { pair: 'all', other: 1 }]
  assert.deepEqual(await Promise.all(wrong.map(async (body) => (await change(body)).status)), [400, 400, 400])
  await change({ pair: 'EURC/USDC', paused: false, spreadBps: null })
  const list = (await (await call('fx/overrides')).json()) as OverrideList
  assert.deepEqual([list.overrides[0]?.paused, list.overrides[0]?.spreadBps], [false, null])
})
