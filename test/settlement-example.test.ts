// The contract in examples/settlement, on a real EVM with the bytecode of Permit2.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createPublicClient, getAddress, type Hex, http, toFunctionSelector } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { parse } from 'yaml'
import { createClient, signQuote } from '#api/client/client.ts'
import { parseJson, stringifyJson } from '#api/contract/json.ts'
import type { Quote, TypedData } from '#api/contract/wire/fx.ts'
import { createQuote } from '#fx/endpoints/create-quote.ts'
import { checkSpender } from '#fx/extensions/signature-check/check-spender.ts'
import { storeRates } from '#fx/rates/rate-store.ts'
import { systemClock } from '#runtime/clock.ts'
import { createKey } from '#storage/keys.ts'
import { openContext, settingsWith, type TestContext, testRequestInfo } from './context.ts'
import { openEmptyServer } from './empty-server.ts'
import { compile, evmMissing, openEvm, type RealEvm } from './real-evm.ts'
import { openSettlement, permit2, type Settlement } from './settlement.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: the settlement contract of the examples: ${missing}\n`)

const root = join(import.meta.dirname, '..')
const examples = join(root, 'examples/settlement')
const clientFile = pathToFileURL(join(root, 'api/client/client.ts')).href
const execFileAsync = promisify(execFile)
const source = readFileSync(join(examples, 'Settlement.sol'), 'utf8')
const takerKey = `0x${'42'.repeat(32)}` as const
const taker = privateKeyToAccount(takerKey)
const recipient = `0x${'11'.repeat(20)}`
const treasury = `0x${'99'.repeat(20)}`
const plenty = 10n ** 24n
const errors = [
  'NotOperator()',
  'WrongToken()',
  'WrongAmount()',
  'TransferFailed()',
  'InvalidSigner()',
  'InvalidNonce()',
]

type SignedQuote = Quote & { readonly typedData: TypedData }

describe('the settlement contract of the examples', { skip: missing !== undefined }, () => {
  let evm: RealEvm
  let chain: Settlement
  let contract: { readonly abi: readonly unknown[]; readonly address: Hex }
  let context: TestContext

  before(async () => {
    evm = await openEvm(1)
    chain = await openSettlement(evm, { given: 6, taken: 18 })
    const [operator] = evm.rich
    const reader = createPublicClient({ transport: http(evm.url) })
    const { abi, bytecode } = (await compile(source)).Settlement ?? { abi: [], bytecode: '0x' as Hex }
    const args = [permit2, treasury, [operator.account.address]]
    const hash = await operator.deployContract({ abi, bytecode, args })
    await evm.mine()
    contract = { abi, address: getAddress((await reader.getTransactionReceipt({ hash })).contractAddress ?? '') }
    await evm.request('hardhat_setBalance', taker.address, '0x56bc75e2d63100000')
    await chain.call(operator, 'Token', chain.given, 'mint', [taker.address, plenty])
    await chain.call(operator, 'Token', chain.taken, 'mint', [contract.address, plenty])
    await chain.call(evm.wallet(takerKey) as never, 'Token', chain.given, 'approve', [permit2, plenty])
    const token = (code: string, tracks: string, decimals: number, address: string) => ({
      ...{ code, tracks, decimals, contract: address },
    })
    const fx = {
      ...{ chainId: 1, spender: contract.address, sources: [{ id: 'a', kind: 'push' }] },
      tokens: [token('USDX', 'USD', 6, chain.given), token('EURX', 'EUR', 18, chain.taken)],
      terms: { daily: { collateralBps: 1000 } },
    }
    const { timestamp } = await evm.request<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
    context = await openContext({ fx }, Number(timestamp) * 1000)
    const rate = { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: context.clock.now() }
    await storeRates(context.state, 'a', [rate], context.clock.now())
  })
  after(async () => {
    await context?.[Symbol.asyncDispose]()
    await evm?.[Symbol.asyncDispose]()
  })

  async function quoteOf(tenor: 'instant' | 'daily' = 'instant'): Promise<SignedQuote> {
    const sides = { from: { currency: 'USDX', amount: '1000' }, to: { currency: 'EURX' } }
    const input = { ...sides, tenor, type: 'tradable', recipientAddress: recipient } as const
    const outcome = await createQuote.handle(input, context, testRequestInfo())
    assert.ok(outcome.is === 'bytes')
    return parseJson(new TextDecoder().decode(outcome.bytes)) as SignedQuote
  }

  /** `settled`, or the error of the contract. */
  async function settle({ typedData: { message } }: SignedQuote, signature: string, by = 0): Promise<string> {
    const { permitted, nonce, deadline, witness } = message
    const permit = {
      permitted: { ...permitted, amount: BigInt(permitted.amount) },
      ...{ nonce: BigInt(nonce), deadline: BigInt(deadline) },
    }
    const args = [permit, taker.address, { ...witness, fee: BigInt(witness.fee) }, signature]
    const wallet = evm.rich[by] as RealEvm['rich'][0]
    const call = { ...contract, functionName: 'settle', args, gas: 1_000_000n }
    const reader = createPublicClient({ transport: http(evm.url) })
    try {
      await reader.simulateContract({ ...call, account: wallet.account } as never)
    } catch (error) {
      return (
        errors.find((name) => String(error).includes(toFunctionSelector(name)) || String(error).includes(name)) ??
        String(error)
      )
    }
    const hash = await wallet.writeContract(call)
    await evm.mine()
    const { status } = await reader.getTransactionReceipt({ hash })
    return status === 'success' ? 'settled' : status
  }

  const balances = async () => ({
    taker: await chain.balanceOf(chain.given, taker.address),
    treasury: await chain.balanceOf(chain.given, treasury),
    recipient: await chain.balanceOf(chain.taken, recipient),
  })
  const units = (text: string, decimals: number) => {
    const [whole = '', behind = ''] = text.split('.')
    return BigInt(whole + behind.padEnd(decimals, '0'))
  }

  test('only the operator settles: a stranger with quote and signature cannot', async () => {
    const quote = await quoteOf()
    const signature = await signQuote(quote, taker)
    const before = await balances()
    assert.equal(await settle(quote, signature, 1), 'NotOperator()')
    assert.equal(await settle(quote, signature), 'settled')
    assert.equal(await settle(quote, signature), 'InvalidNonce()')
    const now = await balances()
    assert.equal(before.taker - now.taker, units('1000', 6))
    assert.equal(now.treasury - before.treasury, units('1000', 6))
    assert.equal(now.recipient - before.recipient, units(quote.to.amount, 18) - units(quote.fee, 18))
  })

  test('the operator cannot change what was signed', async () => {
    const quote = await quoteOf()
    const signature = await signQuote(quote, taker)
    const { message } = quote.typedData
    const { witness } = message
    const changes: TypedData['message'][] = [
      { ...message, permitted: { ...message.permitted, amount: 1 } },
      { ...message, witness: { ...witness, recipient: treasury } },
      { ...message, witness: { ...witness, fee: 0 } },
      { ...message, witness: { ...witness, consideration: { ...witness.consideration, baseAmount: '1000000' } } },
    ]
    for (const changed of changes)
      assert.notEqual(
        await settle({ ...quote, typedData: { ...quote.typedData, message: changed } }, signature),
        'settled',
      )
    assert.equal(await settle(quote, signature), 'settled')
  })

  test('with a collateral, the rest is taken with an allowance of the taker, or nothing is taken', async () => {
    const quote = await quoteOf('daily')
    assert.equal(quote.collateral, '100.000000')
    const signature = await signQuote(quote, taker)
    const before = await balances()
    assert.equal(await settle(quote, signature), 'TransferFailed()')
    assert.deepEqual(await balances(), before)
    const rest = units('900', 6)
    await chain.call(evm.wallet(takerKey) as never, 'Token', chain.given, 'approve', [contract.address, rest])
    assert.equal(await settle(quote, signature), 'settled')
    const now = await balances()
    assert.equal(before.taker - now.taker, units('1000', 6))
    assert.equal(now.recipient - before.recipient, units(quote.to.amount, 18) - units(quote.fee, 18))
  })

  test('a simulated call finds out whether a stranger can settle', async () => {
    const check = async (spender: string) => {
      const { fx } = settingsWith({ fx: { ...context.settings.fx, spender, rpcUrl: evm.url } })
      return (await checkSpender({ fx, clock: systemClock, random: context.random })).is
    }
    assert.equal(await check(contract.address), 'refuses')
    assert.equal(await check(chain.spender), 'open')
    assert.equal(await check(treasury), 'no contract')
  })
})

