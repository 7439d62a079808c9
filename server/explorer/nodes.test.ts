// Several nodes of one chain with different capabilities (behaviour/explorer.md#node-capabilities).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { FetchError } from '#sources/http-client.ts'
import { settingsWith } from '#test/context.ts'
import { LimitedNode, type SimulatedCapabilities } from '#test/simulator/limited-node.ts'
import { openNode } from './nodes.ts'

const openNodes = (...nodes: SimulatedCapabilities[]) => openNodesWith(0, nodes)

function openNodesWith(restMs: number, nodes: readonly SimulatedCapabilities[]) {
  const chain = new SimulatedChain({ seed: 'nodes', finalLag: 10 })
  chain.mine(60)
  const simulatedNodes = new Map(
    nodes.map((capabilities, at) => [`http://node-${at}/`, new LimitedNode(chain, capabilities)]),
  )
  const dead = new Set<string>()
  /** Nodes without the states of old blocks. */
  const pruned = new Set<string>()
  const busyTimes = new Map<string, number>()
  let newest: number | undefined
  const { explorer } = settingsWith({
    explorer: { chains: [{ id: '1', name: 'Simulated', rpc: [...simulatedNodes.keys()].map((url) => ({ url })) }] },
  })
  const [settings = assert.fail()] = explorer.chains
  const node = openNode(
    settings,
    { clock: systemClock },
    {
      backoffMs: restMs,
      async post(url, { body }) {
        if (dead.has(url)) throw new FetchError('network', `${url} cannot be reached`)
        const left = busyTimes.get(url) ?? 0
        busyTimes.set(url, left - 1)
        if (left > 0) throw new FetchError('status', `${url} answered with status 429`, { status: 429 })
        const refused = pruned.has(url) && /"method":"trace_block"/.test(body ?? '') && JSON.parse(body ?? '').id
        if (refused) return JSON.stringify({ id: refused, error: { code: -32000, message: 'missing trie node' } })
        const sent = newest === undefined ? body : body?.replace('"latest"', `"0x${newest.toString(16)}"`)
        return ((await simulatedNodes.get(url)?.respond(sent ?? '')) ?? assert.fail(url)).text
      },
    },
  )
  /** Sets the newest block that the nodes report. */
  const goBack = (block: number) => {
    newest = block
  }
  /** Refuses the next requests to this node. */
  const busyFor = (url: string, requests: number) => void busyTimes.set(url, requests)
  return { chain, node, dead, pruned, goBack, busyFor }
}

const busy = (chain: SimulatedChain) => chain.blocks.filter(({ transfers }) => transfers.length > 1).slice(0, 5)

test('if a node fails, one with another trace method returns the same blocks', async () => {
  const forms: SimulatedCapabilities[] = [
    { traces: ['trace_block'] },
    { traces: ['debug_traceBlockByNumber'] },
    { traces: ['debug_traceTransaction'] },
  ]
  const { chain, node, dead } = openNodes(...forms)
  const numbers = busy(chain).map(({ number }) => number)
  assert.ok(numbers.length > 2)
  const spent: number[] = []
  const before = await node.read(numbers, {}, (calls) => spent.push(calls))
  assert.deepEqual(spent, [numbers.length, numbers.length])
  for (const url of ['http://node-0/', 'http://node-1/']) {
    dead.add(url)
    for (let again = 0; again < 2; again++) assert.deepEqual(await node.read(numbers), before)
  }
  dead.add('http://node-2/')
  await assert.rejects(node.read(numbers), { code: 'explorer.node_unavailable' })
  dead.delete('http://node-0/')
  assert.deepEqual(await node.read(numbers), before)
})

test('old blocks are read from another node if the cheapest one has pruned them', async () => {
  const { chain, node, pruned } = openNodes({ traces: ['trace_block'] }, { traces: ['debug_traceBlockByNumber'] })
  await node.capabilities()
  pruned.add('http://node-0/')
  const [old = assert.fail()] = busy(chain)
  const [seen] = await node.read([old.number])
  assert.equal(seen?.block.hash, old.hash)
  const alone = openNodes({ traces: ['trace_block'] }, { traces: ['trace_block'] })
  await alone.node.capabilities()
  for (const url of ['http://node-0/', 'http://node-1/']) alone.pruned.add(url)
  await assert.rejects(alone.node.read([old.number]), { code: 'explorer.not_archive' })
})

test('if all nodes fail, the one with the shortest backoff is retried', async () => {
  const nodes: SimulatedCapabilities[] = [{ traces: ['trace_block'] }, { traces: ['debug_traceBlockByNumber'] }]
  const { chain, node, dead, busyFor } = openNodesWith(40, nodes)
  await node.capabilities()
  dead.add('http://node-0/')
  const [one = assert.fail()] = busy(chain)
  // The backoff grows with each failure.
  for (let failures = 0; failures < 3; failures++) {
    await node.rpc.of([0]).call([{ method: 'eth_blockNumber', params: [] }], { attemptsMax: 1 })
  }
  busyFor('http://node-1/', 1)
  assert.equal((await node.read([one.number]))[0]?.block.hash, one.hash)
})

test('calls are counted before they are made, so a spent budget makes none', async () => {
  const { chain, node } = openNodes({ traces: ['trace_block'] })
  await node.capabilities()
  const before = node.rpc.counts().calls
  const none = () => {
    throw new Error('none left')
  }
  await assert.rejects(node.read([chain.final], {}, none), /none left/)
  assert.equal(node.rpc.counts().calls, before)
})

test('a finalized block above the newest one is an error that names both', async () => {
  const { chain, node, goBack } = openNodes({ traces: ['trace_block'] })
  const tip = await node.tip()
  assert.deepEqual([tip.head.number, tip.final?.number], [chain.head.number, chain.final])
  goBack(chain.final)
  assert.equal((await node.tip()).final?.number, chain.final)
  goBack(chain.final - 1)
  await assert.rejects(node.tip(), /finalized block 50 is above the newest block 49/)
})
