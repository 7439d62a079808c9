// The trail with nothing but a node: every hop is a search, held against what the simulated chain itself knows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { SimChain } from '#simulator/evm/chain.ts'
import { SimNode } from '#simulator/evm/node.ts'
import { openContext } from '#test/context.ts'
import { followTrail } from './trail.ts'

test('from a node alone, hop by hop as the chain has it; a node that fails is where it ends', async () => {
  const chain = new SimChain({ seed: 'trail', finalLag: 10 })
  chain.mine(200)
  await using sim = new SimNode(chain, { traces: ['trace_block'] }, 2000)
  const url = await sim.listen()
  await using context = await openContext({ explorer: { chains: [{ id: '1', name: 'Sim', rpc: [{ url }] }] } })
  const real = { ...context, clock: systemClock }
  const follow = (address: string) => followTrail(real, '1', address, { depth: 100, timeoutMs: 60_000 })

  const plain = (one: string) => !chain.destroyed.has(one) && chain.accountAt(one, chain.head.number).code === '0x'
  const funded = chain.addresses().filter((one) => plain(one) && (chain.firstFunding(one)?.block ?? 0) > 100)
  assert.ok(funded.length >= 5, `${funded.length} addresses to start from`)
  let longest = 0
  for (const start of funded.slice(0, 12)) {
    const { result } = await follow(start)
    longest = Math.max(longest, result.hops.length)
    let paid = Number.POSITIVE_INFINITY
    for (const hop of result.hops) {
      const truth = chain.firstFunding(hop.address)
      assert.deepEqual([hop.block, hop.fundingAddress, hop.fundingTxn], [truth?.block, truth?.from, truth?.tx])
      assert.ok(hop.block <= paid)
      paid = hop.block
    }
    const next = chain.firstFunding(result.end.address)
    if (result.end.reason === 'none') assert.equal(next, undefined)
    if (result.end.reason === 'genesis') assert.ok(next === undefined || next.block > paid, result.end.address)
    assert.ok(['genesis', 'none', 'loop', 'unknown'].includes(result.end.reason), result.end.reason)
  }
  assert.ok(longest >= 2, `the longest trail has ${longest} hops`)

  const [cold = ''] = funded.slice(12)
  await sim[Symbol.asyncDispose]()
  const { result } = await follow(cold || `0x${'99'.repeat(20)}`)
  assert.deepEqual([result.hops, result.end.reason], [[], 'unknown'])
  assert.match(result.end.message, /node/)
})
