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
import { readSettlement } from './settlement.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: contract signers on a real EVM: ${missing}\n`)

const chainId = 1
const owner = privateKeyToAccount(`0x${'42'.repeat(32)}`)
const otherAccount = privateKeyToAccount(`0x${'43'.repeat(32)}`)
const lentKey: Hex = `0x${'44'.repeat(32)}`
const lent = privateKeyToAccount(lentKey)
const plenty = 10n ** 24n
/** The node runs code that never ends up to here, which takes it long if it is busy. */
const gasMax = 200_000

describe('a signer with code', { skip: missing }, () => {
  let evm: RealEvm
  let chain: Settlement
  let context: TestContext
  let wallet: Hex

  before(async () => {
    evm = await openEvm(chainId)
    evm.onCall = (method, params) => calls.push({ method, params })
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
  /** What the node was called with. */
  let calls: { readonly method: string; readonly params: readonly unknown[] }[] = []
  const diagnose = (quote: Quote, signature: string, signer: string) => {
    const input = { signature, signer, signed: undefined }
    // Code without an end takes long on a busy machine.
    const node = { url: evm.url, gasMax, clock: systemClock, timeoutMs: 60_000, reportFailure: assert.fail }
    calls = []
    return examineSignature(quote, input, systemClock, (settlement) => readSettlement(node, settlement))
  }
  const examine = async (quote: Quote, signature: string, signer: string) => {
    const { verdict, findings, chain: chainFindings } = await diagnose(quote, signature, signer)
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

    test('unknown before and after its deployment, with what to deploy; Permit2 settles the inner signature', async () => {
      const [operator] = evm.rich
      const { address, bytecode, wrap } = await planWallet(owner.address)
      const quote = await requestQuote('110')
      const signature = await signQuote(quote, owner)
      const before = await diagnose(quote, wrap(signature), address)
      assert.equal(before.verdict, 'unknown')
      assert.deepEqual(
        before.findings.map(({ field }) => field),
        ['signature'],
      )
      const message = before.findings[0]?.message ?? ''
      assert.ok(message.includes('ERC-6492') && message.includes(address) && message.includes(factory), message)
      assert.deepEqual(
        before.chain.filter(({ name }) => name === 'contract').map(({ ok }) => ok),
        [false],
      )
      await operator.sendTransaction({ to: factory, data: bytecode, gas: 1_000_000n } as never)
      await evm.mine()
      await chain.call(operator, 'Token', chain.given, 'mint', [address, plenty])
      await chain.call(operator, 'Wallet', address, 'approve', [chain.given, permit2, plenty])
      const { signature: _, ...settles } = allOk
      assert.deepEqual(await examine(quote, wrap(signature), address), {
        verdict: 'unknown',
        findings: 1,
        chain: { ...settles, contract: true },
      })
      assert.notEqual(await chain.settle(quote.typedData, address, wrap(signature) as Hex), 'settled')
      assert.deepEqual(await examine(quote, signature, address), { verdict: 'good', findings: 0, chain: allOk })
      assert.equal(await chain.settle(quote.typedData, address, signature), 'settled')
    })

    test('bad if the signature only ends like ERC-6492', async () => {
      const { address } = await planWallet(otherAccount.address)
      const quote = await requestQuote('111')
      const signature = `${await signQuote(quote, otherAccount)}${'6492'.repeat(16)}`
      assert.equal((await examine(quote, signature, address)).verdict, 'bad')
    })

    test('unknown without a node', async () => {
      const { address, wrap } = await planWallet(owner.address)
      const quote = await requestQuote('112')
      const input = { signature: wrap(await signQuote(quote, owner)), signer: address, signed: undefined }
      const { verdict, findings } = await examineSignature(quote, input, systemClock, undefined)
      assert.equal(verdict, 'unknown')
      assert.match(findings[0]?.message ?? '', /ERC-6492/)
    })
  })

  describe('code that never ends', () => {
    /** JUMPDEST, PUSH1 0, JUMP. */
    const endless = '0x5b600056'
    const looper: Hex = `0x${'1e'.repeat(20)}`
    const calldataOf = () =>
      calls.filter(({ method }) => method === 'eth_call').map(({ params: [call] }) => call as Call)
    interface Call {
      readonly to?: string
      readonly data: string
      readonly gas?: string
    }

    test('in a signature of ERC-6492 never reaches the node: 353 bytes through the public CREATE2 deployer', async () => {
      const create2: Hex = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
      await evm.request(
        'hardhat_setCode',
        create2,
        '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3',
      )
      const quote = await requestQuote('120')
      const types = [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }]
      const deployment: Hex = `0x${'00'.repeat(32)}${endless.slice(2)}`
      const content = encodeAbiParameters(types, [create2, deployment, '0x'])
      const { verdict, findings } = await diagnose(quote, `${content}${'6492'.repeat(16)}`, looper)
      assert.equal(verdict, 'unknown')
      assert.ok(findings[0]?.message.includes(create2))
      assert.equal(calldataOf().length, 3)
      for (const { to, data } of calldataOf()) {
        assert.ok([chain.given.toLowerCase(), permit2.toLowerCase()].includes(String(to).toLowerCase()))
        assert.ok(!data.includes(endless.slice(2)))
      }
    })

    test('in the signer ends at the gas limit, which every call has: unknown, with the setting', async () => {
      await evm.request('hardhat_setCode', looper, endless)
      const quote = await requestQuote('121')
      const { verdict, chain: findings } = await diagnose(quote, await signQuote(quote, owner), looper)
      assert.equal(verdict, 'unknown')
      const signatureFinding = findings.find(({ name }) => name === 'signature')
      assert.equal(signatureFinding?.ok, false)
      assert.match(signatureFinding?.message ?? '', /more than 200000 gas .*fx\.rpcGasMax/)
      assert.deepEqual(
        calldataOf().map(({ gas }) => gas),
        Array.from({ length: 4 }, () => `0x${gasMax.toString(16)}`),
      )
      // A failed call is not repeated.
      assert.equal(calldataOf().filter(({ to }) => to === looper).length, 1)
    })
  })
})
