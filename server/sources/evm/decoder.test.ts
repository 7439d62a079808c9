// Large responses are decoded on a worker thread, with the same outcomes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { tracedBlock } from '#test/simulator/traced-block.ts'
import { FetchError } from '../http-client.ts'
import { type DecodableCall, outcomesIn } from './batch-results.ts'
import { readBlocks } from './blocks.ts'
import { decodeBatch } from './decoder.ts'
import { openRpc } from './rpc.ts'
import type { TraceForm } from './types.ts'

const chain = new SimulatedChain({ seed: 'large', busy: 60 })
chain.mine(12)
const blocks = Array.from({ length: 12 }, (_, at) => at + 1)

function rpcTo(node: LimitedNode, asBytes: boolean) {
  return openRpc({
    chain: '1',
    rpc: [{ url: 'http://simulator/', perSecond: 0, batchMax: 50, timeoutMs: 1000 }],
    clock: systemClock,
    backoffMs: 0,
    post: async (_, { body }) => {
      const { text } = await node.respond(body ?? '')
      return asBytes ? new TextEncoder().encode(text) : text
    },
  })
}

/** The longest text that was parsed on this thread during the work. */
async function longestParsed(work: () => Promise<unknown>): Promise<number> {
  const { parse } = JSON
  let longest = 0
  JSON.parse = (text: string, ...more: never[]) => {
    longest = Math.max(longest, text.length)
    return parse(text, ...more)
  }
  try {
    await work()
    return longest
  } finally {
    JSON.parse = parse
  }
}

for (const form of ['trace_block', 'debug_traceBlockByNumber'] satisfies TraceForm[]) {
  test(`${form}: traces decoded on the thread are equal to traces decoded here`, async () => {
    const node = new LimitedNode(chain, { traces: [form], inputBytes: 2000 })
    const onThread = await readBlocks(rpcTo(node, true), form, blocks)
    const onMainThread = await readBlocks(rpcTo(node, false), form, blocks)
    assert.deepEqual(onThread, onMainThread)
    const transferCount = onThread.reduce(
      (sum, { execution }) => sum + (execution.form === 'traced' ? execution.transfers.flat().length : 0),
      0,
    )
    assert.equal(
      transferCount,
      chain.blocks.slice(1, 13).reduce((sum, { transfers }) => sum + transfers.length, 0),
    )
  })
}

test('whole blocks are requested four at a time if they are large, and in growing batches if they are small', async () => {
  const quiet = new SimulatedChain({ seed: 'quiet', busy: 4 })
  quiet.mine(12)
  const sizesOf = async (node: LimitedNode) => {
    const sizes: Record<string, number[]> = { eth_getBlockByNumber: [], trace_block: [] }
    node.meanwhile = (body) => {
      const calls = [JSON.parse(body)].flat() as { readonly method: string }[]
      sizes[calls[0]?.method ?? '']?.push(calls.length)
    }
    await readBlocks(rpcTo(node, false), 'trace_block', blocks)
    return sizes
  }
  const large = new LimitedNode(chain, { traces: ['trace_block'], inputBytes: 2000 })
  assert.deepEqual(await sizesOf(large), { eth_getBlockByNumber: [4, 8], trace_block: [4, 4, 4] })
  const traced = quiet.blocks.slice(1).filter(({ transactions }) => transactions.length > 0).length
  const small = new LimitedNode(quiet, { traces: ['trace_block'] })
  assert.deepEqual(await sizesOf(small), { eth_getBlockByNumber: [4, 8], trace_block: [4, traced - 4] })
})

test('large responses are not parsed on this thread', async () => {
  const block = chain.blocks.toSorted((a, b) => b.transactions.length - a.transactions.length)[0]
  assert.ok(block)
  const { method, params } = { method: 'trace_block', params: [block.number] }
  const node = new LimitedNode(chain, { traces: ['trace_block'], inputBytes: 2000 })
  const { text } = await node.respond(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  assert.ok(text.length > 256 * 1024, `${text.length} bytes`)
  const calls: DecodableCall[] = [{ method, resultKind: { as: 'flat', block: tracedBlock(block) } }]
  const bytes = new TextEncoder().encode(text)
  assert.ok((await longestParsed(() => decodeBatch(bytes, 1, calls))) < 1000)
  assert.deepEqual(await decodeBatch(bytes, 1, calls), outcomesIn(text, 1, calls))
})

test('the thread reports the same problems as this thread, and continues', async () => {
  const filler = ' '.repeat(300_000)
  const transaction = { hash: `0x${'1'.repeat(64)}`, index: 0, from: `0x${'a'.repeat(40)}`, to: null, valueWei: 0n }
  const calls: DecodableCall[] = ['a', 'b'].map((method) => ({ method, resultKind: { as: 'frame', transaction } }))
  for (const text of [
    '<html>',
    '{"id":null}',
    '[{"id":7,"result":{}},{"id":8,"error":{"code":-32000,"message":"no"}}]',
  ]) {
    assert.deepEqual(await decodeBatch(new TextEncoder().encode(text + filler), 7, calls), outcomesIn(text, 7, calls))
  }
})

test('an error in the thread fails only that response', async () => {
  const bytes = new TextEncoder().encode(`{"id":1,"result":[]}${' '.repeat(300_000)}`)
  const kind = { as: 'flat', block: undefined } as never
  await assert.rejects(decodeBatch(bytes, 1, [{ method: 'a', resultKind: kind }]), FetchError)
  assert.equal(
    await decodeBatch(new TextEncoder().encode(`x${' '.repeat(300_000)}`), 1, [{ method: 'a', resultKind: kind }]),
    'not JSON',
  )
})
