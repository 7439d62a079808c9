// The index at the end of a chain, step by step. Random histories are in history.test.ts, kill -9 in cli/ingest.test.ts.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { openNode, requireNode } from '#explorer/nodes.ts'
import { systemClock } from '#runtime/clock.ts'
import { SimChain } from '#simulator/evm/chain.ts'
import { SimNode } from '#simulator/evm/node.ts'
import { coverageOf } from '#storage/coverage.ts'
import { openState } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { blocksStream, getChainCoverage } from '../coverage.ts'
import { findFunding } from '../fundings.ts'
import { coverLinkedRange } from './continuity.ts'
import { findForgetStart, forgetFrom } from './forget.ts'
import { catchUpIndex, type IndexProgress, repairIndex } from './index-chain.ts'
import { chainFindings, followChain, reportIndexProblems, startChains } from './start.ts'
import { applyEvents } from './tail.ts'
import { findUnfinalizedFunding, readUnfinalizedBlocks } from './unfinalized.ts'

async function openIndexedChain({
  blocks = 60,
  finalLag = 20,
  index = {} as object,
  state: given = undefined as State | undefined,
} = {}) {
  const chain = new SimChain({ seed: 'index', finalLag })
  chain.mine(blocks)
  const sim = new SimNode(chain)
  const context = await openContext({
    explorer: {
      chains: [{ id: '1', name: 'Sim', mode: 'index', rpc: [{ url: await sim.listen(), batchMax: 4 }] }],
      index: { rangeBlocks: 7, ...index },
    },
  })
  const [settings] = context.settings.explorer.chains
  assert.ok(settings)
  const real = { ...context, clock: systemClock }
  const node = openNode(settings, real, { backoffMs: 0 })
  const reports: IndexProgress[] = []
  return {
    ...{ chain, sim, context, real, node, told: reports },
    catchUp: (state = given ?? context.state) =>
      catchUpIndex({ ...real, state }, node, (progress) => reports.push(progress)),
    repair: (from: number, until: number) => repairIndex(real, node, { from, until }, () => {}),
    ask: (address: string) => fundedBy.handle({ chainid: '1', address }, real, testRequestInfo()),
    async [Symbol.asyncDispose]() {
      await sim[Symbol.asyncDispose]()
      await context[Symbol.asyncDispose]()
    },
  }
}

type IndexedChain = Awaited<ReturnType<typeof openIndexedChain>>

async function assertIndexMatches({ chain, context }: Pick<IndexedChain, 'chain' | 'context'>): Promise<void> {
  const kept = await readUnfinalizedBlocks(context.state, '1')
  assert.deepEqual(
    kept.map(({ number, hash }) => [number, hash]),
    chain.blocks.slice(chain.final).map(({ number, hash }) => [number, hash]),
  )
  assert.deepEqual(await coverageOf(context.state, blocksStream('1')), [{ from: 0, until: chain.final + 1 }])
  for (const address of chain.addresses()) {
    const final = await findFunding(context.state, '1', address)
    assert.equal(final?.tx, chain.firstFunding(address, chain.final)?.tx)
    assert.equal(
      (final ?? (await findUnfinalizedFunding(context.state, '1', address)))?.tx,
      chain.firstFunding(address)?.tx,
    )
  }
}

