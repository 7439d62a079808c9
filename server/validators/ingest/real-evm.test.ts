// Tests of execution rewards and deposit senders against a real EVM node. The expected amounts are calculated by hand
// next to the transactions that cause them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Abi, encodeDeployData, encodeFunctionData, type Hex, parseEther, parseGwei } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '#runtime/clock.ts'
import type { Block } from '#sources/beacon/block.ts'
import { openRpc, type Rpc, type RpcCall } from '#sources/evm/rpc.ts'
import type { TestContext } from '#test/context.ts'
import { openContext } from '#test/context.ts'
import { compile, evmChainId, evmMissing, openEvm, type RealEvm } from '#test/real-evm.ts'
import { putValidators, readValidator } from '../registry/registry.ts'
import { createDepositReader } from './deposits/deposits.ts'
import { createExecutionSource } from './read/execution.ts'

const skip = (await evmMissing()) ?? false
const { signal } = new AbortController()
const rpcTo = ({ url }: RealEvm): Rpc =>
  openRpc({
    chain: evmChainId,
    rpc: [{ url, perSecond: 0, batchMax: 50, timeoutMs: 10_000 }],
    clock: systemClock,
    backoffMs: 1,
  })

type Sender = Pick<ReturnType<RealEvm['wallet']>, 'sendTransaction'>

describe('execution rewards of a proposer', { skip }, () => {
  let evm: RealEvm
  const builderKey = `0x${'b1'.repeat(32)}` as Hex
  const builder = privateKeyToAccount(builderKey).address
  const proposer = '0x00000000000000000000000000000000000f00d1'
  before(async () => {
    evm = await openEvm()
    await evm.request('hardhat_setBalance', builder, `0x${parseEther('10').toString(16)}`)
  })
  after(() => evm[Symbol.asyncDispose]())

  /** Mines one block with this fee recipient. Returns a beacon block with its payload. */
  async function blockFor(slot: number, feeRecipient: string): Promise<Block> {
    await evm.request('hardhat_setCoinbase', feeRecipient)
    await evm.mine()
    const mined = await evm.request<{ hash: string; miner: string; baseFeePerGas: string; transactions: string[] }>(
      'eth_getBlockByNumber',
      'latest',
      false,
    )
    assert.equal(mined.miner, feeRecipient.toLowerCase())
    const { hash, baseFeePerGas, transactions } = mined
    const payload = {
      ...{ hash, feeRecipient: mined.miner, baseFeeWei: BigInt(baseFeePerGas) },
      transactions: transactions.length,
    }
    return { slot, payload } as unknown as Block
  }
  const pay = (from: Sender, to: string, value: bigint, tipGwei: string) =>
    from.sendTransaction({
      to: to as Hex,
      value,
      gas: 21_000n,
      maxPriorityFeePerGas: parseGwei(tipGwei),
      maxFeePerGas: parseGwei('100'),
    })

  test('a proposer that builds its own block gets the tips but not the base fee', async () => {
    const [ann, ben] = evm.rich
    await pay(ann, '0x0000000000000000000000000000000000000a11', 5n, '3')
    await pay(ben, '0x0000000000000000000000000000000000000b0b', 7n, '2.5')
    const block = await blockFor(1, proposer)
    assert.equal(block.payload?.transactions, 2)
    // 21 000 · 3 + 21 000 · 2.5 gwei.
    const rewards = await createExecutionSource(rpcTo(evm)).read([block], () => proposer, signal)
    assert.deepEqual(rewards.get(1), { priorityFee: 115_500, baselineMev: 0, external: 0 })
  })

  test('a builder payment in the last transaction is the reward of the proposer', async () => {
    const [ann] = evm.rich
    await pay(ann, '0x0000000000000000000000000000000000000a11', 5n, '4')
    // It is the last transaction because its tip is the lowest.
    await pay(evm.wallet(builderKey), proposer, parseGwei('200000'), '0')
    const block = await blockFor(2, builder)
    // 21 000 · 4 gwei of fees, which went to the builder; 200 000 gwei were paid, 116 000 beyond the fees.
    const rewards = await createExecutionSource(rpcTo(evm)).read([block, { slot: 3 } as Block], () => proposer, signal)
    assert.deepEqual(rewards.get(2), { priorityFee: 84_000, baselineMev: 116_000, external: 200_000 })
    assert.deepEqual(rewards.get(3), { priorityFee: 0, baselineMev: 0, external: 0 })
  })
})

/** The event and the numbering of the deposit contract, without its Merkle tree. */
const depositSource = `
pragma solidity ^0.8.0;
contract Deposits {
  event DepositEvent(bytes pubkey, bytes withdrawal_credentials, bytes amount, bytes signature, bytes index);
  uint64 count;
  function deposit(bytes calldata pubkey) external payable {
    bytes memory index = new bytes(8);
    for (uint i = 0; i < 8; i++) index[i] = bytes1(uint8(count >> (8 * i)));
    count++;
    emit DepositEvent(pubkey, new bytes(32), new bytes(8), new bytes(96), index);
  }
}
contract Many {
  Deposits to;
  constructor(Deposits target) { to = target; }
  function both(bytes calldata a, bytes calldata b) external payable { to.deposit(a); to.deposit(b); }
}`

