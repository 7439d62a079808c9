import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { type AmsterdamOptions, createAmsterdamChain } from '#test/simulator/amsterdam.ts'
import { LimitedNode, type SimulatedCapabilities } from '#test/simulator/limited-node.ts'
import { FetchError } from '../http-client.ts'
import { describeLimitations, detectCapabilities } from './capabilities.ts'
import { openRpc } from './rpc.ts'

function mined(blocks: number): SimulatedChain {
  const chain = new SimulatedChain({ seed: 'capabilities' })
  chain.mine(blocks)
  return chain
}

const detect = (capabilities: SimulatedCapabilities, chain = mined(40)) =>
  detectAt(new LimitedNode(chain, capabilities))

function detectAt(simulated: LimitedNode) {
  const rpc = openRpc({
    chain: '1',
    rpc: [{ url: 'http://simulator/', perSecond: 0, batchMax: 50, timeoutMs: 1000 }],
    clock: systemClock,
    post: async (_, { body }) => (await simulated.respond(body ?? '')).text,
    backoffMs: 0,
  })
  return detectCapabilities(rpc, 0, systemClock)
}

const all: SimulatedCapabilities = {
  traces: ['trace_block', 'debug_traceBlockByNumber', 'debug_traceTransaction'],
  receipts: true,
  accessLists: true,
  filterBlocks: 1000,
}
const probing = { mode: 'probe', finalityBlocks: 0 } as const

function afterAmsterdam(amsterdamFrom = 1, options?: AmsterdamOptions): SimulatedChain {
  const payments = [{ block: 40, account: 0, ether: 1 }]
  const chain = createAmsterdamChain({ seed: 'capabilities', amsterdamFrom, payments }, options)
  chain.mine(40)
  return chain
}

test('a node with all capabilities has no limitations, and the cheapest trace method is chosen', async () => {
  const can = await detect(all, afterAmsterdam())
  assert.deepEqual(new Set(Object.values(can.has)), new Set([true]))
  assert.deepEqual([can.traces, can.head, describeLimitations(can, probing)], ['trace_block', 40, []])
  assert.equal(can.logs, 'eth_getBlockReceipts')
})

test('logs are used only of a chain whose newest blocks are from after Amsterdam, and only if they are complete', async () => {
  const logsOf = async (capabilities: SimulatedCapabilities, amsterdamFrom: number, options?: AmsterdamOptions) => {
    const can = await detect(capabilities, afterAmsterdam(amsterdamFrom, options))
    return [can.has['transfer logs'], can.has.eth_getBlockAccessList, can.logs]
  }
  assert.deepEqual(await logsOf(all, 1000), [false, false, undefined], 'before the fork')
  assert.deepEqual(await logsOf({ ...all, accessLists: false }, 30), [true, false, 'eth_getBlockReceipts'])
  const oneByOne: SimulatedCapabilities = { ...all, traces: [], receipts: false }
  assert.deepEqual(await logsOf(oneByOne, 30), [true, true, 'eth_getTransactionReceipt'])
  const slower: SimulatedCapabilities = { ...all, receipts: false }
  assert.deepEqual(await logsOf(slower, 30), [true, true, undefined], 'traces of blocks, receipts one by one')
  const withoutLogs = await logsOf(all, 30, { omitsLogs: 'all' })
  assert.deepEqual(withoutLogs, [false, true, undefined], 'EIP-7928 without EIP-7708')
  const limitation = describeLimitations(await detect({ ...all, traces: [] }, afterAmsterdam()), probing).join()
  assert.match(limitation, /no traces: blocks from before the Amsterdam fork cannot be indexed/)
})

test('an access list is used only if it has the hash of the header', async () => {
  class OtherNames extends LimitedNode {
    protected override resultOf(method: string, params: readonly unknown[]): unknown {
      const result = super.resultOf(method, params)
      if (method !== 'eth_getBlockAccessList') return result
      return JSON.parse(JSON.stringify(result).replaceAll('"index"', '"blockAccessIndex"'))
    }
  }
  const { has, logs, isClear } = await detectAt(new OtherNames(afterAmsterdam(), all))
  assert.deepEqual([has.eth_getBlockAccessList, logs, isClear], [false, 'eth_getBlockReceipts', true])
  assert.equal((await detectAt(new LimitedNode(afterAmsterdam(), all))).has.eth_getBlockAccessList, true)
})

test('headers can be verified if their known fields have the hash of the block', async () => {
  const hasHeaderHash = async (chain: SimulatedChain) => (await detect(all, chain)).has['header hash']
  assert.equal(await hasHeaderHash(afterAmsterdam()), true)
  assert.equal(await hasHeaderHash(afterAmsterdam(1000)), false, 'before the fork')
  assert.equal(await hasHeaderHash(afterAmsterdam(1, { hasNewField: true })), false)
})

