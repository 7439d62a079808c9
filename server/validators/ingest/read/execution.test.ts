// Execution rewards of proposals, compared with figures that were calculated by hand.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Block } from '#sources/beacon/block.ts'
import { ContradictionError } from '#sources/beacon/client.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import type { RpcOutcome } from '#sources/evm/batch-results.ts'
import type { Rpc, RpcCall } from '#sources/evm/rpc.ts'
import { settingsWith } from '#test/context.ts'
import {
  computeBidRewards,
  computeExecutionRewards,
  createExecutionSource,
  type ExecutedBlock,
  openExecution,
} from './execution.ts'

const hex = (value: bigint | number) => `0x${value.toString(16)}`
const gwei = 1_000_000_000n
/** Address of the proposer. */
const proposer = '0xAA'
const transaction = (from: string, value: bigint, { hash = '0x77', to = '0x02', input = '0x' } = {}) => ({
  ...{ hash, from, to, input },
  value: hex(value),
})
const block = (miner: string, transactions: ReturnType<typeof transaction>[]) => ({
  miner,
  baseFeePerGas: hex(10n * gwei),
  transactions,
})
// 21 000 · (12 − 10) + 100 000 · (11 − 10) = 142 000 gwei.
const receipts = [
  { transactionHash: '0x0', status: '0x1', gasUsed: hex(21_000), effectiveGasPrice: hex(12n * gwei) },
  { transactionHash: '0x1', status: '0x1', gasUsed: hex(100_000), effectiveGasPrice: hex(11n * gwei) },
]

const call = (from: string) => transaction(from, 1n, { input: '0xa9059cbb' })
const payment = (from: string, value: bigint) => transaction(from, value, { to: proposer.toLowerCase() })
const feesAlone = { priorityFee: 142_000, baselineMev: 0, external: 0 }

test('a proposer that builds its own block gets the priority fees', () => {
  assert.deepEqual(
    computeExecutionRewards(block(proposer, [transaction('0xbb', 5n * gwei)]), receipts, [proposer]),
    feesAlone,
  )
})

test('a block that ends with a transfer from its proposer has no builder payment', () => {
  assert.deepEqual(
    computeExecutionRewards(block(proposer, [call('0xbb'), transaction(proposer, 5n * gwei)]), receipts, [proposer]),
    feesAlone,
  )
})

test('the part of a builder payment above the fees is MEV, whichever account pays', () => {
  const expected = { priorityFee: 142_000, baselineMev: 58_000, external: 200_000 }
  for (const wallet of ['0xb1', '0xb2']) {
    const paying = block('0xb1', [call('0xbb'), payment(wallet, 200_000n * gwei)])
    assert.deepEqual(computeExecutionRewards(paying, receipts, [proposer]), expected)
  }
  // A refund to another account may follow the payment.
  const refunding = block('0xb1', [payment('0xb1', 200_000n * gwei), transaction('0xb1', 5n)])
  assert.deepEqual(computeExecutionRewards(refunding, receipts, [proposer]), expected)
})

test('a payment on top of fees that go to the proposer is MEV', () => {
  const paying = block(proposer, [call('0xbb'), payment('0xb2', 50_000n * gwei)])
  const expected = { priorityFee: 142_000, baselineMev: 50_000, external: 50_000 }
  assert.deepEqual(computeExecutionRewards(paying, receipts, [proposer]), expected)
})

test('if a builder pays less than the fees, the reward is the payment', () => {
  const poor = computeExecutionRewards(block('0xb1', [payment('0xb1', 100_000n * gwei + 7n)]), receipts.slice(0, 1), [
    proposer,
  ])
  assert.deepEqual(poor, { priorityFee: 42_000, baselineMev: 58_000, external: 100_000 })
  const poorer = computeExecutionRewards(
    block('0xb1', [call('0xbb'), payment('0xb1', 100_000n * gwei + 7n)]),
    receipts,
    [proposer],
  )
  assert.deepEqual(poorer, { priorityFee: 100_000, baselineMev: 0, external: 100_000 })
})

