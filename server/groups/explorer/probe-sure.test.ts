// 4.3 about accounts that never sent a transaction, by a node that lists nothing: blocks are read to be sure, or the answer says
// that they were not (decision 0165).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { openDesk } from '#test/desk.ts'
import { type LifeOptions, lifeOf, type Moment, me, spends } from '#test/evm-life.ts'
import { blockOf, nobody, stage, untilTold } from '#test/probe-stage.ts'
import { type Funding, putProven } from './fundings.ts'
import { findMark, type Mark, putMark } from './probe-marks.ts'
import { walk } from './probe-walk.ts'

function fundingOf({ chain }: Pick<Awaited<ReturnType<typeof stage>>, 'chain'>, address: string): Funding {
  const { from: funder, to: _, ...rest } = chain.firstFunding(address) ?? assert.fail(`${address} was never funded`)
  return { chain: '1', address, funder, ...rest }
}

describe('200', () => {
  test('200: an address that never had anything is nothing, for a handful of calls where blocks are not read to be sure', async () => {
    await using at = await stage(undefined, { probe: { sureBlocks: 0 } })
    assert.equal((await at.ask(nobody)).is, 'nothing')
    const before = at.sim.calls
    assert.deepEqual(await at.ask(nobody), {
      is: 'nothing',
      confidence: { asOf: 200, finality: 'head', coverage: 'looked' },
    })
    // 32 of them look for code that came and went, decision 0161.
    assert.ok(at.sim.calls - before <= 20 + 32 + 3, `${at.sim.calls - before} calls`)
  })

  test('200: an address that never had anything is nothing for sure once its blocks have been read, and they are read once', async () => {
    await using at = await stage()
    const nothing = { is: 'nothing', confidence: { asOf: 200, finality: 'head', coverage: 'probed' } }
    assert.deepEqual(await at.ask(nobody), nothing)
    const before = at.sim.calls
    assert.deepEqual(await at.ask(nobody), nothing)
    const unfinal = at.chain.head.number - at.chain.final
    assert.ok(at.sim.calls - before <= 60 + 2 * unfinal, `${at.sim.calls - before} calls`)
  })

  test('200: every address of a chain, also contracts that are gone, by a node that lists nothing, decision 0165', async () => {
    await using at = await stage(undefined, {}, {}, { ghosts: false })
    const gone = [...at.chain.destroyed]
    assert.ok(gone.length >= 5, `${gone.length} are gone`)
    const others = at.steady.filter((_, index) => index % 16 === 0)
    for (const address of [...gone, ...others]) {
      const outcome = await untilTold(() => at.ask(address))
      assert.equal(blockOf(outcome), at.chain.firstFunding(address)?.block, address)
      assert.equal('confidence' in outcome && outcome.confidence?.coverage, 'probed', address)
    }
  })

  test('200: what was stored as looked stays the answer where nothing better can be had: no traces, or no node', async () => {
    for (const abilities of [{ traces: [] }, 'gone'] as const) {
      await using at = await stage(abilities === 'gone' ? undefined : abilities)
      const address = at.someone(({ block }) => block > 20 && block <= at.chain.final)
      const funding = fundingOf(at, address)
      await at.desk.state.write((tx) => putProven(tx, funding, 'looked'))
      if (abilities === 'gone') await at.sim[Symbol.asyncDispose]()
      const outcome = await at.ask(address)
      assert.deepEqual([blockOf(outcome), at.sim.calls], [funding.block, 0])
      assert.equal('confidence' in outcome && outcome.confidence?.coverage, 'looked')
    }
  })

  test('200: where every transaction is a call of its own, a search still comes further with each call', async () => {
    const kind = { busy: 24, ghosts: false }
    await using at = await stage({ traces: ['debug_traceTransaction'] }, { probe: { callsMax: 300 } }, {}, kind)
    const said: string[] = []
    assert.equal((await untilTold(() => at.ask(nobody), said)).is, 'nothing')
    assert.equal(new Set(said).size, said.length, 'none ends where another did')
    assert.ok(said.length > 5, `${said.length} calls`)
  })
})

const usual = {
  fanOut: 7,
  callsMax: 1500,
  blocksMax: 1000,
  sureBlocks: 10_000,
  looks: 256,
  untilMs: Number.POSITIVE_INFINITY,
}