describe('deposit senders', { skip }, () => {
  let evm: RealEvm
  let contracts: Awaited<ReturnType<typeof compile>>
  let deposits: Hex
  let many: Hex
  const keyOf = (nth: number): Hex => `0x${nth.toString(16).padStart(96, 'a')}`
  before(async () => {
    evm = await openEvm()
    contracts = await compile(depositSource)
    deposits = await deploy('Deposits')
    many = await deploy('Many', [deposits])
  })
  after(() => evm[Symbol.asyncDispose]())

  async function deploy(name: string, args: readonly unknown[] = []): Promise<Hex> {
    const { abi, bytecode } = contracts[name] as { abi: readonly unknown[]; bytecode: Hex }
    const data = encodeDeployData({ abi: abi as Abi, bytecode, args })
    const hash = await evm.rich[0].sendTransaction({ data, gas: 2_000_000n })
    await evm.mine()
    const receipt = await evm.request<{ contractAddress: Hex }>('eth_getTransactionReceipt', hash)
    return receipt.contractAddress
  }
  async function call(from: number, name: string, to: Hex, functionName: string, args: readonly Hex[]): Promise<void> {
    const data = encodeFunctionData({ abi: contracts[name]?.abi as Abi, functionName, args })
    await evm.rich[from as 0 | 1 | 2].sendTransaction({ to, data, gas: 500_000n })
    await evm.mine()
  }
  const addressOf = (from: 0 | 1 | 2) => evm.rich[from].account.address.toLowerCase()
  const put = (context: TestContext, index: number) =>
    putValidators(context.ingest, 'hoodi', [
      {
        index,
        pubkey: keyOf(index),
        activationEligibilityEpoch: null,
        activationEpoch: null,
        exitEpoch: null,
        withdrawableEpoch: null,
        withdrawalAddress: null,
      },
    ])
  const addressesOf = async (context: TestContext, index: number) =>
    (await readValidator(context.ingest, 'hoodi', index))?.depositAddresses

  test('each sender is stored once, in the order of first deposits, before and after the validator is registered', async () => {
    await using context = await openContext()
    await put(context, 1)
    await call(2, 'Deposits', deposits, 'deposit', [keyOf(1)])
    await call(0, 'Deposits', deposits, 'deposit', [keyOf(1)])
    await call(2, 'Deposits', deposits, 'deposit', [keyOf(1)])
    // Two deposits through another contract in one transaction: the sender is the signer of the transaction.
    await call(1, 'Many', many, 'both', [keyOf(2), keyOf(3)])
    const reader = createDepositReader(context.ingest, 'hoodi', rpcTo(evm), deposits)
    const final = Number((await evm.request<{ number: string }>('eth_getBlockByNumber', 'finalized', false)).number)
    assert.deepEqual(await reader.catchUp(signal), { untilBlock: final + 1, deposits: 5 })
    assert.deepEqual(await addressesOf(context, 1), [addressOf(2), addressOf(0)])
    await put(context, 3)
    assert.deepEqual(await addressesOf(context, 3), [addressOf(1)])
    // A new process continues at the cursor and stores nothing twice.
    await call(0, 'Deposits', deposits, 'deposit', [keyOf(3)])
    const again = createDepositReader(context.ingest, 'hoodi', rpcTo(evm), deposits)
    assert.equal((await again.catchUp(signal)).deposits, 6)
    assert.deepEqual(await addressesOf(context, 3), [addressOf(1), addressOf(0)])
  })

  test('if a node rejects large ranges of blocks, smaller ones give the same result', async () => {
    await using context = await openContext()
    await put(context, 1)
    const real = rpcTo(evm)
    const lengths: number[] = []
    const limited: Rpc = {
      ...real,
      call: async (calls, options) => {
        const [filter] = (calls[0] as RpcCall).params as [{ fromBlock: string; toBlock: string }]
        const length = Number(filter.toBlock) - Number(filter.fromBlock) + 1
        lengths.push(length)
        if (length <= 2) return real.call(calls, options)
        return [{ is: 'error', code: -32005, message: 'query returned more than 10000 results' }]
      },
    }
    const progress = await createDepositReader(context.ingest, 'hoodi', limited, deposits).catchUp(signal)
    assert.equal(progress.deposits, 6)
    assert(Math.max(...lengths) > 2 && lengths.includes(2), lengths.join())
    assert.deepEqual(await addressesOf(context, 1), [addressOf(2), addressOf(0)])
  })

  test('a node that omits a deposit is detected by the numbers, and a complete node is read from there', async () => {
    await using context = await openContext()
    await put(context, 1)
    const real = rpcTo(evm)
    const incomplete: Rpc = {
      ...real,
      call: async (calls, options) => {
        const [outcome] = await real.call(calls, options)
        if (outcome?.is !== 'result') return [outcome as never]
        return [{ is: 'result', result: (outcome.result as unknown[]).filter((_, at) => at !== 1) }]
      },
    }
    await assert.rejects(createDepositReader(context.ingest, 'hoodi', incomplete, deposits).catchUp(signal), {
      name: 'DepositGap',
      message: /omits deposit 1 but returns deposit 2 in block \d+/,
    })
    assert.deepEqual(await addressesOf(context, 1), [])
    assert.equal((await createDepositReader(context.ingest, 'hoodi', real, deposits).catchUp(signal)).deposits, 6)
    assert.deepEqual(await addressesOf(context, 1), [addressOf(2), addressOf(0)])
  })
})
