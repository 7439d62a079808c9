// Signers that are contracts (EIP-1271) or delegated accounts (EIP-7702): the signature check must agree with the real
// Permit2 on a real EVM.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encodeAbiParameters, getContractAddress, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import { systemClock } from '#runtime/clock.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { evmMissing, openEvm, type RealEvm } from '#test/real-evm.ts'
import { openSettlement, permit2, type Settlement } from '#test/settlement.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { examineSignature } from './check-signature.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: contract signers on a real EVM: ${missing}\n`)

const chainId = 1
const owner = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const otherAccount = privateKeyToAccount(`0x${'43'.repeat(32)}`)
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

  const requestQuote = async (amount: string): Promise<Quote & { typedData: TypedData }> => {
    const outcome = await createQuote.handle(
      {
        from: { currency: 'USDX', amount },
        to: { currency: 'EURX' },
        tenor: 'instant',
        type: 'tradable',
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
  const examine = async (quote: Quote, signature: string, signer: string) => {
    const input = { signature, signer, signed: undefined }
    const diagnosis = await examineSignature(quote, input, evm.url, systemClock)
    const { verdict, findings, chain: chainFindings } = diagnosis
    return {
      verdict,
      findings: findings.length,
      chain: Object.fromEntries(chainFindings.map(({ name, ok }) => [name, ok])),
    }
  }
  const allOk = { signature: true, balance: true, allowance: true, nonce: true }

  test('a contract that accepts its owner’s signature: good, and Permit2 settles it', async () => {
    const quote = await requestQuote('100')
    const signature = await signQuote(quote, owner)
    assert.deepEqual(await examine(quote, signature, wallet), { verdict: 'good', findings: 0, chain: allOk })
    assert.equal(await chain.settle(quote.typedData, wallet, signature), 'settled')
  })

  test('a contract that rejects the signature: bad, and Permit2 refuses it', async () => {
    const quote = await requestQuote('101')
    const signature = await signQuote(quote, otherAccount)
    const { verdict, findings, chain: onChain } = await examine(quote, signature, wallet)
    assert.deepEqual([verdict, onChain], ['bad', { ...allOk, signature: false }])
    assert.ok(findings > 0)
    assert.equal(await chain.settle(quote.typedData, wallet, signature), 'InvalidContractSignature()')
  })

  test('a contract without isValidSignature: bad, and Permit2 does not settle', async () => {
    const quote = await requestQuote('102')
    const signature = await signQuote(quote, owner)
    const { verdict, chain: onChain } = await examine(quote, signature, chain.taken)
    assert.deepEqual([verdict, onChain.signature], ['bad', false])
    assert.notEqual(await chain.settle(quote.typedData, chain.taken, signature), 'settled')
  })

  test('a delegated account (EIP-7702) is checked like a contract: its key counts only if its code accepts it', async () => {
    await evm.request('hardhat_setBalance', lent.address, '0x56bc75e2d63100000')
    await chain.call(evm.wallet(lentKey) as never, 'Token', chain.given, 'approve', [permit2, plenty])
    const delegateOfLent = await chain.deploy('Wallet', lent.address)
    for (const [delegate, amount, verdict, outcome] of [
      [delegateOfLent, '103', 'good', 'settled'],
      [wallet, '104', 'bad', 'InvalidContractSignature()'],
    ] as const) {
      await evm.request('hardhat_setCode', lent.address, `0xef0100${delegate.slice(2)}`)
      const quote = await requestQuote(amount)
      const signature = await signQuote(quote, lent)
      const diagnosis = await examine(quote, signature, lent.address)
      assert.deepEqual([diagnosis.verdict, diagnosis.chain.signature], [verdict, verdict === 'good'])
      assert.equal(await chain.settle(quote.typedData, lent.address, signature), outcome)
    }
  })

  describe('a wallet that is not deployed yet (ERC-6492)', () => {
    /** Deploys its calldata with CREATE2 and the salt 0. */
    const factoryCode = '0x36600060003760003660006000f560005260206000f3'
    const factory: Hex = `0x${'fa'.repeat(20)}`

    async function planWallet(by: Hex) {
      await evm.request('hardhat_setCode', factory, factoryCode)
      const bytecode = chain.initCode('Wallet', by)
      const address = getContractAddress({ opcode: 'CREATE2', from: factory, salt: `0x${'00'.repeat(32)}`, bytecode })
      const types = [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }]
      const wrap = (signature: string) =>
        `${encodeAbiParameters(types, [factory, bytecode, signature as Hex])}${'6492'.repeat(16)}`
      return { address, bytecode, wrap }
    }

    test('good before and after its deployment, and Permit2 settles the inner signature', async () => {
      const [operator] = evm.rich
      const { address, bytecode, wrap } = await planWallet(owner.address)
      const quote = await requestQuote('110')
      const signature = await signQuote(quote, owner)
      assert.deepEqual(await examine(quote, wrap(signature), address), {
        verdict: 'good',
        findings: 0,
        chain: { signature: true, contract: false, balance: false, allowance: false, nonce: true },
      })
      assert.equal(await evm.request('eth_getCode', address, 'latest'), '0x', 'nothing was deployed')
      await operator.sendTransaction({ to: factory, data: bytecode, gas: 1_000_000n } as never)
      await evm.mine()
      await chain.call(operator, 'Token', chain.given, 'mint', [address, plenty])
      await chain.call(operator, 'Wallet', address, 'approve', [chain.given, permit2, plenty])
      const deployed = await examine(quote, wrap(signature), address)
      assert.deepEqual([deployed.verdict, deployed.chain], ['good', { ...allOk, contract: true }])
      assert.notEqual(await chain.settle(quote.typedData, address, wrap(signature) as Hex), 'settled')
      assert.equal(await chain.settle(quote.typedData, address, signature), 'settled')
    })

    test('bad: another key, another wallet, another form, or no deployment', async () => {
      const { address, wrap } = await planWallet(otherAccount.address)
      const quote = await requestQuote('111')
      const verdictOf = async (signature: string, signer: string) => {
        const { verdict, chain: onChain } = await examine(quote, signature, signer)
        return [verdict, onChain.signature]
      }
      const [right, wrong] = [await signQuote(quote, otherAccount), await signQuote(quote, owner)]
      assert.deepEqual(await verdictOf(wrap(right), address), ['good', true])
      assert.deepEqual(await verdictOf(wrap(wrong), address), ['bad', false])
      assert.deepEqual(await verdictOf(wrap(right), lent.address), ['bad', false])
      assert.deepEqual(await verdictOf(`${right}${'6492'.repeat(16)}`, address), ['bad', false])
      await evm.request('hardhat_setCode', factory, '0x60006000fd')
      assert.deepEqual(await verdictOf(wrap(right), address), ['bad', false])
    })

    test('unknown without a node', async () => {
      const { address, wrap } = await planWallet(owner.address)
      const quote = await requestQuote('112')
      const input = { signature: wrap(await signQuote(quote, owner)), signer: address, signed: undefined }
      const { verdict, findings } = await examineSignature(quote, input, '', systemClock)
      assert.equal(verdict, 'unknown')
      assert.match(findings[0]?.message ?? '', /ERC-6492/)
    })
  })
})