/** As the server does it: each search goes on from the stored mark, until there is an answer. */
async function searches(
  life: readonly Moment[],
  options: LifeOptions,
  bounds: Partial<typeof usual> = {},
  kept?: Mark,
) {
  await using desk = await openDesk()
  if (kept) await desk.state.write((tx) => putMark(tx, '1', me, kept))
  const { node, read } = lifeOf(life, options)
  const marks: string[] = []
  for (let count = 1; count <= 40; count++) {
    const since = await findMark(desk.state, '1', me)
    marks.push(JSON.stringify(since))
    assert.equal(new Set(marks).size, marks.length, `a search ended where another had: ${marks.at(-1)}`)
    const reached: Mark[] = []
    try {
      const walked = await walk(node, me, { ...usual, ...bounds, since, keep: (mark) => reached.push(mark) })
      return { ...walked, block: walked.funding?.block, count, read, kept: reached.at(-1) }
    } catch (error) {
      assert.ok(error instanceof Fault && error.code === 'explorer.probe_bounds', String(error))
      for (const mark of reached.slice(-1)) await desk.state.write((tx) => putMark(tx, '1', me, mark))
    }
  }
  throw new Error(`searched forty times, up to ${marks.at(-1)}`)
}

describe('every search comes to an end', () => {
  const late: Moment[] = [{ block: 3900, balance: 1, paid: true }]

  test('a node that names no final block, where nothing can be kept: as it looks, at once', async () => {
    for (const [life, block] of [[late, 3900] as const, [[], undefined] as const]) {
      const walked = await searches(life, { head: 4000, final: undefined })
      assert.deepEqual([walked.block, walked.proof, walked.count], [block, 'looked', 1])
    }
    const short = await searches([{ block: 90, paid: true }], { head: 400, final: undefined })
    assert.deepEqual([short.block, short.proof], [90, 'probed'])
  })

  test('more blocks that are not final than a search can read: what is final is read, the rest looked at', async () => {
    for (const blocksMax of [1000, 1_000_000]) {
      const found = await searches(late, { head: 4000, final: 1000 }, { blocksMax })
      assert.deepEqual([found.block, found.proof, found.final], [3900, 'looked', false])
      const never = await searches([], { head: 4000, final: 1000 }, { blocksMax })
      assert.deepEqual([never.block, never.proof, never.asOf >= 1000], [undefined, 'probed', true])
      const again = await searches([], { head: 4000, final: 1000 }, { blocksMax: 1000 }, never.kept)
      assert.deepEqual([again.block, again.proof, again.asOf >= 1000, again.count], [undefined, 'probed', true, 1])
      const early = await searches([{ block: 800, paid: true }, ...late], { head: 4000, final: 1000 }, { blocksMax })
      assert.deepEqual([early.block, early.proof], [800, 'probed'])
    }
  })

  test('a list that is refuted after something of it was kept: that is thrown away, also in the store', async () => {
    // A contract that was paid, and lists that know nothing of it.
    const life: Moment[] = [
      { block: 1500, nonce: 1, code: spends },
      { block: 2000, balance: 1, paid: true },
    ]
    const lists = (from: number, to: number) => (to - from >= 100 ? undefined : [])
    // As an earlier search has left it, that believed them.
    const kept: Mark = { block: 1900, stateTells: false, proof: 'looked' }
    for (const sureBlocks of [100, 10_000]) {
      const bounds = { sureBlocks, callsMax: 300, blocksMax: 100 }
      const { block } = await searches(life, { head: 3000, final: 2900, lists }, bounds, kept)
      assert.equal(block, 2000)
    }
  })

  test('a node without traces: what it was looked at is believed, and gone on from', async () => {
    const paid = Array.from({ length: 60 }, (_, at): Moment => ({ block: 100 + at * 30, balance: at + 1 }))
    const life = [...paid, { block: 2500, balance: 61, paid: true as const }]
    const { block, proof, count } = await searches(life, { head: 3000, final: 2900, traces: false })
    assert.deepEqual([block, proof], [2500, 'looked'])
    assert.ok(count > 1, 'one search is not enough for so many withdrawals')
  })
})

test('a node that lists a hundred blocks at a time is asked page by page, and no block is read', async () => {
  const lists = (from: number, to: number) => (to - from >= 100 ? undefined : [])
  const { block, proof, read } = await searches([], { head: 9000, final: 8900, lists }, { sureBlocks: 0 })
  assert.deepEqual([block, proof], [undefined, 'listed'])
  assert.ok(read.length < 5, `${read.length} blocks were read`)
})
