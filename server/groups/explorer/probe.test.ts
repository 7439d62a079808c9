// 4.3 with nothing but a node, over HTTP: what a probe answers, stores, refuses, and how much it asks.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Fault } from '#core/fault.ts'
import { chance } from '#sim/chance.ts'
import { inertCode } from '#sim/evm/execute.ts'
import type { SimAbilities } from '#sim/evm/node.ts'
import { blockOf, nobody, stage, untilTold } from '#test/probe-stage.ts'
import { findFunding, putFundings } from './fundings.ts'
import { findMark } from './probe-marks.ts'

describe('200', () => {
  test('200: a cold address is found, stored, and answered from the store from then on', async () => {
    await using at = await stage()
    const address = at.someone(({ block }) => block > 50 && block <= at.chain.final)
    const truth = at.chain.firstFunding(address)
    const first = await at.ask(address.toUpperCase().replace('0X', '0x'))
    assert.equal(blockOf(first), truth?.block)
    assert.deepEqual(first.is === 'body' && first.confidence, { asOf: 200, finality: 'finalized', coverage: 'probed' })
    assert.equal((await findFunding(at.desk.state, '1', address))?.proven, 'probed')
    const asked = at.sim.calls
    const second = await at.ask(address)
    assert.equal(at.sim.calls, asked)
    assert.deepEqual(second.is === 'body' && first.is === 'body' && second.body, first.is === 'body' && first.body)
    assert.deepEqual(second.is === 'body' && second.confidence, {
      asOf: truth?.block,
      finality: 'finalized',
      coverage: 'probed',
    })
  })

  test('200: what is not final yet is answered as such and not stored', async () => {
    await using at = await stage()
    const address = at.someone(({ block }) => block > at.chain.final)
    const outcome = await at.ask(address)
    assert.equal(outcome.is === 'body' && outcome.confidence?.finality, 'head')
    assert.equal(await findFunding(at.desk.state, '1', address), undefined)
  })

  test('200: ten callers with the same cold address cause one search', async () => {
    await using alone = await stage()
    const address = alone.someone(({ block }) => block > 50 && block <= alone.chain.final)
    await alone.ask(address)
    await using at = await stage()
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => at.ask(address)))
    assert.equal(new Set(outcomes.map((one) => JSON.stringify(one))).size, 1)
    assert.equal(at.sim.calls, alone.sim.calls)
  })

  test('200: a row that nobody has proven does not count, but the search confirms it', async () => {
    await using at = await stage()
    const address = at.someone(({ block }) => block <= at.chain.final)
    const truth = at.chain.firstFunding(address)
    assert.ok(truth)
    const { from: funder, to: _, ...rest } = truth
    await at.desk.state.write((tx) => putFundings(tx, [{ chain: '1', address, funder, ...rest }]))
    assert.equal(blockOf(await at.ask(address)), truth.block)
    assert.equal((await findFunding(at.desk.state, '1', address))?.proven, 'probed')
  })

  test('200: with trace_filter a contract funded long after its creation is found, at whatever distance', async () => {
    await using at = await stage({ traces: ['trace_block'], filterBlocks: 1000 }, { probe: { blocksMax: 0 } })
    const address = at.contract((one) => {
      const funding = at.chain.firstFunding(one)
      return funding !== undefined && at.chain.accountAt(one, funding.block - 5).code !== '0x'
    })
    assert.equal(blockOf(await at.ask(address)), at.chain.firstFunding(address)?.block)
  })

  test('200: without trace_filter a contract funded long after its creation is found by asking again, decision 0066', async () => {
    await using at = await stage(undefined, { probe: { blocksMax: 4 } })
    const address = at.contract((one) => {
      const { block = 0 } = at.chain.firstFunding(one) ?? {}
      return block > 20 && block <= at.chain.final && at.chain.accountAt(one, block - 20).code !== '0x'
    })
    const said: string[] = []
    const outcome = await untilTold(() => at.ask(address), said)
    assert.equal(blockOf(outcome), at.chain.firstFunding(address)?.block)
    assert.ok(said.length >= 4, 'each search reads four blocks')
    assert.equal(new Set(said).size, said.length, 'and none reads them again')
    assert.equal(await findMark(at.desk.state, '1', address), undefined)
  })

  test('200: a contract that never got anything is nothing once all that is final has been read, as of there', async () => {
    await using at = await stage(undefined, { probe: { blocksMax: 16 } })
    const address = at.contract((one) => at.chain.firstFunding(one) === undefined)
    const outcome = await untilTold(() => at.ask(address))
    assert.equal(outcome.is, 'nothing')
    const { asOf, coverage } = (outcome.is === 'nothing' && outcome.confidence) || {}
    assert.ok(Number(asOf) >= at.chain.final, `as of ${asOf}`)
    assert.equal(coverage, 'probed')
    const before = at.sim.calls
    await at.ask(address)
    assert.ok(at.sim.calls - before < 60, 'only what is not final is read again')
  })

  test('200: a contract whose code keeps what it gets is told by its state, at any distance and without reading on', async () => {
    await using at = await stage(undefined, { probe: { blocksMax: 0, sureBlocks: 0 } }, {}, { inertPercent: 50 })
    const inert = at.steady.filter((one) => at.chain.accountAt(one, at.chain.head.number).code === inertCode)
    let [late, never] = [0, 0]
    for (const address of inert) {
      const funding = at.chain.firstFunding(address)
      assert.equal(blockOf(await at.ask(address)), funding?.block)
      if (!funding) never += 1
      else if (at.chain.accountAt(address, funding.block - 1).code === inertCode) late += 1
    }
    assert.ok(late > 0 && never > 0, `${late} funded after their creation, ${never} never`)
  })

  test('200: without traces a plain transfer is proven by the balance it explains', async () => {
    await using at = await stage({ traces: [] })
    let [right, refused] = [0, 0]
    for (const address of at.chain
      .addresses()
      .filter((one) => !at.chain.destroyed.has(one))
      .slice(0, 50)) {
      try {
        assert.equal(blockOf(await at.ask(address)), at.chain.firstFunding(address)?.block)
        right += 1
      } catch (error) {
        assert.match((error as Fault).code, /explorer\.(no_traces|probe_bounds)/)
        refused += 1
      }
    }
    assert.ok(right > 5 && refused > 5, `${right} right, ${refused} refused`)
  })
})

