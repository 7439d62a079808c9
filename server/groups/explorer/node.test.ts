// Several nodes behind one chain: whoever can answers, in its own way; decision 0149.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#io/clock.ts'
import { FetchError } from '#io/fetch.ts'
import { SimChain } from '#sim/evm/chain.ts'
import { type SimAbilities, SimNode } from '#sim/evm/node.ts'
import { settingsWith } from '#test/desk.ts'
import { openNode } from './node.ts'

function stage(...nodes: SimAbilities[]) {
  const chain = new SimChain({ seed: 'nodes', finalLag: 10 })
  chain.mine(60)
  const sims = new Map(nodes.map((abilities, at) => [`http://node-${at}/`, new SimNode(chain, abilities)]))
  const dead = new Set<string>()
  let newest: number | undefined
  const { explorer } = settingsWith({
    explorer: { chains: [{ id: '1', name: 'Sim', rpc: [...sims.keys()].map((url) => ({ url })) }] },
  })
  const [settings = assert.fail()] = explorer.chains
  const node = openNode(
    settings,
    { clock: systemClock },
    {
      restMs: 0,
      async post(url, { body }) {
        if (dead.has(url)) throw new FetchError('network', `${url} cannot be reached`)
        const asked = newest === undefined ? body : body?.replace('"latest"', `"0x${newest.toString(16)}"`)
        return ((await sims.get(url)?.answer(asked ?? '')) ?? assert.fail(url)).text
      },
    },
  )
  /** From now on this is what the nodes name as their newest block. */
  const goBack = (block: number) => {
    newest = block
  }
  return { chain, node, dead, goBack }
}

const busy = (chain: SimChain) => chain.blocks.filter(({ transfers }) => transfers.length > 1).slice(0, 5)

test('a node that dies is stood in for by one that traces in another way, with the same blocks', async () => {
  const forms: SimAbilities[] = [
    { traces: ['trace_block'] },
    { traces: ['debug_traceBlockByNumber'] },
    { traces: ['debug_traceTransaction'] },
  ]
  const { chain, node, dead } = stage(...forms)
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

test('calls are spent before they are made, and whoever has none left makes none', async () => {
  const { chain, node } = stage({ traces: ['trace_block'] })
  await node.capabilities()
  const before = node.rpc.counts().calls
  const none = () => {
    throw new Error('none left')
  }
  await assert.rejects(node.read([chain.final], {}, none), /none left/)
  assert.equal(node.rpc.counts().calls, before)
})

test('a final block ahead of the newest is no tip, and the words say what it looks like', async () => {
  const { chain, node, goBack } = stage({ traces: ['trace_block'] })
  const tip = await node.tip()
  assert.deepEqual([tip.head.number, tip.final?.number], [chain.head.number, chain.final])
  goBack(chain.final)
  assert.equal((await node.tip()).final?.number, chain.final)
  goBack(chain.final - 1)
  await assert.rejects(node.tip(), /block 50 is named as final, and block 49 as the newest/)
})
