// Lives written by hand, block by block, where a random history is unlikely to come. The rest is in history.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inert, lifeOf, type Moment, me, spends } from '#test/evm-life.ts'
import type { Mark } from './probe-marks.ts'
import { walk } from './probe-walk.ts'

const bounds = {
  fanOut: 3,
  callsMax: 5000,
  blocksMax: 1000,
  sureBlocks: 0,
  looks: 256,
  untilMs: Number.POSITIVE_INFINITY,
}

test('a contract that was met and is gone may come back between two looks: every block is read from then on', async () => {
  const life: Moment[] = [
    { block: 40, nonce: 1, code: spends },
    { block: 70, nonce: 0, code: '0x' },
    // Back, paid, and gone again, all in one block.
    { block: 83, paid: true },
  ]
  // From genesis the state contradicts itself or shows nothing: the search that meets the contract is one that goes on.
  const { node } = lifeOf(life)
  const since: Mark = { block: 40, stateTells: true, proof: 'probed' }
  const { funding } = await walk(node, me, { ...bounds, since })
  assert.equal(funding?.block, 83)
})

test('a mark says whether the state is still believed, and the next search keeps to it', async () => {
  const life: Moment[] = [
    { block: 40, nonce: 1, code: spends },
    { block: 70, nonce: 0, code: '0x' },
    { block: 83, paid: true },
  ]
  const { node } = lifeOf(life)
  let mark: Mark | undefined = { block: 40, stateTells: true, proof: 'probed' }
  for (let searches = 0; searches < 4; searches++) {
    const keep = (reached: Mark) => {
      mark = reached
    }
    await assert.rejects(walk(node, me, { ...bounds, blocksMax: 10, since: mark, keep }), /up to block \d+ of 100 none/)
    assert.deepEqual(mark, { block: 50 + 10 * searches, stateTells: false, proof: 'probed' })
  }
  const { funding } = await walk(node, me, { ...bounds, blocksMax: 10, since: mark })
  assert.equal(funding?.block, 83)
})

test('a delegation that was taken back: only the blocks it was there for are read', async () => {
  const life: Moment[] = [
    { block: 20, nonce: 1, code: `0xef0100${'44'.repeat(20)}` },
    { block: 30, nonce: 2, code: '0x' },
    { block: 77, balance: 1, paid: true },
  ]
  const { node, read } = lifeOf(life)
  assert.equal((await walk(node, me, bounds)).funding?.block, 77)
  assert.ok(read.includes(29) && !read.includes(50) && read.length < 20, `read ${read}`)
})

test('what comes to a delegated account and goes in the same block is found', async () => {
  const life: Moment[] = [
    { block: 20, nonce: 1, code: `0xef0100${'44'.repeat(20)}` },
    { block: 33, paid: true },
    { block: 77, balance: 1, paid: true },
  ]
  assert.equal((await walk(lifeOf(life).node, me, bounds)).funding?.block, 33)
})

test('an account that delegates to code which keeps what comes is told by its state', async () => {
  const life: Moment[] = [
    { block: 20, nonce: 1, code: `0xef0100${inert.slice(2)}` },
    { block: 77, balance: 1, paid: true },
  ]
  const { node, read } = lifeOf(life)
  assert.equal((await walk(node, me, { ...bounds, blocksMax: 0 })).funding?.block, 77)
  assert.deepEqual(read, [20, 77])
})

test('a contract that was there for long and is gone: its code is come across, and every block is read, decision 0161', async () => {
  const gone = { nonce: 0, balance: 0, code: '0x' }
  const life: Moment[] = [
    { block: 40, nonce: 1, code: spends },
    { block: 55, paid: true },
    { block: 70, ...gone },
  ]
  assert.equal((await walk(lifeOf(life).node, me, bounds)).funding?.block, 55)
  // Somebody pays the empty address: the state alone would name that.
  const paid = [...life, { block: 90, balance: 1, paid: true as const }]
  assert.equal((await walk(lifeOf(paid).node, me, bounds)).funding?.block, 55)
})

