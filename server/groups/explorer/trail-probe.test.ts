// The trail with nothing but a node: every hop is a search, held against what the simulated chain itself knows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#io/clock.ts'
import { SimChain } from '#sim/evm/chain.ts'
import { spendingCode } from '#sim/evm/execute.ts'
import { SimNode } from '#sim/evm/node.ts'
import { openDesk, testVisit } from '#test/desk.ts'
import { followTrail } from './trail.ts'

test('from a node alone, hop by hop as the chain has it; a node that fails is where it ends', async () => {
  const chain = new SimChain({ seed: 'trail', finalLag: 10 })
  chain.mine(200)
  await using sim = new SimNode(chain, { traces: ['trace_block'] }, 2000)
  const url = await sim.listen()
  await using desk = await openDesk({ explorer: { chains: [{ id: '1', name: 'Sim', rpc: [{ url }] }] } })
  const real = { ...desk, clock: systemClock }
  const follow = (address: string) => followTrail(real, testVisit(), '1', address, { depth: 100, timeoutMs: 60_000 })

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
  assert.match(result.end.says, /node/)
})

test('a search that takes many calls ends the trail of a caller, and is gone on with where there is time', async () => {
  const chain = new SimChain({ seed: 'probe', finalLag: 10 })
  chain.mine(200)
  await using sim = new SimNode(chain, { traces: ['trace_block'] })
  const explorer = { chains: [{ id: '1', name: 'Sim', rpc: [{ url: await sim.listen() }] }], probe: { blocksMax: 4 } }
  await using desk = await openDesk({ explorer })
  const real = { ...desk, clock: systemClock }
  const late = chain.addresses().find((one) => {
    const { block = 0 } = chain.firstFunding(one) ?? {}
    const had = chain.accountAt(one, block - 20).code === spendingCode
    return had && block > 20 && block <= chain.final && !chain.destroyed.has(one)
  })
  assert.ok(late)
  const bounds = { depth: 1, timeoutMs: 60_000 }
  const once = await followTrail(real, testVisit(), '1', late, bounds)
  assert.deepEqual([once.result.hops.length, once.result.end.reason], [0, 'unknown'])
  assert.match(once.result.end.says, /Ask again to go on/)
  // Longer than where only the next call goes on: the server does, and is given time for it.
  assert.ok(Number(once.retryAfterMs) >= 2000, String(once.retryAfterMs))
  const whole = await followTrail(real, testVisit(), '1', late, { ...bounds, patient: true })
  assert.equal(whole.result.hops[0]?.block, chain.firstFunding(late)?.block)
  assert.equal(whole.retryAfterMs, undefined)
})
