// Signers that are contracts (EIP-1271) and accounts that lend code from one (EIP-7702): what the doctor says of their
// signatures is what the real Permit2 does with them, on a real EVM.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client.ts'
import { parseJson } from '#api/json.ts'
import type { Quote, TypedData } from '#api/wire/fx.ts'
import { systemClock } from '#runtime/clock.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { evmMissing, openEvm, type RealEvm } from '#test/real-evm.ts'
import { openSettlement, permit2, type Settlement } from '#test/settlement.ts'
import { examineSignature } from '../endpoints/check-signature.ts'
import { createQuote } from '../endpoints/create-quote.ts'
import { storeRates } from '../rates/rate-store.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: contract signers on a real EVM: ${missing}\n`)

const chainId = 1
const owner = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const stranger = privateKeyToAccount(`0x${'43'.repeat(32)}`)
const lentKey: Hex = `0x${'44'.repeat(32)}`
const lent = privateKeyToAccount(lentKey)
const plenty = 10n ** 24n

describe('a signer with code', { skip: missing }, () => {
  let evm: RealEvm
  let chain: Settlement
  let context: TestContext
  let wallet: Hex

  before(async () => {
    evm = await openEvm(chainId)
    chain = await openSettlement(evm, { given: 6, taken: 6 })
    const [operator] = evm.rich
    wallet = await chain.deploy('Wallet', owner.address)
    for (const who of [wallet, lent.address]) await chain.call(operator, 'Token', chain.given, 'mint', [who, plenty])
    await chain.call(operator, 'Token', chain.taken, 'mint', [chain.spender, plenty])
    await chain.call(operator, 'Wallet', wallet, 'approve', [chain.given, permit2, plenty])
    const token = (code: string, tracks: string, contract: string) => ({ code, tracks, contract, decimals: 6 })
    const tokens = [token('USDX', 'USD', chain.given), token('EURX', 'EUR', chain.taken)]
    const sources = [{ id: 'a', kind: 'push' }]
    context = await openContext({ fx: { chainId, spender: chain.spender, tokens, sources } }, systemClock.now())
    const rate = { source: 'a', base: 'EUR', quote: 'USD', rate: '1.08', atMs: context.clock.now() }
    await storeRates(context.state, 'a', [rate], context.clock.now())
  })
  after(async () => {
    await context?.[Symbol.asyncDispose]()
    await evm?.[Symbol.asyncDispose]()
  })

  const ask = async (amount: string): Promise<Quote & { typedData: TypedData }> => {
    const outcome = await createQuote.handle(
      {
        ...{ from: { currency: 'USDX', amount }, to: { currency: 'EURX' }, tenor: 'instant', type: 'tradable' },
        recipientAddress: '0x1111111111111111111111111111111111111111',
      },
      context,
      testRequestInfo(),
    )
    assert.ok(outcome.is === 'bytes')
    const quote = parseJson(new TextDecoder().decode(outcome.bytes)) as Quote
    assert.ok(quote.typedData)
    return { ...quote, typedData: quote.typedData }
  }
  const told = async (quote: Quote, signature: string, signer: string) => {
    const {
      verdict,
      findings,
      chain: found,
    } = await examineSignature(quote, { signature, signer, signed: undefined }, evm.url, systemClock)
    return { verdict, findings: findings.length, chain: Object.fromEntries(found.map(({ name, ok }) => [name, ok])) }
  }
  const wellOnChain = { signature: true, balance: true, allowance: true, nonce: true }

  test('a contract that stands by its owner’s signature: good, and Permit2 settles it', async () => {
    const quote = await ask('100')
    const signature = await signQuote(quote, owner)
    assert.deepEqual(await told(quote, signature, wallet), { verdict: 'good', findings: 0, chain: wellOnChain })
    assert.equal(await chain.settle(quote.typedData, wallet, signature), 'settled')
  })

  test('a contract that does not stand by it: bad, and Permit2 refuses it', async () => {
    const quote = await ask('101')
    const signature = await signQuote(quote, stranger)
    const { verdict, findings, chain: found } = await told(quote, signature, wallet)
    assert.deepEqual([verdict, found], ['bad', { ...wellOnChain, signature: false }])
    assert.ok(findings > 0)
    assert.equal(await chain.settle(quote.typedData, wallet, signature), 'InvalidContractSignature()')
  })

  test('a contract that cannot be asked for signatures: bad, and Permit2 does not settle', async () => {
    const quote = await ask('102')
    const signature = await signQuote(quote, owner)
    const { verdict, chain: found } = await told(quote, signature, chain.taken)
    assert.deepEqual([verdict, found.signature], ['bad', false])
    assert.notEqual(await chain.settle(quote.typedData, chain.taken, signature), 'settled')
  })

  test('an account that lends a contract’s code is asked like a contract: its own key counts only if that code says so', async () => {
    await evm.request('hardhat_setBalance', lent.address, '0x56bc75e2d63100000')
    await chain.call(evm.wallet(lentKey) as never, 'Token', chain.given, 'approve', [permit2, plenty])
    const own = await chain.deploy('Wallet', lent.address)
    for (const [delegate, amount, verdict, outcome] of [
      [own, '103', 'good', 'settled'],
      [wallet, '104', 'bad', 'InvalidContractSignature()'],
    ] as const) {
      await evm.request('hardhat_setCode', lent.address, `0xef0100${delegate.slice(2)}`)
      const quote = await ask(amount)
      const signature = await signQuote(quote, lent)
      const found = await told(quote, signature, lent.address)
      assert.deepEqual([found.verdict, found.chain.signature], [verdict, verdict === 'good'])
      assert.equal(await chain.settle(quote.typedData, lent.address, signature), outcome)
    }
  })
})