describe('a contract that came and went within one block, decision 0165', () => {
  const life: Moment[] = [
    { block: 55, paid: true },
    { block: 90, balance: 1, paid: true },
  ]
  const never: Moment[] = [{ block: 55, paid: true }]

  test('is found where the blocks may be read, and the answer rests on nothing less', async () => {
    for (const one of [life, never]) {
      const { funding, proof } = await walk(lifeOf(one).node, me, { ...bounds, sureBlocks: 1000 })
      assert.deepEqual([funding?.block, proof], [55, 'probed'])
    }
  })

  test('is not where they are too many, and the answer says that it was only looked for', async () => {
    for (const [one, block] of [[life, 90] as const, [never, undefined] as const]) {
      const { funding, proof } = await walk(lifeOf(one).node, me, { ...bounds, sureBlocks: 50 })
      assert.deepEqual([funding?.block, proof], [block, 'looked'])
    }
  })

  test('only the blocks before the first sign of life are read, some at a time, and each once', async () => {
    const { node, read } = lifeOf([
      { block: 40, balance: 3 },
      { block: 95, balance: 4, paid: true },
    ])
    let mark: Mark | undefined
    const search = () => {
      const keep = (reached: Mark) => {
        mark = reached
      }
      return walk(node, me, { ...bounds, blocksMax: 15, sureBlocks: 50, since: mark, keep })
    }
    await assert.rejects(search, /contract before.*up to block 14 of 39 none/)
    assert.deepEqual(mark, { block: 14, stateTells: true, proof: 'probed' })
    await assert.rejects(search, /up to block 29 of 39/)
    const { funding, proof } = await search()
    assert.deepEqual([funding?.block, proof], [95, 'probed'])
    assert.deepEqual(read, [...Array.from({ length: 41 }, (_, at) => at), 95])
  })

  test('what has been read is kept up to what is final', async () => {
    const marks: Mark[] = []
    const limits = { ...bounds, blocksMax: 96, sureBlocks: 1000, keep: (mark: Mark) => marks.push(mark) }
    const { funding, asOf } = await walk(lifeOf([]).node, me, limits)
    assert.deepEqual([funding, asOf], [undefined, 95])
    assert.deepEqual(marks.at(-1), { block: 90, stateTells: true, proof: 'probed' })
  })

  test('what was only looked for is searched for again when more blocks may be read', async () => {
    const { node } = lifeOf(life)
    const since: Mark = { block: 80, stateTells: true, proof: 'looked' }
    const asked = async (sureBlocks: number) => {
      const { funding, proof } = await walk(node, me, { ...bounds, sureBlocks, since })
      return [funding?.block, proof]
    }
    assert.deepEqual(await asked(80), [90, 'looked'])
    assert.deepEqual(await asked(1000), [55, 'probed'])
  })
})

test('who has sent a transaction was never a contract, and is not looked for as one', async () => {
  const { node, read } = lifeOf([
    { block: 60, balance: 5, paid: true },
    { block: 80, nonce: 1, balance: 2 },
  ])
  await node.capabilities()
  const before = node.rpc.counts().calls
  assert.equal((await walk(node, me, bounds)).funding?.block, 60)
  const calls = node.rpc.counts().calls - before
  assert.ok(calls < 50, `${calls} calls`)
  assert.deepEqual(read, [60])
})

test('a contract of old, without a nonce: the block it was put there is searched for, and what follows is read', async () => {
  const life: Moment[] = [
    { block: 55, code: spends },
    { block: 61, paid: true },
  ]
  const { node, read } = lifeOf(life)
  assert.equal((await walk(node, me, { ...bounds, blocksMax: 8 })).funding?.block, 61)
  assert.deepEqual(read.slice(0, 2), [55, 56])
})

test('a contract of old that was paid before it was put there, and was empty when the search looked', async () => {
  const life: Moment[] = [
    { block: 30, balance: 4, paid: true },
    { block: 31, balance: 9, code: spends, paid: true },
    { block: 32, balance: 0 },
    { block: 90, balance: 3, paid: true },
  ]
  assert.equal((await walk(lifeOf(life).node, me, bounds)).funding?.block, 30)
})

test('a node that lacks a block which was final before is behind, and is not asked further', async () => {
  const { node } = lifeOf([])
  const since: Mark = { block: 101, stateTells: true, proof: 'probed' }
  await assert.rejects(walk(node, me, { ...bounds, since }), /the node is behind/)
})

test('many withdrawals before the first transfer: a few calls each, and what was shown is kept', async () => {
  const days = Array.from({ length: 12 }, (_, at): Moment => ({ block: 10 + at * 5, balance: at + 1 }))
  const { node } = lifeOf([...days, { block: 88, balance: 99, paid: true }])
  let mark: Mark | undefined
  const search = (callsMax: number) =>
    walk(node, me, {
      ...{ ...bounds, callsMax, since: mark },
      keep: (reached) => {
        mark = reached
      },
    })
  await assert.rejects(search(60), /More than 60 calls/)
  assert.ok(mark && mark.block >= 10 && mark.stateTells)
  for (;;) {
    const before = mark
    const walked = await search(60).catch(() => undefined)
    if (walked) {
      assert.equal(walked.funding?.block, 88)
      return
    }
    assert.notDeepEqual(mark, before, 'each search comes further')
  }
})
