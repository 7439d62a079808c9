// Proves that the typed data is correct: quotes signed with three libraries are settled by the real Permit2 on a real EVM.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { SignTypedDataVersion, signTypedData } from '@metamask/eth-sig-util'
import { Wallet } from 'ethers'
import { createWalletClient, custom, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { signQuote } from '#api/client/client.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import type { SignatureDiagnosis } from '#api/contract/wire/fx-signature-check.ts'
import { systemClock } from '#runtime/clock.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { evmMissing, openEvm, type RealEvm } from '#test/real-evm.ts'
import { openSettlement, permit2, type Settlement } from '#test/settlement.ts'
import { createQuote } from '../../endpoints/create-quote.ts'
import { storeRates } from '../../rates/rate-store.ts'
import { checkSignature } from './check-signature.ts'
import { hashTypedData } from './hash-typed-data.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: settlement by the real Permit2: ${missing}\n`)

/** Not the chain the shipped code was built for, because there it has a cached domain of another address. */
const chainId = 1
const takerKey: Hex = `0x${'42'.repeat(32)}`
const taker = privateKeyToAccount(takerKey)
const recipient = '0x1111111111111111111111111111111111111111'
const wholeMax = 2n ** 255n

const signers: Record<string, (quote: Quote) => Promise<string>> = {
  'a viem account': (quote) => signQuote(quote, taker),
  'a viem wallet client': (quote) => {
    const client = createWalletClient({ account: taker, transport: custom({ request: async () => chainId }) })
    return signQuote(quote, client)
  },
  'an ethers wallet': (quote) => signQuote(quote, new Wallet(takerKey)),
  'eth-sig-util': async ({ typedData }) =>
    signTypedData({
      privateKey: Buffer.from(takerKey.slice(2), 'hex'),
      data: typedData as never,
      version: SignTypedDataVersion.V4,
    }),
}

for (const decimals of [
  { given: 6, taken: 6 },
  { given: 18, taken: 18 },
]) {
  describe(`tokens of ${decimals.given} decimals`, { skip: missing }, () => {
    let evm: RealEvm
    let chain: Settlement
    let context: TestContext
    let amount = 1000

    before(async () => {
      evm = await openEvm(chainId)
      chain = await openSettlement(evm, decimals)
      const [operator] = evm.rich
      await evm.request('hardhat_setBalance', taker.address, '0x56bc75e2d63100000')
      await chain.call(operator, 'Token', chain.given, 'mint', [taker.address, 10n ** 30n])
      await chain.call(operator, 'Token', chain.taken, 'mint', [chain.spender, 10n ** 30n])
      await chain.call(evm.wallet(takerKey) as never, 'Token', chain.given, 'approve', [permit2, wholeMax])
      const token = (code: string, tracks: string, contract: string, places: number) => ({
        code,
        tracks,
        contract,
        decimals: places,
      })
      const sources = [
        { id: 'a', kind: 'http-json', url: 'https://rates.example/', staleMs: 2_592_000_000 },
        { id: 'b', kind: 'push', staleMs: 2_592_000_000 },
      ]
      const tokens = [
        token('USDX', 'USD', chain.given, decimals.given),
        token('EURX', 'EUR', chain.taken, decimals.taken),
      ]
      const terms = { daily: { collateralBps: 1000 } }
      const fx = { chainId, spender: chain.spender, tokens, sources, rpcUrl: evm.url, terms }
      context = await openContext({ fx }, systemClock.now())
      const rate = (source: string, text: string) =>
        storeRates(
          context.state,
          source,
          [{ source, base: 'EUR', quote: 'USD', rate: text, atMs: context.clock.now() }],
          context.clock.now(),
        )
      await Promise.all([rate('a', '1.0841'), rate('b', '1.0843')])
    })
    after(async () => {
      await context?.[Symbol.asyncDispose]()
      await evm?.[Symbol.asyncDispose]()
    })

    const ask = async (tenor: 'instant' | 'daily' = 'instant'): Promise<Quote & { typedData: TypedData }> => {
      amount += 1
      const outcome = await createQuote.handle(
        {
          from: { currency: 'USDX', amount: `${amount}.654321` },
          to: { currency: 'EURX' },
          tenor,
          type: 'tradable',
          recipientAddress: recipient,
        },
        context,
        testRequestInfo(),
      )
      assert.ok(outcome.is === 'bytes')
      const quote = parseJson(new TextDecoder().decode(outcome.bytes)) as Quote
      assert.ok(quote.typedData)
      return { ...quote, typedData: quote.typedData }
    }
    const examine = async (quote: Quote, signature: string, more: object = {}): Promise<SignatureDiagnosis> => {
      const outcome = await checkSignature.handle(
        { id: quote.id, signature, signer: taker.address, ...more },
        context,
        testRequestInfo(),
      )
      assert.ok(outcome.is === 'body')
      return outcome.body
    }
    const units = (text: string, places: number) => {
      const [whole = '', part = ''] = text.split('.')
      return BigInt(whole + part.padEnd(places, '0'))
    }

    for (const [name, sign] of Object.entries(signers)) {
      test(`signed with ${name}, the contract accepts it, moves the tokens, and refuses a replay`, async () => {
        const quote = await ask()
        const signature = await sign(quote)
        const before = await Promise.all([
          chain.balanceOf(chain.given, chain.spender),
          chain.balanceOf(chain.taken, recipient),
        ])
        const diagnosis = await examine(quote, signature)
        assert.equal(diagnosis.verdict, 'good', JSON.stringify(diagnosis))
        assert.deepEqual(diagnosis.findings, [])
        assert.deepEqual(
          diagnosis.chain.map(({ name: what, ok }) => [what, ok]),
          [
            ['balance', true],
            ['allowance', true],
            ['nonce', true],
          ],
        )
        assert.equal(await chain.settle(quote.typedData, taker.address, signature), 'settled')
        const after = await Promise.all([
          chain.balanceOf(chain.given, chain.spender),
          chain.balanceOf(chain.taken, recipient),
        ])
        assert.equal(after[0] - before[0], units(quote.from.amount, decimals.given))
        assert.equal(after[1] - before[1], units(quote.to.amount, decimals.taken) - units(quote.fee, decimals.taken))
        assert.equal(await chain.settle(quote.typedData, taker.address, signature), 'InvalidNonce()')
        const spent = await examine(quote, signature)
        assert.deepEqual(spent.chain.find(({ name: what }) => what === 'nonce')?.ok, false)
      })
    }

    test('any changed field makes Permit2 revert, and the check names it', async () => {
      const quote = await ask()
      const signature = await signQuote(quote, taker)
      const { message } = quote.typedData
      const { witness } = message
      const changes: Record<string, TypedData['message']> = {
        'permitted.amount': {
          ...message,
          permitted: { ...message.permitted, amount: BigInt(message.permitted.amount) - 1n },
        },
        'permitted.token': { ...message, permitted: { ...message.permitted, token: chain.taken } },
        nonce: { ...message, nonce: BigInt(message.nonce) + 1n },
        deadline: { ...message, deadline: Number(message.deadline) + 1 },
        'witness.fee': { ...message, witness: { ...witness, fee: 0 } },
        'witness.recipient': { ...message, witness: { ...witness, recipient: taker.address } },
      }
      for (const name of ['quoteId', 'base', 'quote', 'baseAmount', 'quoteAmount', 'maturity'] as const) {
        const other = {
          quoteId: `0x${'77'.repeat(32)}`,
          base: recipient,
          quote: recipient,
          baseAmount: '1',
          quoteAmount: '1',
          maturity: 1,
        }
        const consideration = { ...witness.consideration, [name]: other[name] }
        changes[`witness.consideration.${name}`] = { ...message, witness: { ...witness, consideration } }
      }
      for (const [field, changed] of Object.entries(changes)) {
        const data = { ...quote.typedData, message: changed }
        assert.equal(await chain.settle(data, taker.address, signature), 'InvalidSigner()', field)
        // In reverse: the changed document is signed and compared with the quote.
        const wrong = await signQuote({ id: quote.id, typedData: data }, taker)
        const diagnosis = await examine(quote, wrong, { typedData: data })
        assert.deepEqual(
          diagnosis.findings.map((finding) => finding.field),
          [`message.${field}`],
        )
        assert.equal(diagnosis.verdict, 'bad')
      }
      assert.equal(await chain.settle(quote.typedData, taker.address, signature), 'settled')
    })

    test('with collateral only that amount is permitted and moved, and another contract cannot use the signature', async () => {
      const quote = await ask('daily')
      assert.ok(quote.collateral)
      const signature = await signQuote(quote, taker)
      const otherContract = await chain.deploy('Settlement', permit2)
      assert.equal(await chain.settle(quote.typedData, taker.address, signature, otherContract), 'InvalidSigner()')
      const before = await chain.balanceOf(chain.given, chain.spender)
      assert.equal(await chain.settle(quote.typedData, taker.address, signature), 'settled')
      const received = (await chain.balanceOf(chain.given, chain.spender)) - before
      assert.equal(received, units(quote.collateral, decimals.given))
      assert.ok(received < units(quote.from.amount, decimals.given))
    })

    test('the server’s own digest is what the library signed, amounts beyond 2^53 included', async () => {
      const quote = await ask()
      const amountText = String(quote.typedData.message.permitted.amount)
      assert.equal(BigInt(amountText), units(quote.from.amount, decimals.given))
      if (decimals.given === 18) assert.ok(BigInt(amountText) > 2n ** 53n)
      const diagnosis = await examine(quote, await signQuote(quote, taker))
      assert.equal(diagnosis.digest, `0x${hashTypedData(quote.typedData).toHex()}`)
    })

    test('missing allowance or balance is reported before settlement', async () => {
      const quote = await ask()
      const poor = privateKeyToAccount(`0x${'43'.repeat(32)}`)
      const diagnosis = await examine(quote, await signQuote(quote, poor), { signer: poor.address })
      assert.equal(diagnosis.verdict, 'good')
      assert.deepEqual(
        diagnosis.chain.map(({ name, ok }) => [name, ok]),
        [
          ['balance', false],
          ['allowance', false],
          ['nonce', true],
        ],
      )
    })

    test('after the deadline the contract refuses, and the check says why', async () => {
      const quote = await ask()
      const signature = await signQuote(quote, taker)
      context.clock.advance(1_801_000)
      const diagnosis = await examine(quote, signature)
      assert.deepEqual([diagnosis.deadlinePassed, diagnosis.expired], [true, true])
      await evm.request('evm_setNextBlockTimestamp', `0x${(Number(quote.typedData.message.deadline) + 1).toString(16)}`)
      await evm.mine()
      assert.equal(await chain.settle(quote.typedData, taker.address, signature), 'SignatureExpired(uint256)')
    })
  })
}
