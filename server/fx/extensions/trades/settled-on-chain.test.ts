// Trades that a node checks: the real Permit2 on a real EVM decides the same.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import type { Trade } from '#api/contract/wire/fx-trades.ts'
import { Fault } from '#core/fault.ts'
import { tradeVerification } from '#operations/verify-fx.ts'
import { systemClock } from '#runtime/clock.ts'
import { openContext, settingsWith, type TestContext, testRequestInfo } from '#test/context.ts'
import { evmMissing, openEvm, type RealEvm } from '#test/real-evm.ts'
import { openSettlement, permit2, type Settlement } from '#test/settlement.ts'
import { createFxCaches } from '../../context.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { createTrade } from './create-trade.ts'
import { reportTrade } from './report-trade.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: trades on a real EVM: ${missing}\n`)

const takerKey = `0x${'42'.repeat(32)}` as const
const taker = privateKeyToAccount(takerKey)
const stranger = privateKeyToAccount(`0x${'43'.repeat(32)}`)
const plenty = 10n ** 24n

describe('trades on a real EVM', { skip: missing !== undefined }, () => {
  let evm: RealEvm
  let chain: Settlement
  let wallet: string
  let fx: object
  let context: TestContext

  before(async () => {
    evm = await openEvm(1)
    chain = await openSettlement(evm, { given: 6, taken: 6 })
    wallet = await chain.deploy('Wallet', taker.address)
    const [operator] = evm.rich
    await evm.request('hardhat_setBalance', taker.address, '0x56bc75e2d63100000')
    for (const owner of [taker.address, wallet, chain.spender])
      await chain.call(operator, 'Token', owner === chain.spender ? chain.taken : chain.given, 'mint', [owner, plenty])
    await chain.call(evm.wallet(takerKey) as never, 'Token', chain.given, 'approve', [permit2, plenty])
    await chain.call(operator, 'Wallet', wallet, 'approve', [chain.given, permit2, plenty])
    const token = (code: string, tracks: string, contract: string) => ({ code, tracks, decimals: 6, contract })
    fx = {
      ...{ chainId: 1, spender: chain.spender, rpcUrl: evm.url, rpcHeadMaxAgeMs: 120_000 },
      tokens: [token('USDC', 'USD', chain.given), token('EURC', 'EUR', chain.taken)],
      sources: [{ id: 'a', kind: 'push', staleMs: 360_000_000 }],
    }
    const { timestamp } = await evm.request<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
    context = await openContext({ fx }, Number(timestamp) * 1000 + 1000)
    const rate = { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: context.clock.now() }
    await storeRates(context.state, 'a', [rate], context.clock.now())
  })
  after(async () => {
    await context?.[Symbol.asyncDispose]()
    await evm?.[Symbol.asyncDispose]()
  })

  /** The node mines at the time of the machine. */
  async function followChain(): Promise<void> {
    const { timestamp } = await evm.request<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
    context.clock.advance(Math.max(0, Number(timestamp) * 1000 - context.clock.now()))
  }

  async function quoteOf(): Promise<Quote & { readonly typedData: TypedData }> {
    await followChain()
    const sides = { from: { currency: 'USDC', amount: '1000' }, to: { currency: 'EURC' } }
    const input = { ...sides, tenor: 'instant', type: 'tradable', recipientAddress: `0x${'11'.repeat(20)}` } as const
    const outcome = await createQuote.handle(input, context, testRequestInfo())
    assert.ok(outcome.is === 'bytes')
    return parseJson(new TextDecoder().decode(outcome.bytes)) as Quote & { typedData: TypedData }
  }

  async function accept(quote: Quote, address: string, account = taker, used: TestContext = context): Promise<string> {
    const signature = await signQuote(quote as never, account)
    const outcome = await createTrade.handle({ quoteId: quote.id, address, signature }, used, testRequestInfo())
    assert.ok(outcome.is === 'bytes')
    return (parseJson(new TextDecoder().decode(outcome.bytes)) as Trade).status
  }

  const report = async (
    id: string,
    status: 'settled' | 'failed',
    settlementTransactionHash: string,
    used: TestContext = withFx({}),
  ) => {
    const outcome = await reportTrade.handle({ id, status, settlementTransactionHash }, used, testRequestInfo())
    assert.ok(outcome.is === 'body', outcome.is)
    return (outcome.body as Trade).status
  }
  const failsWith =
    (code: string, text = /./) =>
    (error: unknown) =>
      error instanceof Fault && error.code === code && text.test(error.publicMessage)
  const withFx = (changes: object): TestContext => ({
    ...context,
    settings: settingsWith({ fx: { ...fx, ...changes } }),
    fx: createFxCaches(context.clock),
    clock: waitingClock(),
  })
  /** Retries wait in real time. */
  const waitingClock = (aheadMs = 0) =>
    ({ ...systemClock, now: () => context.clock.now() + aheadMs }) as unknown as TestContext['clock']

  test('a contract wallet is asked: it accepts its owner and refuses others, as Permit2 does', async () => {
    const [good, bad] = [await quoteOf(), await quoteOf()]
    assert.equal(await accept(good, wallet), 'accepted')
    assert.equal(await chain.settle(good.typedData, wallet, await signQuote(good, taker)), 'settled')
    await assert.rejects(accept(bad, wallet, stranger), failsWith('fx.signature_invalid', /EIP-1271/))
    assert.notEqual(await chain.settle(bad.typedData, wallet, await signQuote(bad, stranger)), 'settled')
  })

  test('an account that is delegated to code is asked too, even if its own key has signed (EIP-7702)', async () => {
    const lent = privateKeyToAccount(`0x${'44'.repeat(32)}`)
    await evm.request('hardhat_setCode', lent.address, `0xef0100${wallet.slice(2)}`)
    await assert.rejects(accept(await quoteOf(), lent.address, lent), failsWith('fx.signature_invalid', /EIP-1271/))
  })

  test('a node that cannot be asked is unavailable, and nothing is accepted or rejected', async () => {
    const quote = await quoteOf()
    const unusable = {
      'no node': { rpcUrl: 'http://127.0.0.1:1/' },
      'another chain': { chainId: 5 },
    }
    for (const [name, changes] of Object.entries(unusable))
      for (const account of [taker, stranger])
        await assert.rejects(
          accept(quote, taker.address, account, withFx(changes)),
          (error) => error instanceof Fault && error.code === 'fx.node_unavailable' && error.status === 503,
          name,
        )
    const stale = { ...withFx({}), clock: waitingClock(121_000) }
    // The quote must not have expired by this clock.
    const later = { ...quote, expiresAt: new Date(context.clock.now() + 600_000).toISOString() }
    await context.state.write((tx) =>
      tx.run('update fx_quotes set reply = ? where id = ?', new TextEncoder().encode(JSON.stringify(later)), quote.id),
    )
    await assert.rejects(accept(quote, taker.address, taker, stale), failsWith('fx.node_unavailable'))
    assert.deepEqual(await context.state.all('select id from fx_trades where id = ?', quote.id), [])
    assert.equal(await accept(quote, taker.address), 'accepted')
  })

  test('a report must agree with the receipt, the token that the signer paid, and the nonce', async () => {
    const [quote, unsettled] = [await quoteOf(), await quoteOf()]
    for (const one of [quote, unsettled]) await accept(one, taker.address)
    const { transaction } = await chain.settleWith(quote.typedData, taker.address, await signQuote(quote, taker))
    const reverted = await chain.revertedTransaction()
    const unknown = `0x${'77'.repeat(32)}`
    const mint = await chain.call(evm.rich[0], 'Token', chain.given, 'mint', [taker.address, 1n])
    await assert.rejects(report(quote.id, 'settled', unknown), failsWith('fx.transaction_mismatch', /receipt/))
    await assert.rejects(report(quote.id, 'settled', reverted), failsWith('fx.transaction_mismatch', /reverted/))
    await assert.rejects(report(quote.id, 'settled', mint.hash), failsWith('fx.transaction_mismatch', /not moved/))
    await assert.rejects(report(quote.id, 'failed', transaction), failsWith('fx.transaction_mismatch', /succeeded/))
    await assert.rejects(report(unsettled.id, 'settled', transaction), failsWith('fx.transaction_mismatch', /nonce/))
    assert.equal(await report(quote.id, 'settled', transaction), 'settled')
    assert.equal(await report(unsettled.id, 'failed', reverted), 'failed')
    const { differing } = await tradeVerification.run(context, 100)
    assert.deepEqual(
      differing.filter((text) => !text.includes('expired')),
      [],
    )
  })

  /** Two settled trades of one owner, each in a block of its own. */
  async function settleTwo() {
    const settleOne = async () => {
      const quote = await quoteOf()
      await accept(quote, taker.address)
      const signature = await signQuote(quote, taker)
      const { result, transaction } = await chain.settleWith(quote.typedData, taker.address, signature)
      assert.equal(result, 'settled')
      return { id: quote.id, transaction }
    }
    return [await settleOne(), await settleOne()] as const
  }

  test('the transaction of another trade of the same owner is refused, in both directions', async () => {
    const [first, second] = await settleTwo()
    const refusal = failsWith('fx.transaction_mismatch', /^Another transaction/)
    await assert.rejects(report(first.id, 'settled', second.transaction), refusal)
    await assert.rejects(report(second.id, 'settled', first.transaction), refusal)
    assert.equal(await report(first.id, 'settled', first.transaction), 'settled')
    assert.equal(await report(second.id, 'settled', second.transaction), 'settled')
  })

  test('a node without the state of the block of the transaction refuses no report that is true', async () => {
    const [first] = await settleTwo()
    await using node = await openPrunedNode(evm)
    assert.equal(await report(first.id, 'settled', first.transaction, withFx({ rpcUrl: node.url })), 'settled')
    assert.equal(node.refused(), 2)
  })
})

/** Has the state of the newest block only. */
async function openPrunedNode(evm: RealEvm) {
  let refused = 0
  const reply = async ({ id, method, params }: { id: unknown; method: string; params: unknown[] }) => {
    const isPast = method === 'eth_call' && params[1] !== (await evm.request('eth_blockNumber'))
    if (isPast) refused++
    return isPast
      ? { jsonrpc: '2.0', id, error: { code: -32000, message: 'missing trie node' } }
      : { jsonrpc: '2.0', id, result: await evm.request(method, ...params) }
  }
  const server = createServer(async (request, response) => {
    const calls = [JSON.parse(await text(request))].flat()
    response.end(JSON.stringify(await Promise.all(calls.map(reply))))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refused: () => refused,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
