// The trail from a node alone: every hop is a search, compared with the simulated chain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { openContext } from '#test/context.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { followTrail } from './follow-trail.ts'

test('every hop is the first funding on the chain; a failing node ends the trail', async () => {
  const chain = new SimulatedChain({ seed: 'trail', finalLag: 10 })
  chain.mine(200)
  await using simulated = new LimitedNode(chain, { traces: ['trace_block'] })
  const url = await simulated.listen()
  await using context = await openContext({ explorer: { chains: [{ id: '1', name: 'Simulated', rpc: [{ url }] }] } })
  const real = { ...context, clock: systemClock }
  const follow = (address: string) => followTrail(real, '1', address, { depth: 100, timeoutMs: 60_000 })

  const plain = (address: string) =>
    !chain.destroyed.has(address) && chain.accountAt(address, chain.head.number).code === '0x'
  const funded = chain
    .addresses()
    .filter((address) => plain(address) && (firstFunding(chain, address)?.block ?? 0) > 100)
  assert.ok(funded.length >= 5, `${funded.length} addresses to start from`)
  let longest = 0
  for (const start of funded.slice(0, 12)) {
    const { result } = await follow(start)
    longest = Math.max(longest, result.hops.length)
    let paid = Number.POSITIVE_INFINITY
    for (const hop of result.hops) {
      const expected = firstFunding(chain, hop.address)
      assert.deepEqual([hop.block, hop.fundingAddress, hop.fundingTxn], [expected?.block, expected?.from, expected?.tx])
      assert.ok(hop.block <= paid)
      paid = hop.block
    }
    const next = firstFunding(chain, result.end.address)
    if (result.end.reason === 'none') assert.equal(next, undefined)
    if (result.end.reason === 'genesis') assert.ok(next === undefined || next.block > paid, result.end.address)
    assert.ok(['genesis', 'none', 'loop', 'unknown'].includes(result.end.reason), result.end.reason)
  }
  assert.ok(longest >= 2, `the longest trail has ${longest} hops`)

  const [cold = ''] = funded.slice(12)
  await simulated[Symbol.asyncDispose]()
  const { result } = await follow(cold || `0x${'99'.repeat(20)}`)
  assert.deepEqual([result.hops, result.end.reason], [[], 'unknown'])
  assert.match(result.end.message, /node/)
})