test('a reverted payment transfers nothing: the proposer gets no reward', () => {
  const paying = block('0xb1', [call('0xbb'), payment('0xb1', 200_000n * gwei)])
  const undone = receipts.map((receipt, at) => (at === 1 ? { ...receipt, status: '0x0' } : receipt))
  assert.deepEqual(computeExecutionRewards(paying, undone, [proposer]), { priorityFee: 0, baselineMev: 0, external: 0 })
  const other = receipts.map((receipt, at) => (at === 0 ? { ...receipt, status: '0x0' } : receipt))
  assert.equal(computeExecutionRewards(paying, other, [proposer])?.external, 200_000)
})

test('if a block ends with a transfer between other accounts, its rewards are unknown', () => {
  for (const addresses of [[], ['0xcc']]) {
    for (const from of ['0xb1', '0xb2']) {
      const paying = block('0xb1', [call('0xbb'), transaction(from, 200_000n * gwei)])
      assert.equal(computeExecutionRewards(paying, receipts, addresses), undefined)
    }
    assert.deepEqual(
      computeExecutionRewards(block('0xb1', [transaction('0xbb', 1n), call('0xbb')]), receipts, addresses),
      feesAlone,
    )
  }
})

test('payments and fees to a configured fee recipient count for the proposer', async () => {
  const paying = block('0xb1', [call('0xbb'), payment('0xb1', 200_000n * gwei)])
  assert.equal(computeExecutionRewards(paying, receipts, ['0xee']), undefined)
  const expected = { priorityFee: 142_000, baselineMev: 58_000, external: 200_000 }
  assert.deepEqual(computeExecutionRewards(paying, receipts, ['0xee', proposer]), expected)
  assert.deepEqual(
    computeExecutionRewards(block(proposer, [call('0xbb'), call('0xbb')]), receipts, ['0xee', proposer]),
    feesAlone,
  )
  // A transfer between two addresses of the proposer is not a payment.
  const internal = block(proposer, [call('0xbb'), transaction('0xee', 5n, { to: proposer })])
  assert.deepEqual(computeExecutionRewards(internal, receipts, ['0xee', proposer]), feesAlone)
  const read = (registered: readonly string[]) =>
    createExecutionSource(scripted([], { is: 'result', result: receipts }), registered).read(
      [of(2, 3)],
      () => undefined,
      signal,
    )
  assert.deepEqual([...(await read([])).keys()], [])
  assert.deepEqual([...(await read([proposer])).keys()], [2])
})

test('an early transfer to the proposer is not a builder payment', () => {
  const early = [payment('0xbb', 1n), call('0xbb'), call('0xbb'), call('0xbb')]
  assert.deepEqual(computeExecutionRewards(block(proposer, early), receipts, [proposer]), feesAlone)
})

/** A node that always returns the same block and receipts. */
function scripted(calls: RpcCall[], blockReceipts: RpcOutcome): Rpc {
  const replies = (call: RpcCall): RpcOutcome => {
    calls.push(call)
    if (call.method === 'eth_getBlockReceipts') return blockReceipts
    const result = call.method === 'eth_getBlockByHash' ? fullBlock : receipts[Number(call.params[0])]
    return { is: 'result', result }
  }
  const call = async (calls: readonly RpcCall[]) => calls.map(replies)
  const results = async (calls: readonly RpcCall[]) =>
    calls.map((call) => (replies(call) as { result: unknown }).result)
  return { call, results } as unknown as Rpc
}
const fullBlock = {
  hash: '0x2',
  ...block('0xAA', [transaction('0xbb', 1n, { hash: '0x0' }), transaction('0xbb', 1n, { hash: '0x1' })]),
}
const addressOf = () => proposer
const of = (slot: number, transactions: number, feeRecipient = proposer) =>
  ({ slot, payload: { hash: `0x${slot}`, transactions, feeRecipient, baseFeeWei: 10n * gwei } }) as unknown as Block
const { signal } = new AbortController()

