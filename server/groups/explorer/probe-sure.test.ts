// 4.3 about accounts that never sent a transaction, by a node that lists nothing: blocks are read to be sure, or the answer says
// that they were not (decision 0165).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { blockOf, nobody, stage, untilTold } from '#test/probe-stage.ts'
import { findFunding, putProven } from './fundings.ts'

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

  test('200: what was stored as looked is searched for again once blocks may be read, decision 0165', async () => {
    await using at = await stage()
    const address = at.someone(({ block }) => block > 20 && block <= at.chain.final)
    const truth = at.chain.firstFunding(address)
    assert.ok(truth)
    const { from: funder, to: _, ...rest } = truth
    const funding = { chain: '1', address, funder, ...rest, block: truth.block + 1 }
    await at.desk.state.write((tx) => putProven(tx, funding, 'looked'))
    assert.equal(blockOf(await at.ask(address)), truth.block)
    assert.equal((await findFunding(at.desk.state, '1', address))?.proven, 'probed')
  })

  test('200: where every transaction is a call of its own, a search still comes further with each call', async () => {
    const kind = { busy: 24, ghosts: false }
    await using at = await stage({ traces: ['debug_traceTransaction'] }, { probe: { callsMax: 200 } }, {}, kind)
    const said: string[] = []
    assert.equal((await untilTold(() => at.ask(nobody), said)).is, 'nothing')
    assert.equal(new Set(said).size, said.length, 'none ends where another did')
    assert.ok(said.length > 5, `${said.length} calls`)
  })
})