test('without traces, eth_getBlockReceipts gives the same answers for fewer calls', async () => {
  const answers = async (abilities: SimAbilities) => {
    await using at = await stage(abilities, {}, {}, { busy: 12 })
    const asked = at.steady.slice(0, 8).map((one) => at.ask(one).then(blockOf, (error: Fault) => error.code))
    return { told: await Promise.all(asked), calls: at.sim.calls }
  }
  const [single, whole] = [await answers({ traces: [] }), await answers({ traces: [], receipts: true })]
  assert.deepEqual(whole.told, single.told)
  assert.ok(whole.calls < single.calls, `${whole.calls} calls, ${single.calls} one by one`)
})

describe('200 with a failure envelope', () => {
  const refuses = async (work: Promise<unknown>, code: Fault['code'], words: RegExp) =>
    assert.rejects(work, (fault: Fault) => {
      assert.equal(fault.code, code, fault.message)
      assert.match(`${fault.message} ${fault.says}`, words)
      return true
    })

  test('a node that is not archive: the remedy is named', async () => {
    await using at = await stage({ traces: ['trace_block'], stateBlocks: 20 })
    const address = at.someone(({ block }) => block < 100)
    await refuses(at.ask(address), 'explorer.not_archive', /archive node or index/)
    await using told = await stage(undefined, {}, { archive: false })
    await refuses(told.ask(address), 'explorer.not_archive', /archive: false/)
  })

  test('a contract that can pass value on, funded long after its creation: said so, not guessed, decision 0017', async () => {
    await using at = await stage(undefined, { probe: { blocksMax: 0, sureBlocks: 0 } })
    const address = at.contract((one) => {
      const funding = at.chain.firstFunding(one)
      return funding === undefined || at.chain.accountAt(one, funding.block - 1).code !== '0x'
    })
    await refuses(at.ask(address), 'explorer.probe_bounds', /up to block \d+ of 200 none holds a transfer to it.*index/)
  })

  test('too few calls: said so', async () => {
    await using at = await stage(undefined, { probe: { callsMax: 50, fanOut: 30 } })
    await refuses(at.ask(at.someone(() => true)), 'explorer.probe_bounds', /More than 50 calls/)
  })

  test('too little time: said so, and soon', async () => {
    await using at = await stage(undefined, { probe: { timeoutMs: 100 } })
    at.sim.faults = { chance: chance('slow'), rate: 1, kinds: ['slow'] }
    await refuses(at.ask(nobody), 'explorer.node_unavailable', /did not answer within|no time left/)
  })

  test('a node that answers null or errors throughout: unavailable', async () => {
    for (const kind of ['null', 'error', 'status 500'] as const) {
      await using at = await stage(undefined, { probe: { timeoutMs: 600 } })
      at.sim.faults = { chance: chance('ill'), rate: 1, kinds: [kind] }
      await refuses(
        at.ask(nobody),
        'explorer.node_unavailable',
        /null|internal error|status 500|within|in time|no time/,
      )
    }
  })

  test('the chain is reorganised during the search: asked to try again, not answered from two chains', async () => {
    await using at = await stage()
    const address = at.someone(({ block }) => block > at.chain.final)
    await at.ask(address)
    // The first requests fix the head; then the last blocks are replaced, under the search.
    const from = at.sim.rounds
    at.sim.meanwhile = () => {
      if (at.sim.rounds - from === 3) at.chain.reorg(9, 9)
    }
    await refuses(at.ask(address), 'explorer.node_unavailable', /reorganised/)
    at.sim.meanwhile = undefined
    assert.equal(blockOf(await at.ask(address)), at.chain.firstFunding(address)?.block)
  })

  test('more searches than allowed: refused, not queued', async () => {
    await using at = await stage(undefined, { probe: { parallelMax: 2 } })
    const [one, two, three] = at.chain.addresses()
    at.sim.faults = { chance: chance('slow'), rate: 1, kinds: ['slow'] }
    const running = Promise.allSettled([at.ask(one as string), at.ask(two as string)])
    while (at.sim.rounds < 2) await new Promise((resolve) => setImmediate(resolve))
    at.sim.faults = undefined
    await refuses(at.ask(three as string), 'explorer.node_unavailable', /Too many searches/)
    await running
  })

  test('an earlier transfer on record than the search finds refutes the search', async () => {
    await using at = await stage()
    const address = at.someone(({ block }) => block > 50 && block <= at.chain.final)
    const truth = at.chain.firstFunding(address)
    assert.ok(truth)
    const { from: funder, to: _, ...rest } = truth
    await at.desk.state.write((tx) => putFundings(tx, [{ chain: '1', address, funder, ...rest, block: 1 }]))
    await refuses(at.ask(address), 'explorer.probe_bounds', /earlier transfer is on record/)
  })

  test('mode index: no search, and the uncovered blocks are named', async () => {
    await using at = await stage(undefined, {}, { mode: 'index' })
    await refuses(at.ask(nobody), 'explorer.not_covered', /No block of chain 1/)
    assert.equal(at.sim.calls, 0)
  })
})
