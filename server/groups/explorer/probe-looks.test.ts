// Looks at an address that was nobody before and after, decision 0170.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { lifeOf, type Moment, me, spends } from '#test/evm-life.ts'
import { Asks, type WalkLimits } from './probe-asks.ts'
import { metSomebody } from './probe-looks.ts'
import type { Mark } from './probe-marks.ts'
import { walk } from './probe-walk.ts'

const head = 100_000
const bounds: WalkLimits = {
  ...{ fanOut: 7, callsMax: 1500, blocksMax: 1000, sureBlocks: 10_000, looks: 256 },
  untilMs: Number.POSITIVE_INFINITY,
}

/** Which blocks were looked at, and whether somebody was met. */
async function looksAt(limits: Partial<WalkLimits>, [after, until]: readonly [number, number], signAt = -1) {
  const asks = new Asks(lifeOf([], { head }).node, me, { ...bounds, ...limits }, head)
  const rounds: (readonly number[])[] = []
  const metAt = asks.metAt.bind(asks)
  asks.metAt = async (blocks) => {
    rounds.push(blocks)
    return (await metAt(blocks)) || blocks.includes(signAt)
  }
  return { met: await metSomebody(asks, after, until), rounds, all: rounds.flat() }
}

describe('where is looked', () => {
  test('between 32 parts first, then between twice as many, each block once', async () => {
    const { rounds, all } = await looksAt({ looks: 128 }, [-1, 12_799])
    assert.deepEqual(
      rounds.map((points) => points.length),
      [31, 32, 64],
    )
    const sorted = all.toSorted((a, b) => a - b)
    assert.deepEqual(
      sorted,
      Array.from({ length: 127 }, (_, at) => 100 * (at + 1) - 1),
    )
  })

  test('no time of 1/looks goes by without a look, whatever looks is', async () => {
    for (const looks of [32, 33, 100, 256, 1000]) {
      const { all } = await looksAt({ looks, callsMax: 5000 }, [499, 90_499])
      const ends = [499, ...all, 90_500].toSorted((a, b) => a - b)
      const longest = Math.max(...ends.slice(1).map((end, at) => end - (ends[at] as number)))
      assert.ok(longest <= Math.ceil(90_001 / looks) + 1, `${longest} blocks with ${looks} looks`)
      assert.equal(new Set(all).size, all.length)
    }
  })

  test('few blocks are all looked at, and none beside them', async () => {
    const { all } = await looksAt({}, [10, 50])
    assert.deepEqual(
      all.toSorted((a, b) => a - b),
      Array.from({ length: 40 }, (_, at) => 11 + at),
    )
  })

  test('whoever is met ends it', async () => {
    const { met, rounds } = await looksAt({ looks: 128 }, [-1, 12_799], 199)
    assert.deepEqual([met, rounds.length], [true, 2])
  })

  test('the first round always, the others as long as there is time and calls', async () => {
    assert.equal((await looksAt({ over: () => true }, [-1, 99_999])).rounds.length, 1)
    assert.equal((await looksAt({ callsMax: 100 }, [-1, 99_999])).rounds.length, 1)
    assert.equal((await looksAt({ callsMax: 400 }, [-1, 99_999])).rounds.length, 3)
  })
})

const options = { head, final: 99_900 }

describe('more blocks than are read to be sure', () => {
  test('a contract that was there for a 200th part of the time is met, and its blocks are read for the answer', async () => {
    const life: Moment[] = [
      { block: 300, nonce: 1, code: spends },
      { block: 350, paid: true },
      { block: 800, nonce: 0, code: '0x' },
    ]
    const { funding, proof } = await walk(lifeOf(life, options).node, me, bounds)
    assert.deepEqual([funding?.block, proof], [350, 'probed'])
    const { funding: unseen, proof: less } = await walk(lifeOf(life, options).node, me, { ...bounds, looks: 32 })
    assert.deepEqual([unseen, less], [undefined, 'looked'])
  })

  test('an address that was paid before its contract came, swept it and went in one block is met by what it held', async () => {
    const life: Moment[] = [
      { block: 350, balance: 7, paid: true },
      { block: 800, balance: 0 },
    ]
    const { funding, proof } = await walk(lifeOf(life, options).node, me, bounds)
    assert.deepEqual([funding?.block, proof], [350, 'probed'])
  })

  test('nobody: what was looked at is kept, and not looked at again', async () => {
    const { node } = lifeOf([], options)
    let mark: Mark | undefined
    const keep = (reached: Mark) => {
      mark = reached
    }
    const first = await walk(node, me, { ...bounds, keep })
    assert.deepEqual([first.funding, first.proof, first.asOf], [undefined, 'looked', head])
    assert.deepEqual(mark, { block: 99_900, stateTells: true, proof: 'looked' })
    const before = node.rpc.counts().calls
    const second = await walk(node, me, { ...bounds, looks: 32, since: mark, keep })
    assert.deepEqual([second.funding, second.proof, second.asOf], [undefined, 'looked', head])
    const calls = node.rpc.counts().calls - before
    assert.ok(calls < 120, `${calls} calls`)
    assert.deepEqual(mark, { block: 99_900, stateTells: true, proof: 'looked' })
  })

  test('somebody comes after that: he is found', async () => {
    const { node } = lifeOf([{ block: 99_950, balance: 1, paid: true }], options)
    const since: Mark = { block: 99_900, stateTells: true, proof: 'looked' }
    const { funding, proof, final } = await walk(node, me, { ...bounds, since })
    assert.deepEqual([funding?.block, proof, final], [99_950, 'looked', false])
  })
})