test('each missing capability is detected, and its limitation described', async () => {
  const cases: [SimulatedCapabilities, string | undefined, RegExp][] = [
    [{ ...all, traces: [] }, undefined, /no traces: only plain transfers/],
    [{ ...all, traces: [], receipts: false }, undefined, /no eth_getBlockReceipts/],
    [{ ...all, traces: ['debug_traceTransaction'] }, 'debug_traceTransaction', /one call per transaction/],
    [{ ...all, stateBlocks: 10 }, 'trace_block', /no historical state/],
    [{ ...all, filterBlocks: 0 }, 'trace_block', /no trace_filter/],
  ]
  for (const [capabilities, traces, limitation] of cases) {
    const can = await detect(capabilities)
    assert.equal(can.traces, traces)
    assert.match(describeLimitations(can, probing).join('; '), limitation)
  }
})

test('without a final block, a chain is waiting while it is young; later it needs finalityBlocks', async () => {
  for (const [blocks, isWaiting] of [
    [100, true],
    [200, false],
  ] as const) {
    const can = await detect({ ...all, finalized: false }, mined(blocks))
    assert.equal(can.awaitsFinality, isWaiting)
    assert.equal(describeLimitations(can, probing).join().includes('set finalityBlocks'), !isWaiting)
  }
})

test('a chain that is being indexed is not advised to change its mode', async () => {
  for (const filterBlocks of [0, 100]) {
    const chain = mined(200)
    const limitations = describeLimitations(await detect({ ...all, filterBlocks }, chain), { ...probing, mode: 'both' })
    assert.match(limitations.join(), /trace_filter.*wait until the index has read the chain/)
    assert.doesNotMatch(limitations.join(), /mode:/)
  }
})

describe('a node that ignores callTracer', () => {
  const ignoring: SimulatedCapabilities = {
    traces: ['debug_traceBlockByNumber', 'debug_traceTransaction'],
    ignoresTracer: true,
  }

  test('has no traces; the result is clear, and the limitation names the methods', async () => {
    const can = await detect(ignoring)
    assert.deepEqual(
      [can.has.debug_traceBlockByNumber, can.has.debug_traceTransaction, can.traces, can.isClear],
      [false, false, undefined, true],
    )
    assert.match(
      describeLimitations(can, probing).join('; '),
      /no traces \(no call traces from debug_traceBlockByNumber and debug_traceTransaction\): only plain transfers/,
    )
  })

  test('is recognized if its newest blocks have no transactions', async () => {
    const chain = mined(40)
    while (chain.head.transactions.length > 0 || chain.blocks.at(-2)?.transactions.length !== 0) chain.mine()
    assert.equal((await detect(ignoring, chain)).traces, undefined)
    assert.equal((await detect(all, chain)).traces, 'trace_block')
  })

  test('counts as tracing, until the next test, if its chain has no transaction to try', async () => {
    const chain = new SimulatedChain({ seed: 'capabilities', busy: 0 })
    chain.mine(40)
    assert.ok(chain.blocks.every(({ transactions }) => transactions.length === 0))
    const can = await detect(ignoring, chain)
    assert.deepEqual([can.traces, can.isClear], ['debug_traceBlockByNumber', false])
  })
})

test('a pruned node is detected even if it keeps the first state', async () => {
  const can = await detect({ ...all, stateBlocks: 30 })
  assert.equal(can.has['historical balance'], false)
})

test('historical state is not needed for a chain that is only indexed', async () => {
  const can = await detect({ ...all, stateBlocks: 10 })
  assert.deepEqual(describeLimitations(can, { mode: 'index', finalityBlocks: 0 }), [])
})

test('a method that never responds does not delay the other tests', async () => {
  const chain = afterAmsterdam()
  const methods = ['trace_filter', 'trace_block', 'debug_traceBlockByNumber', 'eth_getBlockReceipts']
  for (const slow of [...methods, 'eth_getBlockAccessList']) {
    const clock = new ManualClock(0)
    const simulated = new LimitedNode(chain, all)
    const rpc = openRpc({
      chain: '1',
      rpc: [{ url: 'http://simulator/', perSecond: 0, batchMax: 50, timeoutMs: 10_000 }],
      clock,
      post: async (_, { body = '', timeoutMs }) => {
        if (!body.includes(slow)) return (await simulated.respond(body)).text
        await clock.sleep(timeoutMs)
        throw new FetchError('timeout', `no response within ${timeoutMs} ms`)
      },
    })
    let isDone = false
    const detection = detectCapabilities(rpc, 0, clock).finally(() => {
      isDone = true
    })
    while (!isDone) {
      for (let tick = 0; tick < 100; tick++) await null
      if (!isDone) clock.advance(100)
    }
    const { has } = await detection
    const missing = Object.entries(has).flatMap(([name, isSupported]) => (isSupported ? [] : [name]))
    assert.deepEqual(missing, [slow])
    assert.equal(rpc.health()[0]?.trouble, undefined)
  }
})
