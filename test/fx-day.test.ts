// A weekend of an FX desk on two servers: nine providers of rates, tiers, a pause, closed hours, takers with keys and with
// contract wallets, a killed server, a failover of PostgreSQL, and settlement on a real EVM. What a server has acknowledged
// is there once, and the chain, the trades and the events agree.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createPublicClient, getAddress, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import type { Trade, TradeStatus } from '#api/contract/wire/fx-trades.ts'
import { changeOverride } from '#fx/pricing/overrides.ts'
import { quotePriceVerification, tradeVerification } from '#operations/verify-fx.ts'
import { systemRandom } from '#runtime/random.ts'
import { settingsWith } from './context.ts'
import { type FxDay, market, oandaToken, openFxDay } from './fx-day.ts'
import { noPostgres } from './postgres.ts'
import { compile, evmMissing, openEvm, type RealEvm } from './real-evm.ts'
import { openSettlement, permit2 } from './settlement.ts'
import { waitUntil } from './wait-until.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: the day of an FX desk: ${missing}\n`)

const takerKey = `0x${'42'.repeat(32)}` as const
const taker = privateKeyToAccount(takerKey)
const stranger = privateKeyToAccount(`0x${'43'.repeat(32)}`)
const recipient = `0x${'11'.repeat(20)}`
const treasury = `0x${'99'.repeat(20)}`
const plenty = 10n ** 24n
const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** The next Friday at 14:00 in New York, if that is in winter; in summer an hour later. */
function nextFriday(): number {
  const date = new Date(Date.now() + 24 * hourMs)
  date.setUTCHours(19, 0, 0, 0)
  while (date.getUTCDay() !== 5) date.setTime(date.getTime() + 24 * hourMs)
  return date.getTime()
}

const source = readFileSync(join(import.meta.dirname, '../examples/settlement/Settlement.sol'), 'utf8')

/** Tokens, Permit2, the settlement contract of the examples, and a contract wallet of the taker. */
async function openChain(evm: RealEvm) {
  const chain = await openSettlement(evm, { given: 6, taken: 6 })
  const [operator] = evm.rich
  const { abi = [], bytecode = '0x' as Hex } = (await compile(source)).Settlement ?? {}
  const args = [permit2, treasury, [operator.account.address]]
  const hash = await operator.deployContract({ abi, bytecode, args })
  await evm.mine()
  const reader = createPublicClient({ transport: http(evm.url) })
  const spender = getAddress((await reader.getTransactionReceipt({ hash })).contractAddress ?? '')
  const yen = await chain.deploy('Token', 6)
  const wallet = await chain.deploy('Wallet', taker.address)
  await evm.request('hardhat_setBalance', taker.address, '0x56bc75e2d63100000')
  const [usdc, eurc] = [chain.given, chain.taken]
  for (const token of [usdc, eurc, yen])
    for (const owner of [taker.address, wallet, spender])
      await chain.call(operator, 'Token', token, 'mint', [owner, plenty])
  for (const token of [usdc, eurc]) {
    await chain.call(evm.wallet(takerKey) as never, 'Token', token, 'approve', [permit2, plenty])
    await chain.call(operator, 'Wallet', wallet, 'approve', [token, permit2, plenty])
  }
  return { chain, spender, usdc, eurc, yen, wallet }
}

type TradableQuote = Quote & { readonly typedData: TypedData }

interface Acceptance {
  readonly quote: TradableQuote
  readonly request: { readonly quoteId: string; readonly address: string; readonly signature: string }
}

/** What the takers do, and what they were told. */
class Takers {
  readonly quotes = new Map<string, TradableQuote>()
  readonly accepted = new Map<string, Acceptance & { readonly reply: string }>()
  readonly #day: FxDay
  readonly #evm: RealEvm
  readonly #wallet: string
  #orders = 0

  constructor(day: FxDay, evm: RealEvm, wallet: string) {
    this.#day = day
    this.#evm = evm
    this.#wallet = wallet
  }

  /** The same order again gets the same quote. Undefined: it was refused. */
  async quote(
    from: string,
    to: string,
    amount: string,
    order = `order-${++this.#orders}`,
    first = this.#orders,
  ): Promise<TradableQuote | undefined> {
    const sides = { from: { currency: from, amount }, to: { currency: to } }
    const body = { ...sides, tenor: 'instant', type: 'tradable', recipientAddress: recipient }
    const { status, text } = await this.#day.ask('quotes', body, { 'idempotency-key': order }, first)
    if (status === 503) return undefined
    assert.equal(status, 200, text)
    const quote = parseJson(text) as TradableQuote
    this.quotes.set(quote.id, quote)
    return quote
  }