describe('the run of blocks that are not final', () => {
  test('new blocks are added, replaced ones taken back, final ones settled', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    await assertIndexMatches(at)
    at.chain.mine(3)
    await at.catchUp()
    await assertIndexMatches(at)
    at.chain.reorg(7, 9)
    await at.catchUp()
    await assertIndexMatches(at)
    assert.equal(at.told.findLast((one) => one.is === 'near')?.revertedBlocks, 7)
    at.chain.mine(15)
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('a chain that becomes shorter takes its last blocks with it', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    at.chain.reorg(9, 2)
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('after a long absence the run is settled and the gap is read as final blocks', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    at.chain.reorg(12, 12)
    at.chain.mine(70)
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('a block that is not the child of the one below is not taken: the chain changed between two reads', async () => {
    await using at = await openIndexedChain()
    // Eight blocks of the run have been taken when the ninth is asked for; by then most of them are replaced.
    const ninth = `"0x${(at.chain.final + 9).toString(16)}",true`
    at.sim.meanwhile = (body) => {
      if (!body.includes(ninth)) return
      at.sim.meanwhile = undefined
      at.chain.reorg(18, 18)
    }
    await at.catchUp()
    assert.equal(at.sim.meanwhile, undefined)
    const kept = await readUnfinalizedBlocks(at.context.state, '1')
    assert.equal(kept.length, 9, 'the hook and the eight that fit together')
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('a node that contradicts a final block is not believed, and nothing is lost', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    const other = new SimChain({ seed: 'another world', finalLag: 20 })
    other.mine(62)
    const before = await readUnfinalizedBlocks(at.context.state, '1')
    const right = at.sim.chain
    Object.assign(at.sim, { chain: other })
    await assert.rejects(at.catchUp(), /another block 40 than the one that was final/)
    Object.assign(at.sim, { chain: right })
    assert.deepEqual(await readUnfinalizedBlocks(at.context.state, '1'), before)
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('no more blocks are kept than nearMax', async () => {
    await using at = await openIndexedChain({ index: { nearMax: 5 } })
    await at.catchUp()
    assert.equal((await readUnfinalizedBlocks(at.context.state, '1')).length, 6)
  })
})

test('a final block from a node on a fork is not taken, wherever in a range it lies, and the rest is right afterwards', async () => {
  const chain = new SimChain({ seed: 'index', finalLag: 20 })
  chain.mine(60)
  const fork = new SimChain({ seed: 'fork', finalLag: 20 })
  fork.mine(60)
  const [sim, forked] = [new SimNode(chain), new SimNode(fork)]
  assert.equal(chain.final, 40)
  // Ranges of seven: the first of one, one inside it, its last, a whole one, and the last one, of which six blocks are final.
  for (const [from, until] of [
    [14, 15],
    [17, 18],
    [20, 21],
    [14, 21],
    [40, 41],
    [35, 41],
  ] as const) {
    await using context = await openContext({
      explorer: {
        chains: [{ id: '1', name: 'Sim', rpc: [{ url: 'http://a/', batchMax: 1 }] }],
        index: { rangeBlocks: 7 },
      },
    })
    const [settings] = context.settings.explorer.chains
    assert.ok(settings)
    let isAstray = true
    const post = async (_: string, { body = '' }: { body?: string }) => {
      const { method, params } = JSON.parse(body)
      const isWhole = method === 'trace_block' || (method === 'eth_getBlockByNumber' && params[1])
      const strays = isAstray && isWhole && from <= Number(params[0]) && Number(params[0]) < until
      return (await (strays ? forked : sim).respond(body)).text
    }
    const node = openNode(settings, { clock: systemClock }, { post, backoffMs: 0 })
    const index = { ...context, clock: systemClock }
    await assert.rejects(
      catchUpIndex(index, node, () => {}),
      /both final, do not belong to the same chain/,
    )
    const covered = await coverageOf(context.state, blocksStream('1'))
    assert.ok(!covered.some((one) => one.from < until && from < one.until), `${from} is covered`)
    isAstray = false
    await catchUpIndex(index, node, () => {})
    await assertIndexMatches({ chain, context })
  }
})

describe('what was read before', () => {
  /** The same chain by its id, with another history. */
  const elsewhere = (blocks = 60) => {
    const chain = new SimChain({ seed: 'another history', finalLag: 20 })
    chain.mine(blocks)
    return chain
  }
  const rowsOf = async ({ context }: Pick<IndexedChain, 'context'>) => {
    const tables = ['fundings', 'near_fundings', 'near_blocks', 'coverage', 'chain_heads', 'block_seams']
    const columnsOf = (table: string) => (table === 'chain_heads' ? 'chain, final_until' : '*')
    return Promise.all(
      tables.map((table) => context.state.all(`select ${columnsOf(table)} from ${table} order by 1, 2`)),
    )
  }

  test('a node with another history adds nothing to it, neither beside it nor in its holes', async () => {
    await using at = await openIndexedChain()
    await at.repair(0, 10)
    await at.repair(20, 30)
    const before = await rowsOf(at)
    Object.assign(at.sim, { chain: elsewhere() })
    const attempts = [at.catchUp, () => at.repair(10, 20), () => at.repair(30, 41), () => at.repair(0, 10)]
    for (const attempt of attempts) {
      await assert.rejects(attempt, /another block (9|29) than the one that was final .* --forget-from/)
    }
    assert.deepEqual(await rowsOf(at), before)
    Object.assign(at.sim, { chain: at.chain })
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('a chain that was begun anew and is not as long yet adds nothing either', async () => {
    await using at = await openIndexedChain()
    await at.repair(0, 30)
    const before = await rowsOf(at)
    Object.assign(at.sim, { chain: elsewhere(25) })
    for (const attempt of [at.catchUp, () => at.repair(0, 10)])
      await assert.rejects(attempt, /the node is at block 25, behind block 29, which was final; .* --forget-from/)
    assert.deepEqual(await rowsOf(at), before)
  })

  test('what is forgotten begins with the newest row below the number that was given, or it is refused', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    const node = requireNode(at.real, '1')
    const [{ block: newest } = assert.fail()] = await at.context.state.all<{ block: number }>(
      'select max(block) as block from fundings where block < 35',
    )
    assert.equal(await findForgetStart(at.context.state, node, 35), newest)
    assert.equal(await findForgetStart(at.context.state, node, 0), 0)
    // The newest row is where it was; one below it is not.
    const [{ address } = assert.fail()] = await at.context.state.all<{ address: Uint8Array }>(
      'select address from fundings where block < ? order by block desc limit 1',
      newest,
    )
    await at.context.state.write((tx) =>
      tx.run('update fundings set tx = ? where address = ?', new Uint8Array(32), address),
    )
    await assert.rejects(findForgetStart(at.context.state, node, 35), /part further down; forget from a lower block/)
  })

  test('of two readers on different chains who comes second is refused, whichever side it comes from', async () => {
    await using context = await openContext()
    const hash = (digit: string) => `0x${digit.repeat(64)}`
    const put = (from: number, until: number, parent: string, last: string) =>
      context.state.write((tx) =>
        coverLinkedRange(tx, '1', { from, until, parentHash: hash(parent), lastHash: hash(last) }),
      )
    await put(7, 14, 'a', 'b')
    await assert.rejects(put(14, 21, 'c', 'd'), /another block 13 than/)
    await assert.rejects(put(0, 7, 'c', 'd'), /another block 6 than/)
    assert.deepEqual(await coverageOf(context.state, blocksStream('1')), [{ from: 7, until: 14 }])
    await put(14, 21, 'b', 'd')
    await put(0, 7, 'c', 'a')
    assert.deepEqual(await coverageOf(context.state, blocksStream('1')), [{ from: 0, until: 21 }])
  })

  test('a covered range without a hash at its end is accepted, and the hash of its new end is stored', async () => {
    await using at = await openIndexedChain()
    await at.repair(0, 14)
    await at.context.state.write((tx) => tx.run('delete from block_seams'))
    await at.repair(14, 28)
    Object.assign(at.sim, { chain: elsewhere() })
    await assert.rejects(at.repair(28, 35), /another block 27/)
  })

  test('one stretch has two seams, however often it grew', async () => {
    await using at = await openIndexedChain()
    for (let turn = 0; turn < 3; turn++, at.chain.mine(5)) await at.catchUp()
    await at.catchUp()
    const seams = await at.context.state.all<{ at: number }>('select at from block_seams order by at')
    assert.deepEqual(
      seams.map((one) => one.at),
      [0, at.chain.final + 1],
    )
  })

  test('what is forgotten and read again is as if it had been read once', async () => {
    for (const from of [0, 14, 33, 40]) {
      await using at = await openIndexedChain()
      await at.catchUp()
      const before = await rowsOf(at)
      const { blocks } = await forgetFrom(at.context.state, '1', from)
      assert.equal(blocks, at.chain.final + 1 - from)
      const [late] = await at.context.state.all('select 1 from fundings where block >= ?', from)
      assert.equal(late, undefined)
      const run = await readUnfinalizedBlocks(at.context.state, '1')
      assert.ok(run.every(({ number }) => number < from))
      assert.equal((await getChainCoverage(at.context, '1')).span.until, from)
      await at.catchUp()
      assert.deepEqual(await rowsOf(at), before)
    }
  })

  test('what stays when a part is forgotten still has its ends', async () => {
    await using at = await openIndexedChain()
    await at.repair(0, 10)
    await at.repair(20, 30)
    await forgetFrom(at.context.state, '1', 10)
    assert.deepEqual(await coverageOf(at.context.state, blocksStream('1')), [{ from: 0, until: 10 }])
    Object.assign(at.sim, { chain: elsewhere() })
    await assert.rejects(at.catchUp(), /another block 9/)
  })
})

test('invariant 2: an event for a run that another process has moved does nothing', async () => {
  await using at = await openIndexedChain()
  await at.catchUp()
  const old = await readUnfinalizedBlocks(at.context.state, '1')
  at.chain.mine(2)
  await at.catchUp()
  const before = await readUnfinalizedBlocks(at.context.state, '1')
  for (const event of [
    { is: 'reorg', from: at.chain.final + 1 },
    { is: 'finalize', until: at.chain.final + 3 },
  ] as const) {
    assert.equal(await applyEvents(at.context.state, '1', old, [event]), undefined)
  }
  assert.deepEqual(await readUnfinalizedBlocks(at.context.state, '1'), before)
  await assertIndexMatches(at)
})

test('two processes that follow the same chain into the same store end with the rows of one', async () => {
  await using at = await openIndexedChain()
  const second = await openState(at.context.dir, at.context.settings.store)
  try {
    for (let turn = 0; turn < 6; turn++) {
      await Promise.allSettled([at.catchUp(), at.catchUp(second)])
      if (turn === 2) at.chain.reorg(5, 8)
      else at.chain.mine(4)
    }
    await at.catchUp(second)
    await assertIndexMatches(at)
  } finally {
    await second.close()
  }
})

test('startChains asks the nodes and follows until it is told to stop', async () => {
  await using at = await openIndexedChain({ index: { everyMs: 100 } })
  const stop = new AbortController()
  const heads: number[] = []
  const running = startChains(at.real, stop.signal, () => (progress) => {
    if (progress.is !== 'near') return
    heads.push(progress.head)
    if (heads.length === 1) at.chain.mine(2)
    if (progress.head === 62) stop.abort()
  })
  await running
  assert.deepEqual([heads[0], heads.at(-1)], [60, 62])
  await at.catchUp()
  await assertIndexMatches(at)
})

test('a chain whose node fails is not ready, and is ready again as soon as the node is', async () => {
  await using at = await openIndexedChain()
  const { createSeededRandom: chance } = await import('#simulator/seeded-random.ts')
  assert.deepEqual(await chainFindings(at.real), [{ name: 'node of chain 1', ok: true, message: 'answers' }])
  at.sim.faults = { random: chance('ill'), rate: 1, kinds: ['status 500'] }
  const node = requireNode(at.real, '1')
  await assert.rejects(node.tip({ untilMs: systemClock.monotonicMs() + 300 }))
  const [ill] = await chainFindings(at.real)
  assert.equal(ill?.ok, false)
  assert.match(ill?.message ?? '', /status 500/)
  at.sim.faults = undefined
  while (!(await chainFindings(at.real))[0]?.ok);
})

describe('a block that no node can trace', () => {
  /** The first final block with a call of a contract, and that transaction. */
  const heavy = ({ chain }: IndexedChain, from: number) => {
    for (const { number, transactions } of chain.blocks.slice(from))
      for (const { hash, to } of transactions)
        if (to !== null && chain.accountAt(to, number - 1).code !== '0x') return { block: number, hash }
    return assert.fail('no transaction calls a contract')
  }
  /** The clock of the machine, so much later. */
  const later = (byMs: number) => ({ ...systemClock, monotonicMs: () => systemClock.monotonicMs() + byMs })

  for (const form of ['trace_block', 'debug_traceBlockByNumber'] as const) {
    test(`${form}: it is left out and reported, the others are read, and it is read once a node can`, async () => {
      await using at = await openIndexedChain()
      const { block, hash } = heavy(at, 5)
      at.sim.capabilities = { traces: [form], untraceable: (one) => one === hash }
      await at.catchUp()
      assert.deepEqual(await coverageOf(at.context.state, blocksStream('1')), [
        { from: 0, until: block },
        { from: block + 1, until: at.chain.final + 1 },
      ])
      assert.equal((await readUnfinalizedBlocks(at.context.state, '1')).at(-1)?.number, at.chain.head.number)
      const [told] = at.told.filter((one) => one.is === 'unreadable')
      assert.equal(told?.block, block)
      assert.match(told?.reason ?? '', /execution timeout/)
      const message = 'lacks 1 blocks that no node can trace; see the log'
      assert.deepEqual((await chainFindings(at.real)).at(-1), { name: 'index of chain 1', ok: true, message })
      const [problem] = await reportIndexProblems(at.real)
      for (const part of [`block ${block} is missing`, '127.0.0.1', 'execution timeout'])
        assert.ok(problem?.message.includes(part), part)
      // Tried once more with the next pass, but not with every pass.
      await at.catchUp()
      const asked = at.sim.calls
      at.chain.mine(1)
      await at.catchUp()
      assert.ok(at.sim.calls - asked < 20, `${at.sim.calls - asked} calls`)
      at.sim.capabilities = { traces: [form] }
      await catchUpIndex({ ...at.real, clock: later(120_000) }, at.node, () => {})
      await at.catchUp()
      await assertIndexMatches(at)
      assert.deepEqual(await reportIndexProblems(at.real), [])
    })
  }

  test('near the head it holds the run back until it is final', async () => {
    await using at = await openIndexedChain()
    const { block, hash } = heavy(at, at.chain.final + 3)
    at.sim.capabilities = { traces: ['trace_block'], untraceable: (one) => one === hash }
    await at.catchUp()
    assert.equal((await readUnfinalizedBlocks(at.context.state, '1')).at(-1)?.number, block - 1)
    at.chain.mine(20)
    await at.catchUp()
    assert.equal((await readUnfinalizedBlocks(at.context.state, '1')).at(-1)?.number, at.chain.head.number)
    const [, second] = await coverageOf(at.context.state, blocksStream('1'))
    assert.equal(second?.from, block + 1)
  })

  test('more than a few of them in one pass are an error', async () => {
    await using at = await openIndexedChain()
    const early = new Set(
      at.chain.blocks.slice(0, 40).flatMap(({ transactions }) => transactions.map(({ hash }) => hash)),
    )
    at.sim.capabilities = { traces: ['trace_block'], untraceable: (hash) => early.has(hash) }
    await assert.rejects(at.catchUp(), /block \d+ cannot be read/)
  })
})

describe('an index that was stopped by a contradiction', () => {
  test('is bad at once for /readyz and the doctor, also in a process that does not read the chain', async () => {
    await using at = await openIndexedChain({ index: { everyMs: 100 } })
    await at.catchUp()
    assert.deepEqual(await reportIndexProblems(at.real), [])
    const right = at.sim.chain
    const other = new SimChain({ seed: 'another world', finalLag: 20 })
    other.mine(62)
    Object.assign(at.sim, { chain: other })
    const [found] = await reportIndexProblems(at.real)
    assert.match(found?.message ?? '', /its index has stopped: .*another block 40 than the one that was final/)
    assert.match(found?.todo ?? '', /tetrad repair --chain 1 --forget-from/)
    const stop = new AbortController()
    const warned = Promise.withResolvers<string>()
    const log = { ...at.real.log, warn: (_: object, text: string) => warned.resolve(text) } as typeof at.real.log
    const following = followChain({ ...at.real, log }, at.node, stop.signal, (progress) => {
      if (progress.is === 'near') stop.abort()
    })
    try {
      assert.equal(await warned.promise, 'the index of the chain has stopped')
      const [, finding] = await chainFindings(at.real)
      assert.deepEqual([finding?.name, finding?.ok], ['index of chain 1', false])
      assert.match(finding?.message ?? '', /has stopped: a node contradicts blocks that were final/)
      Object.assign(at.sim, { chain: right })
      await following
    } finally {
      stop.abort()
    }
    assert.equal((await chainFindings(at.real)).length, 1)
  })
})

describe('200', () => {
  test('200: a funding that is not final is answered with finality head, an older one with finalized', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    const { final } = at.chain
    const near = at.chain.addresses().find((one) => (at.chain.firstFunding(one)?.block ?? 0) > final)
    const old = at.chain.addresses().find((one) => (at.chain.firstFunding(one)?.block ?? final) < final)
    assert.ok(near && old)
    const [nearer, older] = [await at.ask(near), await at.ask(old)]
    assert.ok(nearer.is === 'body' && older.is === 'body')
    assert.equal(nearer.body.result.fundingTxn, at.chain.firstFunding(near)?.tx)
    assert.deepEqual(
      [
        nearer.confidence?.finality,
        nearer.confidence?.coverage,
        older.confidence?.finality,
        older.confidence?.coverage,
      ],
      ['head', 'complete', 'finalized', 'complete'],
    )
  })
})
