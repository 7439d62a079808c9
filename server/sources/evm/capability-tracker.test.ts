// Several nodes of one chain, each with its own abilities and its own bad days; behaviour/explorer.md#node-capabilities.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Clock, ManualClock, systemClock } from '#runtime/clock.ts'
import { SimChain } from '#simulator/evm/chain.ts'
import { type SimCapabilities, SimNode } from '#simulator/evm/node.ts'
import { FetchError } from '../http-client.ts'
import { costs } from './capabilities.ts'
import { CapabilityTracker } from './capability-tracker.ts'
import { openRpc, type RpcCall } from './rpc.ts'

interface Sim {
  readonly node: SimNode
  readonly asked: string[]
  isDead: boolean
  /** Takes calls and never answers. */
  isMute: boolean
  /** Methods that are answered with an error that says nothing, so many times each. */
  readonly errors: Map<string, number>
}

const chain = new SimChain({ seed: 'abilities' })
chain.mine(40)

function stage(nodes: readonly SimCapabilities[], clock: Clock = systemClock) {
  const sims = nodes.map(
    (abilities): Sim => ({
      node: new SimNode(chain, abilities),
      asked: [],
      isDead: false,
      isMute: false,
      errors: new Map(),
    }),
  )
  const rpc = openRpc({
    chain: '1',
    rpc: sims.map((_, at) => ({ url: `http://${at}/`, perSecond: 0, batchMax: 1, timeoutMs: 1000 })),
    clock,
    backoffMs: clock === systemClock ? 0 : 250,
    async post(url, { body }) {
      const sim = sims[Number(new URL(url).hostname.split('.').at(-1))] ?? assert.fail(url)
      if (sim.isDead) throw new FetchError('network', `${url} cannot be reached`)
      if (sim.isMute) await new Promise(() => {})
      const { id, method } = JSON.parse(body ?? '') as { id: number; method: string }
      sim.asked.push(method)
      const left = sim.errors.get(method) ?? 0
      sim.errors.set(method, left - 1)
      if (left > 0) return JSON.stringify({ id, error: { code: -32603, message: 'internal error' } })
      return (await sim.node.respond(body ?? '')).text
    },
  })
  return { sims, rpc, abilities: new CapabilityTracker(rpc, 0, clock), sim: (at: number) => sims[at] ?? assert.fail() }
}

const probing = { mode: 'probe', finalityBlocks: 0 } as const
const flat: SimCapabilities = { traces: ['trace_block'], filterBlocks: 1000 }
const nested: SimCapabilities = { traces: ['debug_traceBlockByNumber'] }
const untraced: SimCapabilities = { traces: [] }

