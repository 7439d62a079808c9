// 4.3 about accounts that never sent a transaction, by a node that lists nothing: blocks are read to be sure, or the answer says
// that they were not (decision 0165).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { systemClock } from '#io/clock.ts'
import { openDesk, testVisit } from '#test/desk.ts'
import { type LifeOptions, lifeOf, type Moment, me, spends } from '#test/evm-life.ts'
import { blockOf, nobody, stage, untilTold } from '#test/probe-stage.ts'
import { fundedBy } from './funded-by.ts'
import { type Funding, putProven } from './fundings.ts'
import { catchUp } from './index-chain.ts'
import { nodeOf } from './node.ts'
import { probe } from './probe.ts'
import { findMark, type Mark, putMark, wantedOf } from './probe-marks.ts'
import { walk } from './probe-walk.ts'
import { putHead } from './standing.ts'

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

describe('unsure: refuse', () => {
  const refuse = { probe: { sureBlocks: 50, unsure: 'refuse' } }

  test('503: what would only be looked for is refused at once, says which blocks nobody has read, and is not gone on with, decision 0172', async () => {
    await using at = await stage(undefined, refuse)
    const late = at.someone(({ block, to }) => block > 60 && at.chain.accountAt(to, 200).nonce === 0n)
    for (const address of [nobody, late]) {
      const before = at.sim.calls
      await assert.rejects(at.ask(address), (error) => {
        assert.ok(error instanceof Fault && error.code === 'explorer.probe_bounds', String(error))
        assert.match(error.says, /blocks 0 to \d+ would have to be read .*trace_filter.*mode: both.*sureBlocks/)
        assert.equal(error.retryAfterMs, undefined)
        return true
      })
      assert.ok(at.sim.calls - before < 70, `${at.sim.calls - before} calls: it is not looked for what does not count`)
    }
    assert.deepEqual(await wantedOf(at.desk.state, '1', 10), [])
  })

  test('200: who has a key, and who came to life early, is answered as ever', async () => {
    await using at = await stage(undefined, refuse)
    const nonceOf = (one: string) => at.chain.accountAt(one, 200).nonce
    const key = at.someone(({ block, to }) => block > 1 && nonceOf(to) > 0n)
    const early = at.someone(({ block, to }) => block > 1 && block < 50 && nonceOf(to) === 0n)
    for (const address of [key, early]) {
      const outcome = await untilTold(() => at.ask(address))
      assert.equal(blockOf(outcome), at.chain.firstFunding(address)?.block)
      assert.equal('confidence' in outcome && outcome.confidence?.coverage, 'probed')
    }
  })

  test('503: what was stored as looked is not told any more, and is again when it may be', async () => {
    await using at = await stage(undefined, { probe: { sureBlocks: 0 } })
    const address = at.someone(({ block, to }) => block > 60 && at.chain.accountAt(to, 200).nonce === 0n)
    const block = blockOf(await at.ask(address))
    assert.ok(block)
    const probe = { ...at.desk.settings.explorer.probe, unsure: 'refuse' as const }
    const settings = { ...at.desk.settings, explorer: { ...at.desk.settings.explorer, probe } }
    const ask = () => fundedBy.reply({ chainid: '1', address }, { ...at.desk, settings }, testVisit())
    await assert.rejects(ask, (error) => error instanceof Fault && error.code === 'explorer.probe_bounds')
    assert.equal(blockOf(await at.ask(address)), block)
  })

  test('nothing rests on what was only looked for before', async () => {
    const life: Moment[] = [
      { block: 1000, balance: 1 },
      { block: 3900, balance: 2, paid: true },
    ]
    const { node } = lifeOf(life, { head: 4000, final: 3950 })
    const since: Mark = { block: 2000, stateTells: true, proof: 'looked' }
    const limits = { ...usual, sureBlocks: 100, since }
    assert.equal((await walk(node, me, limits)).proof, 'looked')
    await assert.rejects(walk(node, me, { ...limits, unsure: 'refuse' }), /blocks 0 to 999 would have to be read/)
  })
})

describe('a search begins where the index ended, decision 0171', () => {
  /** The index has read up to block 189 of a chain that has become longer. */
  const partly = async (settings: object) => {
    const at = await stage(undefined, settings, { mode: 'both' })
    await catchUp({ ...at.desk, clock: systemClock }, nodeOf(at.desk, '1') ?? assert.fail(), () => {})
    at.chain.mine(100)
    await at.desk.state.write((tx) => putHead(tx, '1', at.chain.final + 1))
    return at
  }

  test('200: the blocks it has read need not be read again to be sure', async () => {
    await using at = await partly({ probe: { sureBlocks: 150 } })
    const before = at.sim.calls
    const outcome = await untilTold(() => at.ask(nobody))
    assert.deepEqual(outcome, { is: 'nothing', confidence: { asOf: 300, finality: 'head', coverage: 'probed' } })
    assert.ok(at.sim.calls - before < 20 + 3 * 110, `${at.sim.calls - before} calls`)
  })

  test('200: a first funding in what is left is found, and one that was stored as looked is searched for again', async () => {
    await using at = await partly({ probe: { sureBlocks: 150 } })
    const address = at.chain.addresses().find((one) => {
      const { block = 0 } = at.chain.firstFunding(one) ?? {}
      return block > at.chain.final - 80 && block <= at.chain.final && at.chain.accountAt(one, 300).nonce === 0n
    })
    assert.ok(address)
    const funding = fundingOf(at, address)
    await at.desk.state.write((tx) => putProven(tx, funding, 'looked'))
    assert.equal(blockOf(await at.ask(address)), funding.block)
    assert.deepEqual(await wantedOf(at.desk.state, '1', 10), [{ address, block: -1 }])
    const probed = await untilTold(() => probe({ ...at.desk, clock: systemClock }, '1', address))
    assert.deepEqual([probed.funding?.block, probed.confidence.coverage], [funding.block, 'probed'])
  })

  test('what a search before it came to is not believed where the index has come further', async () => {
    const life: Moment[] = [{ block: 3900, balance: 1, paid: true }]
    const { node, read } = lifeOf(life, { head: 4000, final: 3950 })
    for (const proof of ['looked', 'probed'] as const) {
      const since: Mark = { block: 2000, stateTells: false, proof }
      const walked = await walk(node, me, { ...usual, since, readUpTo: 3880 })
      assert.deepEqual([walked.funding?.block, walked.proof], [3900, 'probed'])
      assert.deepEqual([Math.min(...read), Math.max(...read)], [3881, 3900])
    }
  })

  test('looks that went further than the index are not believed where the blocks between can be read', async () => {
    const { node } = lifeOf([{ block: 15_500, balance: 1, paid: true }], { head: 16_000, final: 15_900 })
    const since: Mark = { block: 15_200, stateTells: true, proof: 'looked' }
    const proofAfter = async (readUpTo: number) => (await walk(node, me, { ...usual, since, readUpTo })).proof
    assert.deepEqual([await proofAfter(15_000), await proofAfter(3000)], ['probed', 'looked'])
  })

  test('a search for what the index has read meanwhile finds it there', async () => {
    await using at = await partly({})
    const address = at.someone(({ block }) => block > 20 && block < 100)
    const { funding } = await probe({ ...at.desk, clock: systemClock }, '1', address)
    assert.equal(funding?.block, at.chain.firstFunding(address)?.block)
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