  /** The takers are a key and a contract wallet with the same owner. */
  async sign(quote: TradableQuote, isWallet: boolean): Promise<Acceptance> {
    const signature = await signQuote(quote, taker)
    return { quote, request: { quoteId: quote.id, address: isWallet ? this.#wallet : taker.address, signature } }
  }

  /** Asks until there is a reply, as a client does whose connection breaks. */
  async accept(acceptance: Acceptance, first = 0): Promise<void> {
    const { status, text } = await this.#day.ask('trades', acceptance.request, {}, first)
    assert.equal(status, 200, text)
    this.accepted.set(acceptance.quote.id, { ...acceptance, reply: text })
  }

  /** Signs all first, so that the requests follow one another without a pause. */
  async acceptAll(quotes: readonly TradableQuote[], meanwhile = async () => {}): Promise<void> {
    await this.#evm.mine()
    const signed = await Promise.all(quotes.map((quote, at) => this.sign(quote, at % 4 === 3)))
    await Promise.all([meanwhile(), ...signed.map((acceptance, at) => this.accept(acceptance, at))])
  }
}

const tokenOf = (code: string, tracks: string, contract: string) => ({ code, tracks, decimals: 6, contract })
const units = (text: string): bigint => {
  const [whole = '', behind = ''] = text.split('.')
  return BigInt(whole + behind.padEnd(6, '0'))
}

/** Every quote is for one of these, in turn. The second one is of the larger tier. */
const orders = [
  ['EURC', 'USDC', '1000'],
  ['EURC', 'USDC', '150000'],
  ['USDC', 'EURC', '2500'],
  ['USDC', 'JPYC', '800'],
] as const

test('a weekend of a desk', { skip: noPostgres || missing !== undefined }, async () => {
  const friday = nextFriday()
  await using evm = await openEvm(1)
  await evm.request('evm_setNextBlockTimestamp', Math.floor(friday / 1000) - 600)
  const { chain, spender, usdc, eurc, yen, wallet } = await openChain(evm)
  const fx = {
    spender,
    tokens: [tokenOf('USDC', 'USD', usdc), tokenOf('EURC', 'EUR', eurc), tokenOf('JPYC', 'JPY', yen)],
    // A failover takes longer than the default on a busy machine.
    expirySeconds: { tradable: 300 },
    terms: { instant: { spreadBps: 10, feeBps: 2 } },
    rules: [
      { id: 'large', pairs: ['EURC/USDC'], minSize: '100000', spreadBps: 8 },
      { id: 'weekend', pairs: ['EURC/USDC'], when: market, spreadBps: 50 },
      { id: 'short-yen', pairs: ['USDC/JPYC'], skewBps: 10 },
    ],
  }
  await using day = await openFxDay(evm, fx, friday)
  const takers = new Takers(day, evm, wallet)
  const settled = new Map<string, string>()

  /** Until `count` more are stored. Orders of pairs that are stopped are refused. */
  const quoteMany = async (count: number): Promise<readonly TradableQuote[]> => {
    const found = await Promise.all(
      Array.from({ length: count }, (_, at) => takers.quote(...(orders[at % orders.length] as (typeof orders)[0]))),
    )
    return found.filter((quote) => quote !== undefined)
  }
  const onlyWith = (quotes: readonly TradableQuote[], currency: string, count: number) =>
    quotes.filter(({ from, to }) => [from.currency, to.currency].includes(currency)).slice(0, count)
  const ratesOf = (quotes: readonly TradableQuote[], [from, to, amount]: (typeof orders)[number]) => [
    ...new Set(
      quotes
        .filter(
          (one) => one.from.currency === from && one.to.currency === to && Number(one.from.amount) === Number(amount),
        )
        .map(({ rate }) => Number(rate)),
    ),
  ]
  const report = async (id: string, status: 'settled' | 'failed', settlementTransactionHash: string, first = 0) =>
    day.ask(`trades/${id}/report`, { status, settlementTransactionHash }, {}, first)
  const settle = async (ids: readonly string[]) => {
    for (const [at, id] of ids.entries()) {
      const { quote, request } = takers.accepted.get(id) as Acceptance
      const permit = await day.ask(`trades/${id}/permit`)
      assert.equal(JSON.parse(permit.text).signature, request.signature)
      const { result, transaction } = await chain.settleWith(
        quote.typedData,
        request.address,
        request.signature,
        spender,
      )
      assert.equal(result, 'settled')
      const { status, text } = await report(id, 'settled', transaction, at)
      assert.deepEqual([status, JSON.parse(text).status], [200, 'settled'], text)
      settled.set(id, transaction)
    }
  }
  const statusOf = async (id: string): Promise<TradeStatus> =>
    (JSON.parse((await day.ask(`trades/${id}`)).text) as Trade).status

  // Friday, 14:00: tiers and skew. 1.0842 × 0.999 and × 0.9992. USD/JPY is the
  // harmonic mean of 151.36 and 151.37, × 1.001 × 0.999.
  const morning = await quoteMany(100)
  assert.equal(morning.length, 100)
  assert.deepEqual(ratesOf(morning, orders[0]), [1.0831158])
  assert.deepEqual(ratesOf(morning, orders[1]), [1.08333264])
  assert.deepEqual(ratesOf(morning, orders[3]), [151.364848469836])
  await takers.acceptAll(onlyWith(morning, 'EURC', 20))

  // A pause while quotes are under way: none of the pair commits after it, others continue.
  const setPause = (paused: boolean) =>
    changeOverride({ ...day, settings: settingsWith({ fx }) }, { pair: 'EURC/USDC', paused }, 'desk')
  const [duringPause] = await Promise.all([quoteMany(60), setPause(true)])
  assert.equal(await takers.quote('EURC', 'USDC', '1000', 'paused-1'), undefined)
  assert.equal(await takers.quote('USDC', 'EURC', '1000', 'paused-2'), undefined)
  assert.ok(await takers.quote('USDC', 'JPYC', '1000'))
  const late = await day.state.get<{ n: number }>(
    `select count(*) as n from fx_quotes q, fx_overrides o
     where q.priced_from like '%EURC%' and pg_xact_commit_timestamp(q.xmin) > pg_xact_commit_timestamp(o.xmin)`,
  )
  assert.deepEqual(late, { n: 0 })
  await setPause(false)
  for (const server of [0, 1])
    await waitUntil(async () => (await takers.quote('EURC', 'USDC', '1000', `resumed-${server}`, server)) !== undefined)
  assert.ok(duringPause.length >= 15)

  // A server is killed at a commit, while both accept quotes. The other one reads the rates from then on.
  const noon = onlyWith(await quoteMany(60), 'EURC', 20)
  await takers.acceptAll(noon, async () => {
    await day.one.host.call('killAtCommit', { point: 12 }).catch(() => {})
    await day.one.host.exited
  })
  await day.moveTo(friday + 5 * minuteMs)
  assert.equal((await quoteMany(8)).length, 8)
  await day.start(day.one)
  await day.untilRead()

  // PostgreSQL fails over to its standby, while both accept quotes.
  const afternoon = onlyWith(await quoteMany(60), 'EURC', 20)
  await takers.acceptAll(afternoon, () => day.failOver())
  await day.untilRead()
  const evening = await quoteMany(300 - takers.quotes.size)
  assert.equal(takers.quotes.size, 300)

  // Some are settled. One fails first, because its transaction was reverted.
  const friday60 = [...takers.accepted.keys()]
  assert.equal(friday60.length, 60)
  const [retried = ''] = friday60
  assert.equal((await report(retried, 'settled', `0x${'77'.repeat(32)}`)).status, 400)
  assert.equal(JSON.parse((await report(retried, 'failed', await chain.revertedTransaction())).text).status, 'failed')
  await settle([...friday60.slice(0, 4), ...friday60.slice(20, 24), ...friday60.slice(40, 44)])
  assert.equal((await report(retried, 'failed', await chain.revertedTransaction())).status, 409)

  // A quote that has expired is not accepted, and a trade without a report expires at its maturity.
  const [unused] = evening
  assert.ok(unused)
  const tooLate = (await takers.sign(unused, false)).request
  await day.untilDelivered()
  await day.moveTo(friday + 15 * minuteMs)
  assert.equal((await day.ask('trades', tooLate)).status, 410)
  assert.equal(await statusOf(friday60[5] as string), 'accepted')
  await day.moveTo(friday + 2 * hourMs)
  assert.equal(await statusOf(friday60[5] as string), 'expired')
  assert.equal(await statusOf(retried), 'settled')

  // Saturday: rates of Friday, 50 basis points for the pair that has a rule. The other one has no tradable quotes.
  day.close(friday + 3 * hourMs - 1000)
  await day.untilDelivered()
  await day.moveTo(friday + 22 * hourMs)
  const weekend = await quoteMany(100)
  assert.equal(weekend.length, 75)
  assert.deepEqual(ratesOf(weekend, orders[0]), [1.078779])
  assert.deepEqual(ratesOf(weekend, orders[1]), [1.078779])
  await takers.acceptAll(onlyWith(weekend, 'EURC', 20))
  await settle([...takers.accepted.keys()].slice(60, 62))

  // Sunday evening.
  day.close(undefined)
  await day.untilDelivered()
  await day.moveTo(friday + 54 * hourMs)
  const sunday = await quoteMany(500 - takers.quotes.size)
  assert.deepEqual(ratesOf(sunday, orders[0]), [1.0831158])
  await takers.acceptAll(onlyWith(sunday, 'EURC', 20))
  await settle([...takers.accepted.keys()].slice(80, 82))

  // Nothing is lost or double, on either server.
  assert.deepEqual([takers.quotes.size, takers.accepted.size, settled.size], [500, 100, 16])
  const ids = async (table: string) =>
    (await day.state.all<{ id: string }>(`select id from ${table}`)).map(({ id }) => id).sort()
  assert.deepEqual(await ids('fx_quotes'), [...takers.quotes.keys()].sort())
  assert.deepEqual(await ids('fx_trades'), [...takers.accepted.keys()].sort())
  for (const server of [day.one, day.two])
    for (const { request, reply, quote } of takers.accepted.values()) {
      assert.deepEqual(await day.send(server, 'trades', request), { status: 200, text: reply })
      const stored = (await day.send(server, `trades/${quote.id}`))?.text ?? ''
      const expected = settled.has(quote.id) ? 'settled' : sunday.includes(quote) ? 'accepted' : 'expired'
      assert.equal(JSON.parse(stored).status, expected)
    }
  const [first] = takers.accepted.values()
  assert.ok(first)
  const other = { ...first.request, signature: await signQuote(first.quote, stranger) }
  assert.equal((await day.ask('trades', other)).status, 409)

  // The chain agrees: what takers have paid, and what the recipient got.
  for (const token of [usdc, eurc]) {
    const parts = [...settled.keys()].map((id) => takers.accepted.get(id)?.quote as TradableQuote)
    const code = token === usdc ? 'USDC' : 'EURC'
    const paid = parts.filter(({ from }) => from.currency === code).map(({ from }) => units(from.amount))
    const got = parts.filter(({ to }) => to.currency === code).map(({ to, fee }) => units(to.amount) - units(fee))
    assert.equal(
      await chain.balanceOf(token, treasury),
      paid.reduce((sum, one) => sum + one, 0n),
    )
    assert.equal(
      await chain.balanceOf(token, recipient),
      got.reduce((sum, one) => sum + one, 0n),
    )
  }

  // Every event once: a repeated delivery has the id of the first one.
  const expected = [...takers.accepted.values()].flatMap(({ quote }) => [
    `trade_accepted ${quote.id}`,
    ...(quote.id === retried ? [`trade_failed ${quote.id}`] : []),
    ...(settled.has(quote.id) ? [`trade_settled ${quote.id}`] : []),
    ...(settled.has(quote.id) || sunday.includes(quote) ? [] : [`trade_expired ${quote.id}`]),
  ])
  const isStored = async () =>
    (await day.state.get<{ n: number }>('select count(*) as n from fx_deliveries'))?.n === expected.length
  await waitUntil(isStored)
  await day.untilDelivered()
  const delivered = new Map(day.events.map(({ id, event, trade }) => [id, `${event} ${trade.id}`]))
  assert.deepEqual([...delivered.values()].sort(), expected.sort())

  // The doctor recomputes every quote, with its rules, and every trade.
  const context = { state: day.state, random: systemRandom } as never
  const [quotes, trades] = [await quotePriceVerification.run(context, 1000), await tradeVerification.run(context, 1000)]
  assert.deepEqual([quotes.checked, quotes.differing, trades.checked, trades.differing], [500, [], 100, []])

  // Secrets are not in the logs.
  const log = readFileSync(day.logFile, 'utf8')
  assert.ok(log.includes('trade reported'))
  assert.ok(!log.includes(oandaToken))
  for (const { request } of takers.accepted.values()) assert.ok(!log.includes(request.signature.slice(2, 66)))
  assert.equal(day.requests.size, 9)
})
