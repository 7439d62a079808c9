// Several nodes of one chain with different capabilities and failures; behaviour/explorer.md#node-capabilities.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Clock, systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { LimitedNode, type SimulatedCapabilities } from '#test/simulator/limited-node.ts'
import { FetchError } from '../http-client.ts'
import { describeLimitations } from './capabilities.ts'
import { createCapabilityTracker } from './capability-tracker.ts'
import { openRpc } from './rpc.ts'

interface TestNode {
  readonly node: LimitedNode
  readonly methods: string[]
  isDown: boolean
  /** Accepts calls and never responds. */
  isSilent: boolean
  /** How often each method returns a general error. */
  readonly errors: Map<string, number>
}

const chain = new SimulatedChain({ seed: 'capabilities' })
chain.mine(40)

function openNodes(nodes: readonly SimulatedCapabilities[], clock: Clock = systemClock) {
  const testNodes = nodes.map(
    (capabilities): TestNode => ({
      node: new LimitedNode(chain, capabilities),
      methods: [],
      isDown: false,
      isSilent: false,
      errors: new Map(),
    }),
  )
  const rpc = openRpc({
    chain: '1',
    rpc: testNodes.map((_, at) => ({ url: `http://${at}/`, perSecond: 0, batchMax: 1, timeoutMs: 1000 })),
    clock,
    backoffMs: clock === systemClock ? 0 : 250,
    async post(url, { body }) {
      const testNode = testNodes[Number(new URL(url).hostname.split('.').at(-1))] ?? assert.fail(url)
      if (testNode.isDown) throw new FetchError('network', `${url} cannot be reached`)
      if (testNode.isSilent) await new Promise(() => {})
      const { id, method } = JSON.parse(body ?? '') as { id: number; method: string }
      testNode.methods.push(method)
      const left = testNode.errors.get(method) ?? 0
      testNode.errors.set(method, left - 1)
      if (left > 0) return JSON.stringify({ id, error: { code: -32603, message: 'internal error' } })
      return (await testNode.node.respond(body ?? '')).text
    },
  })
  return {
    testNodes,
    rpc,
    tracker: createCapabilityTracker(rpc, 0, clock),
    testNode: (at: number) => testNodes[at] ?? assert.fail(),
  }
}

const probing = { mode: 'probe', finalityBlocks: 0 } as const
const flat: SimulatedCapabilities = { traces: ['trace_block'], filterBlocks: 1000 }
const nested: SimulatedCapabilities = { traces: ['debug_traceBlockByNumber'] }
const untraced: SimulatedCapabilities = { traces: [] }

/** Runs everything that does not wait for the clock. */
async function settled(): Promise<void> {
  for (let tick = 0; tick < 300; tick++) await null
}

describe('each node', () => {
  test('has its own capabilities, which are combined', async () => {
    const { tracker } = openNodes([{ ...untraced, stateBlocks: 5 }, flat])
    const all = await tracker.perNode()
    assert.deepEqual(
      all.map(({ can, trouble }) => [can?.traces, can?.has['historical balance'], can?.head, trouble]),
      [
        [undefined, false, 40, undefined],
        ['trace_block', true, 40, undefined],
      ],
    )
    const can = await tracker.combined()
    assert.deepEqual([can.traces, can.has['historical balance'], can.isClear], ['trace_block', true, true])
  })

  test('has no capabilities while it is unreachable', async () => {
    const setup = openNodes([flat, untraced])
    setup.testNode(0).isDown = true
    const [down, other] = await setup.tracker.perNode()
    assert.deepEqual([down?.can, other?.can?.has.debug_traceTransaction], [undefined, false])
    assert.match(down?.trouble ?? '', /cannot be reached/)
    const can = await setup.tracker.combined()
    assert.match(describeLimitations(can, probing).join(), /no traces: only plain transfers/)
  })

  test('is tested again by the next call if all were unreachable', async () => {
    const setup = openNodes([flat, flat])
    for (const testNode of setup.testNodes) testNode.isDown = true
    await assert.rejects(setup.tracker.combined(), { code: 'explorer.node_unavailable' })
    for (const testNode of setup.testNodes) testNode.isDown = false
    assert.equal((await setup.tracker.combined()).traces, 'trace_block')
  })
})

