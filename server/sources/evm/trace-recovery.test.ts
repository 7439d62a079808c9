// Nodes that cannot trace a block, or one of its transactions.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { LimitedNode, type SimulatedCapabilities } from '#test/simulator/limited-node.ts'
import { FetchError } from '../http-client.ts'
import { readBlocks } from './blocks.ts'
import { CallFault, openRpc } from './rpc.ts'
import { UnreadableBlock } from './trace-recovery.ts'
import type { TraceForm } from './types.ts'

const chain = new SimulatedChain({ seed: 'recovery', busy: 8, destroyedMaySend: false })
chain.mine(30)
const numbers = Array.from({ length: 30 }, (_, at) => at + 1)
const forms: readonly TraceForm[] = ['trace_block', 'debug_traceBlockByNumber', 'debug_traceTransaction']

type Alter = (method: string, params: readonly unknown[], result: unknown) => unknown

function openNode(
  capabilities: SimulatedCapabilities,
  isDown: (method: string) => boolean = () => false,
  alter: Alter = (_method, _params, result) => result,
) {
  const simulated = new LimitedNode(chain, capabilities)
  const sent: { readonly method: string; readonly params: readonly unknown[] }[] = []
  const rpc = openRpc({
    chain: '1',
    rpc: [{ url: 'http://simulator/', perSecond: 0, batchMax: 50, timeoutMs: 10_000 }],
    clock: systemClock,
    backoffMs: 0,
    post: async (_, { body = '' }) => {
      const calls = [JSON.parse(body)].flat()
      sent.push(...calls)
      if (calls.some(({ method }) => isDown(method)))
        throw new FetchError('network', 'http://simulator cannot be reached')
      const replies = [JSON.parse((await simulated.respond(body)).text)].flat()
      for (const reply of replies) {
        const { method, params } = calls.find(({ id }) => id === reply.id) ?? assert.fail()
        if ('result' in reply) reply.result = alter(method, params, reply.result)
      }
      return JSON.stringify(calls.length === 1 ? replies[0] : replies)
    },
  })
  return { rpc, sent }
}

const expected = await readBlocks(openNode({ traces: ['trace_block'] }).rpc, 'trace_block', numbers)
const everyThird = (hash: string) => Number.parseInt(hash.slice(-2), 16) % 3 === 0

for (const form of forms.slice(0, 2)) {
  test(`${form}: transactions that cannot be traced with the block are traced one by one`, async () => {
    const untraceable = (hash: string, method: string) => method === form && everyThird(hash)
    const { rpc, sent } = openNode({ traces: forms, untraceable })
    assert.deepEqual(await readBlocks(rpc, form, numbers), expected)
    const single = form === 'trace_block' ? 'trace_transaction' : 'debug_traceTransaction'
    assert.ok(sent.some(({ method }) => method === single))
  })
}

for (const form of forms.slice(0, 2)) {
  test(`${form}: if the traces of a block cannot be read, its transactions are traced one by one`, async () => {
    const { rpc } = openNode({ traces: forms, malformed: (hash, method) => method === form && everyThird(hash) })
    assert.deepEqual(await readBlocks(rpc, form, numbers), expected)
  })
}

