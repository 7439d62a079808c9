// A node whose index of traces has holes: where the state shows it, it is noticed; where nothing can, the answer says what it
// rests on (decision 0160).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '#io/clock.ts'
import { SimChain, type TrueTransfer } from '#sim/evm/chain.ts'
import { spendingCode } from '#sim/evm/execute.ts'
import { SimNode } from '#sim/evm/node.ts'
import { settingsWith } from '#test/desk.ts'
import { openNode } from './node.ts'
import type { WalkLimits } from './probe-asks.ts'
import type { Mark } from './probe-marks.ts'
import { walk } from './probe-walk.ts'

const chain = new SimChain({ seed: 'lists', finalLag: 4 })
chain.mine(160)
const steady = chain.addresses().filter((one) => !chain.destroyed.has(one))

/** Contracts that were funded when they could already pass value on. */
const contracts = steady.flatMap((address) => {
  const funding = chain.firstFunding(address)
  return funding && chain.accountAt(address, funding.block - 1).code === spendingCode ? [{ address, funding }] : []
})

function nodeOf(lacks: (block: number) => boolean = () => false, filterBlocks = 1000) {
  const sim = new SimNode(chain, { traces: ['trace_block'], filterBlocks })
  const [settled] = settingsWith({
    explorer: { chains: [{ id: '1', name: 'Sim', rpc: [{ url: 'http://sim/' }] }] },
  }).explorer.chains
  assert.ok(settled)
  const post = async (_: string, { body = '' }: { body?: string }) => (await sim.answer(body)).text
  const node = openNode(settled, { clock: systemClock }, { post, restMs: 0 })
  // The holes come after the node was asked what it can do.
  const ready = node.capabilities().then(() => {
    sim.abilities = { ...sim.abilities, filterLacks: lacks }
  })
  return { sim, node, ready }
}

const untilMs = Number.POSITIVE_INFINITY
const bounds: WalkLimits = { fanOut: 3, callsMax: 5000, blocksMax: 1000, sureBlocks: 1000, looks: 32, untilMs }

/** What the account had at the end of the block that funded it. */
const keptBy = ({ block, to }: TrueTransfer) =>
  chain.accountAt(to, block).balance - chain.accountAt(to, block - 1).balance

describe('a list that lacks the block of the first transfer', () => {
  test('is refuted by the balance that the transfer left, and the blocks are read instead', async () => {
    const kept = contracts.filter(({ funding }) => keptBy(funding) > 0n)
    assert.ok(kept.length >= 3, `${kept.length} contracts kept what came`)
    for (const { address, funding } of kept) {
      const { node, ready } = nodeOf((block) => block === funding.block)
      await ready
      const walked = await walk(node, address, bounds)
      assert.deepEqual([walked.funding?.block, walked.funding?.tx, walked.proof], [funding.block, funding.tx, 'probed'])
    }
  })

  test('is refuted by what the account paid out later, though it was empty again when it was looked at', async () => {
    const { address, funding } = contracts.find(({ address, funding }) => {
      const later = chain.accountAt(address, chain.head.number)
      return keptBy(funding) > 0n && later.balance === 0n
    }) ?? { address: '', funding: undefined }
    assert.ok(funding, 'the history holds no such contract')
    const { node, ready } = nodeOf((block) => block === funding.block)
    await ready
    assert.equal((await walk(node, address, bounds)).funding?.block, funding.block)
  })

  test('is not noticed where the account passed on all of it in that block: the answer says that it rests on lists', async () => {
    const passed = contracts.filter(({ funding }) => keptBy(funding) === 0n)
    assert.ok(passed.length >= 1, 'no contract passed on what came')
    for (const { address, funding } of passed) {
      const { node, ready } = nodeOf((block) => block === funding.block)
      await ready
      const walked = await walk(node, address, bounds)
      assert.ok(walked.funding?.block === funding.block || walked.proof === 'listed', address)
    }
  })
})

test('every contract is told right by whole lists, however few blocks the node takes at a time', async () => {
  for (const filterBlocks of [1000, 100]) {
    const { node, ready } = nodeOf(undefined, filterBlocks)
    await ready
    for (const { address, funding } of contracts) {
      assert.equal((await walk(node, address, bounds)).funding?.tx, funding.tx)
    }
  }
})

test('an index of traces that was begun late is of no use, and found out when the node is asked what it can do', async () => {
  const { sim, node } = nodeOf()
  sim.abilities = { ...sim.abilities, filterLacks: (block) => block < chain.head.number / 2 }
  const { has, filterBlocks } = await node.capabilities()
  assert.deepEqual([has.trace_filter, filterBlocks], [false, 0])
})

test('a mark that rests on lists is thrown away when they are refuted', async () => {
  const found = contracts.find(({ funding }) => keptBy(funding) > 0n)
  assert.ok(found)
  const { address, funding } = found
  const { node, ready } = nodeOf((block) => block === funding.block)
  await ready
  const marks: Mark[] = []
  const since: Mark = { block: funding.block - 1, stateTells: false, proof: 'listed' }
  const walked = await walk(node, address, { ...bounds, since, keep: (mark) => marks.push(mark) })
  assert.equal(walked.funding?.block, funding.block)
  assert.deepEqual([...new Set(marks.map(({ proof }) => proof)), walked.proof], ['probed', 'probed'])
  // Also where nothing can be put in its place yet.
  const after: Mark[] = []
  const bound = { ...bounds, blocksMax: 0, since, keep: (mark: Mark) => after.push(mark) }
  const { node: another, ready: asked } = nodeOf((block) => block === funding.block)
  await asked
  await assert.rejects(walk(another, address, bound), /each block has to be read/)
  assert.deepEqual(after.at(-1), { block: -1, stateTells: true, proof: 'probed' })
})