test('blocks are requested by hash; blocks without transactions have no rewards and are not requested', async () => {
  const calls: RpcCall[] = []
  const source = createExecutionSource(scripted(calls, { is: 'result', result: receipts }))
  const rewards = await source.read([of(1, 0), of(2, 2), { slot: 3 } as Block], addressOf, signal)
  assert.deepEqual(
    calls.map(({ method, params }) => [method, params[0]]),
    [
      ['eth_getBlockByHash', '0x2'],
      ['eth_getBlockReceipts', '0x2'],
    ],
  )
  const [first, second] = calls
  assert.equal(first?.validate?.(fullBlock), undefined)
  assert.equal(second?.validate?.(receipts), undefined)
  for (const invalid of [{}, { miner: '0xAA' }, []]) assert.notEqual(first?.validate?.(invalid), undefined)
  assert.equal(first?.validate?.({ ...fullBlock, hash: '0x3' }), 'the block has another hash')
  assert.equal(first?.validate?.({ ...fullBlock, miner: '0xab' }), 'the block has another fee recipient')
  assert.equal(first?.validate?.({ ...fullBlock, baseFeePerGas: '0x1' }), 'the block has another base fee')
  const shorter = { ...fullBlock, transactions: fullBlock.transactions.slice(1) }
  assert.equal(first?.validate?.(shorter), 'the block has another number of transactions')
  const cheap = receipts.map((receipt) => ({ ...receipt, effectiveGasPrice: hex(10n * gwei - 1n) }))
  assert.equal(second?.validate?.(cheap), 'a gas price is below the base fee')
  const withoutStatus = receipts.map(({ status: _, ...receipt }) => receipt)
  for (const invalid of [{}, [{}], [{ gasUsed: '7' }], receipts.slice(1), receipts.toReversed(), withoutStatus]) {
    assert.notEqual(second?.validate?.(invalid), undefined)
  }
  assert.deepEqual([...rewards.keys()], [1, 2, 3])
  assert.equal(rewards.get(2)?.priorityFee, 142_000)
  assert.equal(rewards.get(1)?.priorityFee, 0)
  assert.equal((await source.read([of(1, 0)], addressOf, signal)).size, 1)
  assert.equal(calls.length, 2)
})

test('a node without eth_getBlockReceipts is asked for single receipts from then on', async () => {
  const calls: RpcCall[] = []
  const source = createExecutionSource(scripted(calls, { is: 'error', code: -32601, message: 'method not found' }))
  const both = await source.read([of(2, 2), of(3, 2)], addressOf, signal)
  assert.deepEqual([both.get(2)?.priorityFee, both.get(3)?.priorityFee], [142_000, 142_000])
  await source.read([of(4, 2)], addressOf, signal)
  const methods = calls.map(({ method }) => method)
  const times = (method: string, count: number) => new Array<string>(count).fill(method)
  assert.deepEqual(methods, [
    ...[
      ...times('eth_getBlockByHash', 2),
      ...times('eth_getBlockReceipts', 2),
      ...times('eth_getTransactionReceipt', 4),
    ],
    ...['eth_getBlockByHash', ...times('eth_getTransactionReceipt', 2)],
  ])
})

test('missing receipts are an error, not zero rewards', async () => {
  const source = createExecutionSource(scripted([], { is: 'unusable', message: 'not reachable' }))
  await assert.rejects(source.read([of(2, 2)], addressOf, signal), /not reachable/)
})

test('nodes and fee recipients are taken from the settings', async () => {
  const recipient = `0x${'ee'.repeat(20)}`
  const results: Record<string, unknown> = {
    eth_chainId: '0x1',
    eth_getBlockByHash: { ...fullBlock, miner: recipient },
    eth_getBlockReceipts: receipts,
  }
  const reply = ({ id, method }: { id: number; method: string }) => ({ jsonrpc: '2.0', id, result: results[method] })
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Array.isArray(body) ? body.map(reply) : reply(body)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const read = async (execution: object) => {
      const settings = settingsWith({ validators: { networks: { mainnet: { execution } } } })
      const source = openExecution(
        'mainnet',
        settings.validators.networks.mainnet.execution,
        systemClock,
        async () => ({
          identity: { executionChainId: '1' } as ChainIdentity,
        }),
      )
      return source && [...(await source.read([of(2, 2, recipient)], () => undefined, signal)).keys()]
    }
    assert.equal(await read({}), undefined)
    assert.deepEqual(await read({ rpc: [{ url }] }), [])
    assert.deepEqual(await read({ rpc: [{ url }], feeRecipients: [recipient] }), [2])
    const refused =
      /^OtherExecutionChainError: mainnet: .* is on chain 1, not 5: .*networks\.mainnet\.execution\.chainId/
    await assert.rejects(read({ rpc: [{ url }], chainId: '5' }), refused)
  } finally {
    server.closeAllConnections()
    server.close()
  }
})

