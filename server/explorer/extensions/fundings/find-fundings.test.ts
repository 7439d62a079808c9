// The batches of `tetrad fundings`, on a real EVM and on simulated nodes that fail.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { openContext } from '#test/context.ts'
import { evmChainId, evmMissing, openEvm } from '#test/real-evm.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { catchUpIndex } from '../../funding/index/index-chain.ts'
import { requireNode } from '../../nodes.ts'
import { batchMax, countParallelSearches, findFundings } from './find-fundings.ts'

const missing = await evmMissing()
if (missing) process.stderr.write(`SKIPPED: ${missing}\n`)

test('real EVM: by search and by index, each address has its funding', { skip: missing ?? false }, async () => {
  await using evm = await openEvm()
  const [rich, other] = evm.rich
  const people = Array.from({ length: 6 }, (_, at) => evm.wallet(`0x${(0xfeed00 + at).toString(16).padStart(64, '0')}`))
  const expected = new Map<string, [block: number, tx: string, funder: string]>()
  for (const [at, { account }] of people.slice(0, 5).entries()) {
    const payer = at % 2 === 0 ? rich : other
    const tx = await payer.sendTransaction({ to: account.address, value: 1000n + BigInt(at) })
    await evm.mine()
    const address = account.address.toLowerCase()
    expected.set(address, [await evm.blockNumber(), tx, payer.account.address.toLowerCase()])
    await rich.sendTransaction({ to: account.address, value: 7n })
  }
  await evm.mine(20)
  const addresses = [...people.map(({ account }) => account.address.toLowerCase()), rich.account.address.toLowerCase()]
  for (const mode of ['probe', 'index']) {
    const chain = { id: evmChainId, name: 'Real', mode, finalityBlocks: 5, rpc: [{ url: evm.url, batchMax: 20 }] }
    await using opened = await openContext({ explorer: { chains: [chain] } })
    const context = { ...opened, clock: systemClock }
    if (mode === 'index') await catchUpIndex(context, requireNode(context, evmChainId), () => {})
    const found = await findFundings(context, evmChainId, addresses)
    assert.deepEqual(
      found.map(({ address }) => address),
      addresses,
    )
    for (const { address, status, funding } of found) {
      const row = funding && [funding.block, funding.fundingTxn, funding.fundingAddress]
      assert.deepEqual(
        [status, row],
        expected.has(address) ? ['funded', expected.get(address)] : ['none', undefined],
        mode,
      )
    }
  }
})

const chain = new SimulatedChain({ seed: 'batch', id: '77', finalLag: 10 })
chain.mine(120)
/** A contract that was created again has no explainable state. */
const addresses = chain.addresses().filter((address) => !chain.destroyed.has(address))

async function openScene(node: LimitedNode, rpc: object = {}, probe: object = {}) {
  const url = await node.listen()
  const chains = [{ id: '77', name: 'Simulated', rpc: [{ url, ...rpc }] }]
  const opened = await openContext({ explorer: { chains, probe } })
  return {
    context: { ...opened, clock: systemClock },
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

test('at most a quarter of the allowed searches run at a time', async () => {
  const node = new LimitedNode(chain, { traces: ['trace_block'], filterBlocks: 1000 })
  await using at = await openScene(node, {}, { parallelMax: 12 })
  let most = 0
  node.meanwhile = () => {
    most = Math.max(most, at.context.explorer.searches.size)
  }
  const found = await findFundings(at.context, '77', addresses.slice(0, batchMax))
  assert.equal(most, 3)
  for (const { address, funding, message } of found)
    assert.equal(funding?.fundingTxn, firstFunding(chain, address)?.tx, message ?? '')
})

for (const [perSecond, expected] of [
  [0, 8],
  [1, 1],
  [5, 1],
  [20, 3],
  [500, 8],
] as const) {
  test(`a node with ${perSecond} calls a second gets ${expected} searches at a time`, async () => {
    await using at = await openScene(new LimitedNode(chain), { perSecond })
    assert.equal(countParallelSearches(at.context, '77'), expected)
  })
}

for (const isFreed of [true, false]) {
  test(`refused searches are repeated once, ${isFreed ? 'and succeed' : 'then named with the cause'}`, async () => {
    const node = new LimitedNode(chain, { traces: ['trace_block'], filterBlocks: 1000 })
    await using at = await openScene(node, {}, { parallelMax: 4 })
    const { searches } = at.context.explorer
    // Others begin as many searches as are allowed, during the first search.
    const others = ['a', 'b', 'c', 'd']
    node.meanwhile = () => {
      node.meanwhile = undefined
      for (const name of others) searches.set(name, new Promise(() => {}))
    }
    const waits: number[] = []
    const sleep = async (ms: number) => {
      waits.push(ms)
      if (isFreed) for (const name of others) searches.delete(name)
    }
    // The node has the clock of the system.
    requireNode(at.context, '77')
    const clock = { ...systemClock, sleep }
    const found = await findFundings({ ...at.context, clock }, '77', addresses.slice(0, 3))
    const result = isFreed ? 'funded' : 'failed'
    assert.deepEqual(
      found.map(({ status }) => status),
      ['funded', result, result],
    )
    assert.deepEqual(waits, isFreed ? [1000, 1000] : [1000])
    if (!isFreed) assert.match(found[1]?.message ?? '', /4 searches are running/)
  })
}