describe('the scripts of docs/fx.md', { skip: missing !== undefined }, () => {
  test('deploy a contract, accept a quote and settle the trade, with the settings that they print', async () => {
    await using evm = await openEvm(1337)
    await evm.request('evm_setAutomine', true)
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-settlement-'))
    try {
      await symlink(join(root, 'node_modules'), join(dir, 'node_modules'))
      await writeFile(join(dir, 'package.json'), '{ "type": "module" }')
      for (const name of ['Settlement.sol', 'TestToken.sol', 'deploy.ts', 'taker.ts', 'settle.ts']) {
        const text = readFileSync(join(examples, name), 'utf8')
        await writeFile(join(dir, name), text.replace("'@tetrad/api'", `'${clientFile}'`))
      }
      const node = async (words: readonly string[], input = '', key = ''): Promise<string> => {
        const env = { ...process.env, TETRAD_KEY: key }
        const child = execFileAsync(process.execPath, words, { cwd: dir, env })
        child.child.stdin?.end(input)
        return (await child).stdout.trim()
      }
      const printed = await node(['deploy.ts', evm.url])
      const { fx } = parse(`fx:\n  sources: [{ id: desk, kind: push }]\n  ${printed}\n`) as { fx: object }
      await using server = await openEmptyServer({ fx })
      const { state, clock, random } = server.context
      const { key } = await createKey(state, { name: 'desk', plan: 'standard', admin: true }, clock, random)
      const client = createClient({ baseUrl: server.url, key })
      await client.fx.setRate({ pair: 'EUR/USD', rate: '1.0842' })
      const id = await node(['taker.ts', server.url], '', key)
      const permit = stringifyJson(await client.fx.tradePermit({ id }))
      const settlementTransactionHash = await node(['settle.ts', evm.url], permit)
      const settled = await client.fx.reportTrade({ id, status: 'settled', settlementTransactionHash })
      assert.deepEqual([settled.status, settled.settlementTransactionHash], ['settled', settlementTransactionHash])
      await assert.rejects(node(['settle.ts', evm.url], permit), { code: 1 })
      assert.match(readFileSync(join(root, 'docs/fx.md'), 'utf8'), /npx hardhat node --chain-id 1337/)
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  })
})