test('since Gloas, a builder that delivers pays the value of its bid, which covers the fees first', () => {
  const bid = { value: 200_000, executionPayment: 0 }
  const delivered = block('0xb1', [call('0xbb'), call('0xcc')])
  const expected = { priorityFee: 142_000, baselineMev: 58_000, external: 200_000 }
  assert.deepEqual(computeBidRewards(bid, delivered, receipts, [proposer]), expected)
  const poor = { priorityFee: 100_000, baselineMev: 0, external: 100_000 }
  assert.deepEqual(computeBidRewards({ ...bid, value: 100_000 }, delivered, receipts, [proposer]), poor)
})

test('a promised execution payment counts if there is such a transaction; otherwise the rewards are unknown', () => {
  const bid = { value: 200_000, executionPayment: 50_000 }
  const paying = block('0xb1', [call('0xbb'), payment('0xb1', 50_000n * gwei)])
  const expected = { priorityFee: 142_000, baselineMev: 108_000, external: 250_000 }
  assert.deepEqual(computeBidRewards(bid, paying, receipts, [proposer]), expected)
  const silent = block('0xb1', [call('0xbb'), call('0xcc')])
  assert.equal(computeBidRewards(bid, silent, receipts, [proposer]), undefined)
})

/** A node that returns these blocks in turn, the last one again and again. Invalid ones are refused, as by every client. */
function validating(...blocks: readonly object[]): Rpc {
  let requested = 0
  const replies = (call: RpcCall): RpcOutcome => {
    const isBlock = call.method === 'eth_getBlockByHash'
    const result = isBlock ? blocks[Math.min(requested++, blocks.length - 1)] : receipts
    const problem = call.validate?.(result)
    return problem === undefined ? { is: 'result', result } : { is: 'unusable', message: problem }
  }
  const call = async (calls: readonly RpcCall[]) => calls.map(replies)
  const results = async (calls: readonly RpcCall[]) =>
    calls.map(replies).map((outcome) => {
      if (outcome.is !== 'result') throw new Error(`execution node: ${outcome.is === 'unusable' && outcome.message}`)
      return outcome.result
    })
  return { call, results } as unknown as Rpc
}

test('since Gloas, an envelope that differs from the execution node is a contradiction of the beacon node', async () => {
  const bid = { blockHash: '0x2', parentBlockHash: '0x1', feeRecipient: proposer, value: 0, executionPayment: 0 }
  const executed = { ...fullBlock, parentHash: '0x1' }
  const envelope = { feeRecipient: proposer, baseFeeWei: 10n * gwei, transactions: 2 }
  const read = (rpc: Rpc, published: Partial<typeof envelope> | undefined) => {
    const given = { slot: 9, proposer: 4, bid, published: published && { ...envelope, ...published } }
    return createExecutionSource(rpc).read([given as unknown as ExecutedBlock], addressOf, signal)
  }
  const expected = new Map([[9, feesAlone]])
  assert.deepEqual(await read(validating(executed), {}), expected)
  assert.deepEqual(
    await read(validating(executed), undefined),
    expected,
    'without an envelope, the execution node is enough',
  )
  const altered: readonly (readonly [Partial<typeof envelope>, RegExp])[] = [
    [{ feeRecipient: '0xab' }, /another fee recipient/],
    [{ baseFeeWei: 9n * gwei }, /another base fee/],
    [{ transactions: 3 }, /another number of transactions/],
  ]
  for (const [published, problem] of altered) {
    await assert.rejects(read(validating(executed), published), (error: Error) => {
      assert(error instanceof ContradictionError)
      assert.match(error.message, /^slot 9: compared with the envelope of its payload, the block has /)
      assert.match(error.message, problem)
      return true
    })
  }
  // The first answer was wrong, not the envelope.
  assert.deepEqual(await read(validating({ ...executed, miner: '0xab' }, executed), {}), expected)
  // The bid is part of the beacon block, so an execution node that contradicts it is wrong.
  const isFailure = (error: Error) => !(error instanceof ContradictionError) && /another parent/.test(error.message)
  await assert.rejects(read(validating({ ...executed, parentHash: '0x7' }), {}), isFailure)
  await assert.rejects(read(validating({ ...executed, parentHash: '0x7' }), undefined), isFailure)
})