/** Lets everything happen that needs no time. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 300; turn++) await null
}

describe('each on its own', () => {
  test('what one node lacks another may have, and each is told of by itself', async () => {
    const { abilities } = stage([{ ...untraced, stateBlocks: 5 }, flat])
    const all = await abilities.perNode()
    assert.deepEqual(
      all.map(({ can, trouble }) => [can?.traces, can?.has['historical balance'], can?.head, trouble]),
      [
        [undefined, false, 40, undefined],
        ['trace_block', true, 40, undefined],
      ],
    )
    const can = await abilities.combined()
    assert.deepEqual([can.traces, can.has['historical balance'], can.isClear], ['trace_block', true, true])
  })

  test('one that cannot be reached has no abilities, and lends none to the others', async () => {
    const at = stage([flat, untraced])
    at.sim(0).isDead = true
    const [dead, other] = await at.abilities.perNode()
    assert.deepEqual([dead?.can, other?.can?.has.debug_traceTransaction], [undefined, false])
    assert.match(dead?.trouble ?? '', /cannot be reached/)
    const can = await at.abilities.combined()
    assert.match(costs(can, probing).join(), /internal transfers not seen/)
  })

  test('nobody can be reached: the first failure is the answer, and the next question asks again', async () => {
    const at = stage([flat, flat])
    for (const sim of at.sims) sim.isDead = true
    await assert.rejects(at.abilities.combined(), { code: 'explorer.node_unavailable' })
    for (const sim of at.sims) sim.isDead = false
    assert.equal((await at.abilities.combined()).traces, 'trace_block')
  })
})

describe('nobody is waited for who does not answer', () => {
  test('one that told is enough, and the others get a moment', async () => {
    const clock = new ManualClock(0)
    const at = stage([flat, nested], clock)
    at.sim(0).isMute = true
    let can: string | undefined
    void at.abilities.combined().then(({ traces }) => {
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

  test("the caller's time is the longest", async () => {
    const clock = new ManualClock(0)
    const at = stage([flat], clock)
    at.sim(0).isDead = true
    const failed = assert.rejects(at.abilities.combined({ untilMs: 100 }), { code: 'explorer.node_unavailable' })
    await settled()
    clock.advance(100)
    await failed
  })
})

describe('what is not clear', () => {
  test('an error that passes is asked about again at once', async () => {
    const at = stage([flat])
    at.sim(0).errors.set('trace_block', 1)
    const can = await at.abilities.combined()
    assert.deepEqual([can.traces, can.isClear], ['trace_block', true])
  })

  test('so is one of trace_filter', async () => {
    const at = stage([flat])
    at.sim(0).errors.set('trace_filter', 1)
    const can = await at.abilities.combined()
    assert.deepEqual([can.has.trace_filter, can.isClear], [true, true])
  })

  test('one that was away is asked again within a minute of coming back, however long it was', async () => {
    const clock = new ManualClock(0)
    const at = stage([flat, nested], clock)
    at.sim(0).isDead = true
    /** Asks every second of a bit more than a minute. */
    const ask = async () => {
      for (let second = 0; second < 80; second++) {
        void at.abilities.combined()
        await settled()
        clock.advance(1000)
      }
    }
    for (let minutes = 0; minutes < 40; minutes++) await ask()
    assert.equal((await at.abilities.combined()).traces, 'debug_traceBlockByNumber')
    at.sim(0).isDead = false
    await ask()
    assert.equal((await at.abilities.combined()).traces, 'trace_block')
  })

  test('one that stays counts as no, for seconds instead of an hour', async () => {
    const clock = new ManualClock(0)
    const at = stage([nested], clock)
    at.sim(0).errors.set('debug_traceBlockByNumber', 2)
    assert.deepEqual([(await at.abilities.combined()).traces, at.abilities.known()?.isClear], [undefined, false])
    clock.advance(10_000)
    await at.abilities.combined()
    await settled()
    assert.deepEqual([at.abilities.known()?.traces, at.abilities.known()?.isClear], ['debug_traceBlockByNumber', true])
    const before = at.sim(0).asked.length
    clock.advance(3_599_000)
    await at.abilities.combined()
    await settled()
    assert.equal(at.sim(0).asked.length, before)
    clock.advance(1000)
    await at.abilities.combined()
    await settled()
    assert.ok(at.sim(0).asked.length > before)
  })
})

describe('whom to ask', () => {
  test('ways to read go from the cheapest on, and nobody reads without traces where others have them', async () => {
    const at = stage([untraced, { traces: ['debug_traceTransaction'] }, flat, nested, flat])
    await at.abilities.perNode()
    const ways = at.abilities.blockSources().map(({ form, rpc }) => [form, rpc.health().length])
    assert.deepEqual(ways, [
      ['trace_block', 2],
      ['debug_traceBlockByNumber', 1],
      ['debug_traceTransaction', 1],
    ])
    const without = stage([untraced])
    await without.abilities.perNode()
    assert.deepEqual(
      without.abilities.blockSources().map(({ form }) => form),
      ['eth_getTransactionReceipt'],
    )
  })

  test('lists are asked of those whose index can be believed, and of nobody once they are refuted', async () => {
    const at = stage([{ ...flat, filterLacks: (block) => block < 30 }, nested, flat])
    await at.abilities.perNode()
    const call: RpcCall = { method: 'trace_filter', params: [{ fromBlock: '0x0', toBlock: '0x1' }] }
    await at.abilities.traceFilterNodes().call([call])
    assert.deepEqual(
      at.sims.map(({ asked }) => asked.at(-1) === 'trace_filter'),
      [false, false, true],
    )
    at.abilities.distrustTraceFilter()
    assert.deepEqual([at.abilities.known()?.has.trace_filter, at.abilities.known()?.filterBlocks], [false, 0])
  })
})