for (const form of forms) {
  test(`${form}: a plain transfer without a trace is read from its receipt`, async () => {
    const plain = new Set(
      chain.blocks.flatMap(({ number, transactions }) =>
        transactions.flatMap(({ hash, to }) =>
          to !== null && [number, number - 1].every((at) => chain.accountAt(to, at).code === '0x') ? [hash] : [],
        ),
      ),
    )
    assert.ok(plain.size > 10)
    const { rpc } = openNode({ traces: forms, untraceable: (hash) => plain.has(hash) })
    assert.deepEqual(await readBlocks(rpc, form, numbers), expected)
  })

  test(`${form}: a transfer to an account that was delegated within the block is not read from its receipt`, async () => {
    const authority = privateKeyToAccount(`0x${'5a'.repeat(32)}`)
    const {
      r,
      s,
      yParity = 0,
    } = await authority.signAuthorization({ chainId: 1, address: `0x${'0'.repeat(40)}`, nonce: 0 })
    const authorization = {
      chainId: '0x1',
      address: `0x${'0'.repeat(40)}`,
      nonce: '0x0',
      yParity: `0x${yParity}`,
      r,
      s,
    }
    const block = chain.blocks.find(({ transactions }) => transactions.some(({ to }) => to !== null)) ?? assert.fail()
    const { hash } = block.transactions.find(({ to }) => to !== null) ?? assert.fail()
    const read = (authorizationList: readonly object[]) => {
      const alter: Alter = (method, _, result) => {
        if (method !== 'eth_getBlockByNumber') return result
        const { transactions, ...rest } = result as { transactions: { hash: string }[] }
        const to = authority.address
        return {
          ...rest,
          transactions: transactions.map((tx) => (tx.hash === hash ? { ...tx, to, authorizationList } : tx)),
        }
      }
      const { rpc } = openNode({ traces: forms, untraceable: (candidate) => candidate === hash }, undefined, alter)
      return readBlocks(rpc, form, [block.number])
    }
    assert.equal((await read([]))[0]?.block.number, block.number)
    await assert.rejects(read([authorization]), UnreadableBlock)
  })

  test(`${form}: a contract call without a trace makes the block unreadable; the error has the node and its message`, async () => {
    const { block, hash } = callOfContract()
    const { rpc } = openNode({ traces: forms, untraceable: (candidate) => candidate === hash })
    await assert.rejects(readBlocks(rpc, form, numbers), (error) => {
      assert.ok(error instanceof UnreadableBlock)
      assert.equal(error.block, block)
      assert.match(
        error.message,
        new RegExp(`block ${block} cannot be read: .*${hash}.*http://simulator.*execution timeout`),
      )
      return true
    })
  })

  test(`${form}: a trace that cannot be read is that of one transaction, and the error names block, transaction and cause`, async () => {
    const { block, hash } = callOfContract()
    const { rpc } = openNode({ traces: forms, malformed: (candidate) => candidate === hash })
    await assert.rejects(readBlocks(rpc, form, numbers), (error) => {
      assert.ok(error instanceof UnreadableBlock, String(error))
      assert.equal(error.block, block)
      const cause = form === 'trace_block' ? 'a call is incomplete' : 'a trace has no recipient'
      assert.match(error.message, new RegExp(`block ${block} cannot be read: .*${hash}.*http://simulator.*${cause}`))
      return true
    })
  })

  test(`${form}: an unreachable node is not an unreadable block`, async () => {
    const { rpc } = openNode({ traces: forms }, (method) => method === form)
    await assert.rejects(readBlocks(rpc, form, numbers), (error) => error instanceof CallFault)
  })
}

test('the tracer gets a time limit that ends before that of the request', async () => {
  for (const form of forms.slice(1)) {
    const { rpc, sent } = openNode({ traces: forms })
    await readBlocks(rpc, form, numbers)
    const options = sent.filter(({ method }) => method === form).map(({ params }) => params[1])
    assert.ok(options.length > 0)
    for (const option of options) assert.deepEqual(option, { tracer: 'callTracer', timeout: '8s' })
  }
})

function callOfContract(): { readonly block: number; readonly hash: string } {
  for (const { number, transactions } of chain.blocks)
    for (const { hash, to } of transactions)
      if (to !== null && chain.accountAt(to, number - 1).code !== '0x') return { block: number, hash }
  return assert.fail('no transaction calls a contract')
}

test('a block that cannot be read is named, with its problem', async () => {
  const { rpc } = openNode({ traces: forms }, undefined, (method, params, result) =>
    method === 'eth_getBlockByNumber' && Number(params[0]) === 7
      ? { ...(result as object), transactions: null }
      : result,
  )
  await assert.rejects(readBlocks(rpc, 'trace_block', numbers), (error) => {
    assert.ok(error instanceof UnreadableBlock, String(error))
    assert.equal(error.block, 7)
    assert.match(error.message, /block 7 cannot be read: http:\/\/simulator.*a block without transactions/)
    return true
  })
})

test('a block that the node does not have is not an unreadable one', async () => {
  const { rpc } = openNode({ traces: forms })
  await assert.rejects(readBlocks(rpc, 'trace_block', [30, 31]), (error) => error instanceof CallFault)
})