describe('waiting for nodes', () => {
  test('ends two seconds after the first node was tested', async () => {
    const clock = new ManualClock(0)
    const setup = openNodes([flat, nested], clock)
    setup.testNode(0).isSilent = true
    let can: string | undefined
    void setup.tracker.combined().then(({ traces }) => {
      can = traces
    })
    await settled()
    clock.advance(1999)
    await settled()
    assert.equal(can, undefined)
    clock.advance(1)
    await settled()
    assert.equal(can, 'debug_traceBlockByNumber')
  })

  test('ends at the deadline of the caller', async () => {
    const clock = new ManualClock(0)
    const setup = openNodes([flat], clock)
    setup.testNode(0).isDown = true
    const failed = assert.rejects(setup.tracker.combined({ untilMs: 100 }), { code: 'explorer.node_unavailable' })
    await settled()
    clock.advance(100)
    await failed
  })
})

describe('unclear results', () => {
  test('a temporary error is retried immediately', async () => {
    const setup = openNodes([flat])
    setup.testNode(0).errors.set('trace_block', 1)
    const can = await setup.tracker.combined()
    assert.deepEqual([can.traces, can.isClear], ['trace_block', true])
  })

  test('a temporary error of trace_filter is retried immediately', async () => {
    const setup = openNodes([flat])
    setup.testNode(0).errors.set('trace_filter', 1)
    const can = await setup.tracker.combined()
    assert.deepEqual([can.has.trace_filter, can.isClear], [true, true])
  })

  test('a node is tested again within a minute after it is back', async () => {
    const clock = new ManualClock(0)
    const setup = openNodes([flat, nested], clock)
    setup.testNode(0).isDown = true
    /** Calls every second for slightly more than a minute. */
    const callForMinute = async () => {
      for (let second = 0; second < 80; second++) {
        void setup.tracker.combined()
        await settled()
        clock.advance(1000)
      }
    }
    for (let minutes = 0; minutes < 40; minutes++) await callForMinute()
    assert.equal((await setup.tracker.combined()).traces, 'debug_traceBlockByNumber')
    setup.testNode(0).isDown = false
    await callForMinute()
    assert.equal((await setup.tracker.combined()).traces, 'trace_block')
  })

  test('a persistent error means unsupported, for seconds instead of an hour', async () => {
    const clock = new ManualClock(0)
    const setup = openNodes([nested], clock)
    setup.testNode(0).errors.set('debug_traceBlockByNumber', 2)
    assert.deepEqual([(await setup.tracker.combined()).traces, setup.tracker.known()?.isClear], [undefined, false])
    clock.advance(10_000)
    await setup.tracker.combined()
    await settled()
    assert.deepEqual(
      [setup.tracker.known()?.traces, setup.tracker.known()?.isClear],
      ['debug_traceBlockByNumber', true],
    )
    const before = setup.testNode(0).methods.length
    clock.advance(3_599_000)
    await setup.tracker.combined()
    await settled()
    assert.equal(setup.testNode(0).methods.length, before)
    clock.advance(1000)
    await setup.tracker.combined()
    await settled()
    assert.ok(setup.testNode(0).methods.length > before)
  })
})

describe('choosing nodes', () => {
  test('blocks are read by the cheapest method, and with traces if any node has them', async () => {
    const setup = openNodes([untraced, { traces: ['debug_traceTransaction'] }, flat, nested, flat])
    await setup.tracker.perNode()
    const sources = setup.tracker.blockSources().map(({ form, rpc }) => [form, rpc.health().length])
    assert.deepEqual(sources, [
      ['trace_block', 2],
      ['debug_traceBlockByNumber', 1],
      ['debug_traceTransaction', 1],
    ])
    const without = openNodes([untraced])
    await without.tracker.perNode()
    assert.deepEqual(
      without.tracker.blockSources().map(({ form }) => form),
      ['eth_getTransactionReceipt'],
    )
  })

  test('trace_filter goes to nodes with a complete index that fit, those with the longest range', async () => {
    const setup = openNodes([{ ...flat, filterLacks: (block) => block < 30 }, nested, flat, nested, flat])
    await setup.tracker.perNode()
    assert.deepEqual(setup.tracker.traceFilter(() => true)?.nodes, [2, 4])
    assert.deepEqual(setup.tracker.traceFilter((index) => index !== 2)?.nodes, [4])
    assert.equal(
      setup.tracker.traceFilter((index) => index < 2),
      undefined,
    )
  })
})
