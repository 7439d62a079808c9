// Indexing at the end of a chain, step by step. See also ../random-histories.test.ts, and cli/ingest.test.ts for kill
// -9.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { type ChainNode, openNode, requireNode } from '#explorer/nodes.ts'
import { coverageReport } from '#operations/coverage.ts'
import { systemClock } from '#runtime/clock.ts'
import type { AppContext } from '#server/context.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { coverageOf } from '#storage/coverage.ts'
import { openIngest } from '#storage/open.ts'
import type { State } from '#storage/state.ts'
import { executionClientOfRun } from '#test/client-of-run.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { FaultyNode } from '#test/simulator/faulty-node.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { waitUntil } from '#test/wait-until.ts'
import { blocksStream, getChainCoverage } from '../chain-coverage.ts'
import { findFunding } from '../fundings.ts'
import { coverLinkedRange } from './continuity.ts'
import { findForgetStart, forgetFrom } from './forget.ts'
import { catchUpIndex, type IndexProgress, repairIndex } from './index-chain.ts'
import { getIndexProblems } from './problems.ts'
import { chainFindings, followChain, reportIndexProblems, startChains } from './start-chains.ts'
import { applyEvents } from './tail.ts'
import { findUnfinalizedFunding, readUnfinalizedBlocks } from './unfinalized.ts'

async function openIndexedChain({
  blocks = 60,
  finalLag = 20,
  index = {} as object,
  state: given = undefined as State | undefined,
} = {}) {
  const chain = new SimulatedChain({ seed: 'index', finalLag })
  chain.mine(blocks)
  const simulated = new FaultyNode(chain, executionClientOfRun())
  const context = await openContext({
    explorer: {
      chains: [{ id: '1', name: 'Simulated', mode: 'index', rpc: [{ url: await simulated.listen(), batchMax: 4 }] }],
      index: { rangeBlocks: 7, ...index },
    },
  })
  const [settings] = context.settings.explorer.chains
  assert.ok(settings)
  const real = { ...context, clock: systemClock }
  const node = openNode(settings, real, { backoffMs: 0 })
  const reports: IndexProgress[] = []
  return {
    chain,
    simulated,
    context,
    real,
    node,
    progress: reports,
    catchUp: (state = given ?? context.ingest) =>
      catchUpIndex({ ...real, ingest: state }, node, (progress) => reports.push(progress)),
    repair: (from: number, until: number) => repairIndex(real, node, { from, until }, () => {}),
    ask: (address: string) => fundedBy.handle({ chainid: '1', address }, real, testRequestInfo()),
    async [Symbol.asyncDispose]() {
      await simulated[Symbol.asyncDispose]()
      await context[Symbol.asyncDispose]()
    },
  }
}

type IndexedChain = Awaited<ReturnType<typeof openIndexedChain>>

async function assertIndexMatches({ chain, context }: Pick<IndexedChain, 'chain' | 'context'>): Promise<void> {
  const kept = await readUnfinalizedBlocks(context.ingest, '1')
  assert.deepEqual(
    kept.map(({ number, hash }) => [number, hash]),
    chain.blocks.slice(chain.final).map(({ number, hash }) => [number, hash]),
  )
  assert.deepEqual(await coverageOf(context.ingest, blocksStream('1')), [{ from: 0, until: chain.final + 1 }])
  for (const address of chain.addresses()) {
    const final = await findFunding(context.ingest, '1', address)
    assert.equal(final?.tx, firstFunding(chain, address, chain.final)?.tx)
    assert.equal(
      (final ?? (await findUnfinalizedFunding(context.ingest, '1', address)))?.tx,
      firstFunding(chain, address)?.tx,
    )
  }
}

describe('unfinalized blocks', () => {
  test('new blocks are added, replaced ones reverted, final ones finalized', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    await assertIndexMatches(at)
    at.chain.mine(3)
    await at.catchUp()
    await assertIndexMatches(at)
    at.chain.reorg(7, 9)
    await at.catchUp()
    await assertIndexMatches(at)
    assert.equal(at.progress.findLast((one) => one.is === 'unfinalized')?.revertedBlocks, 7)
    at.chain.mine(15)
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('blocks are removed when the chain becomes shorter', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    at.chain.reorg(9, 2)
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('after a long pause the run is finalized and the gap is indexed as final blocks', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    at.chain.reorg(12, 12)
    at.chain.mine(70)
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('a block that does not link to the previous one is rejected: the chain changed between two reads', async () => {
    await using at = await openIndexedChain()
    // When the ninth block is requested, most of the eight before it have been replaced.
    const ninth = `"0x${(at.chain.final + 9).toString(16)}",true`
    at.simulated.meanwhile = (body) => {
      if (!body.includes(ninth)) return
      at.simulated.meanwhile = undefined
      at.chain.reorg(18, 18)
    }
    await at.catchUp()
    assert.equal(at.simulated.meanwhile, undefined)
    const kept = await readUnfinalizedBlocks(at.context.ingest, '1')
    assert.equal(kept.length, 9, 'the anchor block and the eight that link to it')
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('a node that contradicts a final block is rejected, and nothing is lost', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    const other = new SimulatedChain({ seed: 'another world', finalLag: 20 })
    other.mine(62)
    const before = await readUnfinalizedBlocks(at.context.ingest, '1')
    const right = at.simulated.chain
    Object.assign(at.simulated, { chain: other })
    await assert.rejects(at.catchUp(), /block 40 of the node differs from the finalized block/)
    Object.assign(at.simulated, { chain: right })
    assert.deepEqual(await readUnfinalizedBlocks(at.context.ingest, '1'), before)
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('at most unfinalizedMax blocks are stored', async () => {
    await using at = await openIndexedChain({ index: { unfinalizedMax: 5 } })
    await at.catchUp()
    assert.equal((await readUnfinalizedBlocks(at.context.ingest, '1')).length, 6)
  })
})

test('a final block from a node on a fork is rejected at any position of a range, and the index is right afterwards', async () => {
  const chain = new SimulatedChain({ seed: 'index', finalLag: 20 })
  chain.mine(60)
  const fork = new SimulatedChain({ seed: 'fork', finalLag: 20 })
  fork.mine(60)
  const [simulated, forked] = [new LimitedNode(chain), new LimitedNode(fork)]
  assert.equal(chain.final, 40)
  // Ranges of seven blocks: the first block, one inside, the last one, a whole range, and the incomplete last range.
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
        chains: [{ id: '1', name: 'Simulated', rpc: [{ url: 'http://a/', batchMax: 1 }] }],
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
      return (await (strays ? forked : simulated).respond(body)).text
    }
    const node = openNode(settings, { clock: systemClock }, { post, backoffMs: 0 })
    const index = { ...context, clock: systemClock }
    await assert.rejects(
      catchUpIndex(index, node, () => {}),
      /finalized block \d+ does not link to block \d+/,
    )
    const covered = await coverageOf(context.ingest, blocksStream('1'))
    assert.ok(!covered.some((one) => one.from < until && from < one.until), `${from} is covered`)
    isAstray = false
    await catchUpIndex(index, node, () => {})
    await assertIndexMatches({ chain, context })
  }
})

describe('continuity', () => {
  /** A chain with the same id and another history. */
  const elsewhere = (blocks = 60) => {
    const chain = new SimulatedChain({ seed: 'another history', finalLag: 20 })
    chain.mine(blocks)
    return chain
  }
  const rowsOf = async ({ context }: Pick<IndexedChain, 'context'>) => {
    const tables = [
      'fundings',
      'unfinalized_fundings',
      'unfinalized_blocks',
      'coverage',
      'chain_heads',
      'range_boundaries',
    ]
    const columnsOf = (table: string) => (table === 'chain_heads' ? 'chain, final_until' : '*')
    return Promise.all(
      tables.map((table) => context.ingest.all(`select ${columnsOf(table)} from ${table} order by 1, 2`)),
    )
  }

  test('a node with another history adds nothing, neither next to the indexed ranges nor in their gaps', async () => {
    await using at = await openIndexedChain()
    await at.repair(0, 10)
    await at.repair(20, 30)
    const before = await rowsOf(at)
    Object.assign(at.simulated, { chain: elsewhere() })
    const attempts = [at.catchUp, () => at.repair(10, 20), () => at.repair(30, 41), () => at.repair(0, 10)]
    for (const attempt of attempts) {
      await assert.rejects(attempt, /block (9|29) of the node differs from the finalized block .* --forget-from/)
    }
    assert.deepEqual(await rowsOf(at), before)
    Object.assign(at.simulated, { chain: at.chain })
    await at.catchUp()
    await assertIndexMatches(at)
  })

  test('a restarted chain that is still shorter adds nothing', async () => {
    await using at = await openIndexedChain()
    await at.repair(0, 30)
    const before = await rowsOf(at)
    Object.assign(at.simulated, { chain: elsewhere(25) })
    for (const attempt of [at.catchUp, () => at.repair(0, 10)])
      await assert.rejects(attempt, /the node is at block 25, before the finalized block 29\. .* --forget-from/)
    assert.deepEqual(await rowsOf(at), before)
  })

  test('removal starts at the newest row below the given block, or is rejected', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    const node = requireNode(at.real, '1')
    const [{ block: newest } = assert.fail()] = await at.context.ingest.all<{ block: number }>(
      'select max(block) as block from fundings where block < 35',
    )
    assert.equal(await findForgetStart(at.context.ingest, node, 35), newest)
    assert.equal(await findForgetStart(at.context.ingest, node, 0), 0)
    // The newest row matches; an older one does not.
    const [{ address } = assert.fail()] = await at.context.ingest.all<{ address: Uint8Array }>(
      'select address from fundings where block < ? order by block desc limit 1',
      newest,
    )
    await at.context.ingest.write((tx) =>
      tx.run('update fundings set tx = ? where address = ?', new Uint8Array(32), address),
    )
    await assert.rejects(
      findForgetStart(at.context.ingest, node, 35),
      /differs from the indexed one\. Choose a lower block/,
    )
  })

  test('of two readers on different chains the second is rejected, on either side of the range', async () => {
    await using context = await openContext()
    const hash = (digit: string) => `0x${digit.repeat(64)}`
    const put = (from: number, until: number, parent: string, last: string) =>
      context.ingest.write((tx) =>
        coverLinkedRange(tx, '1', { from, until, parentHash: hash(parent), lastHash: hash(last) }),
      )
    await put(7, 14, 'a', 'b')
    await assert.rejects(put(14, 21, 'c', 'd'), /block 13 of the node differs/)
    await assert.rejects(put(0, 7, 'c', 'd'), /block 6 of the node differs/)
    assert.deepEqual(await coverageOf(context.ingest, blocksStream('1')), [{ from: 7, until: 14 }])
    await put(14, 21, 'b', 'd')
    await put(0, 7, 'c', 'a')
    assert.deepEqual(await coverageOf(context.ingest, blocksStream('1')), [{ from: 0, until: 21 }])
  })

  test('a covered range without a hash at its end is accepted, and the hash of its new end is stored', async () => {
    await using at = await openIndexedChain()
    await at.repair(0, 14)
    await at.context.ingest.write((tx) => tx.run('delete from range_boundaries'))
    await at.repair(14, 28)
    Object.assign(at.simulated, { chain: elsewhere() })
    await assert.rejects(at.repair(28, 35), /block 27 of the node differs/)
  })

  test('a range has two boundaries, however often it grew', async () => {
    await using at = await openIndexedChain()
    for (let round = 0; round < 3; round++, at.chain.mine(5)) await at.catchUp()
    await at.catchUp()
    const boundaries = await at.context.ingest.all<{ at: number }>('select at from range_boundaries order by at')
    assert.deepEqual(
      boundaries.map((one) => one.at),
      [0, at.chain.final + 1],
    )
  })

  test('blocks that are removed and read again give the same index', async () => {
    for (const from of [0, 14, 33, 40]) {
      await using at = await openIndexedChain()
      await at.catchUp()
      const before = await rowsOf(at)
      const { blocks } = await forgetFrom(at.context.ingest, '1', from)
      assert.equal(blocks, at.chain.final + 1 - from)
      const [late] = await at.context.ingest.all('select 1 from fundings where block >= ?', from)
      assert.equal(late, undefined)
      const run = await readUnfinalizedBlocks(at.context.ingest, '1')
      assert.ok(run.every(({ number }) => number < from))
      assert.equal((await getChainCoverage(at.context, '1')).blocks.until, from)
      await at.catchUp()
      assert.deepEqual(await rowsOf(at), before)
    }
  })

  test('the remaining ranges keep their boundaries', async () => {
    await using at = await openIndexedChain()
    await at.repair(0, 10)
    await at.repair(20, 30)
    await forgetFrom(at.context.ingest, '1', 10)
    assert.deepEqual(await coverageOf(at.context.ingest, blocksStream('1')), [{ from: 0, until: 10 }])
    Object.assign(at.simulated, { chain: elsewhere() })
    await assert.rejects(at.catchUp(), /block 9 of the node differs/)
  })
})

test('rule 2: events for a run that another process has changed do nothing', async () => {
  await using at = await openIndexedChain()
  await at.catchUp()
  const old = await readUnfinalizedBlocks(at.context.ingest, '1')
  at.chain.mine(2)
  await at.catchUp()
  const before = await readUnfinalizedBlocks(at.context.ingest, '1')
  for (const event of [
    { is: 'reorg', from: at.chain.final + 1 },
    { is: 'finalize', until: at.chain.final + 3 },
  ] as const) {
    assert.equal(await applyEvents(at.context.ingest, '1', old, [event]), undefined)
  }
  assert.deepEqual(await readUnfinalizedBlocks(at.context.ingest, '1'), before)
  await assertIndexMatches(at)
})

test('ranges that were read before a node failed are stored', async () => {
  await using at = await openIndexedChain({ index: { parallel: 1 } })
  const node: ChainNode = {
    ...at.node,
    read: async (numbers, options) => {
      if (numbers.includes(30)) throw new Error('the node failed')
      return at.node.read(numbers, options)
    },
  }
  await assert.rejects(
    repairIndex(at.real, node, { from: 0, until: 40 }, () => {}),
    /the node failed/,
  )
  assert.deepEqual(await coverageOf(at.context.ingest, blocksStream('1')), [{ from: 0, until: 28 }])
})

test('two processes that index the same chain produce the rows of one', async () => {
  await using at = await openIndexedChain()
  const second = await openIngest(at.context.dir, at.context.settings.store)
  try {
    for (let round = 0; round < 6; round++) {
      await Promise.allSettled([at.catchUp(), at.catchUp(second)])
      if (round === 2) at.chain.reorg(5, 8)
      else at.chain.mine(4)
    }
    await at.catchUp(second)
    await assertIndexMatches(at)
  } finally {
    await second.close()
  }
})

test('startChains tests the nodes and indexes until it is stopped', async () => {
  await using at = await openIndexedChain({ index: { everyMs: 100 } })
  const stop = new AbortController()
  const heads: number[] = []
  const onProgress = () => (progress: IndexProgress) => {
    if (progress.is !== 'unfinalized') return
    heads.push(progress.head)
    if (heads.length === 1) at.chain.mine(2)
    if (progress.head === 62) stop.abort()
  }
  const running = startChains(at.real, stop.signal, { onProgress, onTroubles: () => {}, onForks: async () => {} })
  await running
  assert.deepEqual([heads[0], heads.at(-1)], [60, 62])
  await at.catchUp()
  await assertIndexMatches(at)
})

test('a chain is not ready while its node fails, and ready again when it recovers', async () => {
  await using at = await openIndexedChain()
  const { createSeededRandom: chance } = await import('#simulator/seeded-random.ts')
  assert.deepEqual(await chainFindings(at.real), [{ name: 'node of chain 1', ok: true, message: 'reachable' }])
  at.simulated.faults = { random: chance('ill'), rate: 1, kinds: ['status 500'] }
  const node = requireNode(at.real, '1')
  await assert.rejects(node.tip({ untilMs: systemClock.monotonicMs() + 300 }))
  const [ill] = await chainFindings(at.real)
  assert.equal(ill?.ok, false)
  assert.match(ill?.message ?? '', /status 500/)
  at.simulated.faults = undefined
  await waitUntil(async () => (await chainFindings(at.real))[0]?.ok === true)
})

describe('a block that no node can trace', () => {
  /** The first final block with a contract call, and that transaction. */
  const heavy = ({ chain }: IndexedChain, from: number) => {
    for (const { number, transactions } of chain.blocks.slice(from))
      for (const { hash, to, frame } of transactions)
        if (to !== null && !frame.failed && chain.accountAt(to, number - 1).code !== '0x')
          return { block: number, hash }
    return assert.fail('no transaction calls a contract')
  }
  /** The system clock, shifted. */
  const later = (byMs: number) => ({ ...systemClock, monotonicMs: () => systemClock.monotonicMs() + byMs })

  for (const form of ['trace_block', 'debug_traceBlockByNumber'] as const) {
    test(`${form}: is left out and reported, and is read once a node can trace it`, async () => {
      await using at = await openIndexedChain()
      const { block, hash } = heavy(at, 5)
      at.simulated.capabilities = { traces: [form], untraceable: (one) => one === hash }
      await at.catchUp()
      assert.deepEqual(await coverageOf(at.context.ingest, blocksStream('1')), [
        { from: 0, until: block },
        { from: block + 1, until: at.chain.final + 1 },
      ])
      assert.equal((await readUnfinalizedBlocks(at.context.ingest, '1')).at(-1)?.number, at.chain.head.number)
      const [unreadable] = at.progress.filter((event) => event.is === 'unreadable')
      assert.equal(unreadable?.block, block)
      assert.match(unreadable?.reason ?? '', /execution timeout/)
      // The server is ready, but the check fails.
      const finding = (await chainFindings(at.real)).at(-1)
      assert.deepEqual([finding?.name, finding?.ok, finding?.required], ['index of chain 1', false, false])
      const [problem] = await reportIndexProblems(at.real)
      for (const part of [`block ${block}`, hash, '127.0.0.1', 'execution timeout', 'tried 1 time']) {
        assert.ok(problem?.message.includes(part), part)
        assert.ok(finding?.message.includes(part), part)
      }
      assert.match(`${finding?.message}`, /^1 block is left out: .*add another node/)
      // Retried in the next pass, but not in every pass.
      await at.catchUp()
      const callsBefore = at.simulated.calls
      at.chain.mine(1)
      await at.catchUp()
      assert.ok(at.simulated.calls - callsBefore < 20, `${at.simulated.calls - callsBefore} calls`)
      at.simulated.capabilities = { traces: [form] }
      await catchUpIndex({ ...at.real, clock: later(120_000) }, at.node, () => {})
      await at.catchUp()
      await assertIndexMatches(at)
      assert.deepEqual(await reportIndexProblems(at.real), [])
    })
  }

  test('a trace that fails validation counts as one that is missing', async () => {
    await using at = await openIndexedChain()
    const { block, hash } = heavy(at, 5)
    at.simulated.capabilities = { traces: ['debug_traceTransaction'], malformed: (one) => one === hash }
    await at.catchUp()
    assert.deepEqual(await coverageOf(at.context.ingest, blocksStream('1')), [
      { from: 0, until: block },
      { from: block + 1, until: at.chain.final + 1 },
    ])
    const [problem] = await reportIndexProblems(at.real)
    for (const part of [`block ${block}`, hash, 'a trace has no recipient']) assert.ok(problem?.message.includes(part))
  })

  test('an unfinalized one ends the run until it is final', async () => {
    await using at = await openIndexedChain()
    const { block, hash } = heavy(at, at.chain.final + 3)
    at.simulated.capabilities = { traces: ['trace_block'], untraceable: (one) => one === hash }
    await at.catchUp()
    assert.equal((await readUnfinalizedBlocks(at.context.ingest, '1')).at(-1)?.number, block - 1)
    at.chain.mine(20)
    await at.catchUp()
    assert.equal((await readUnfinalizedBlocks(at.context.ingest, '1')).at(-1)?.number, at.chain.head.number)
    const [, second] = await coverageOf(at.context.ingest, blocksStream('1'))
    assert.equal(second?.from, block + 1)
  })

  test('too many in one pass are an error', async () => {
    await using at = await openIndexedChain()
    const early = new Set(
      at.chain.blocks.slice(0, 40).flatMap(({ transactions }) => transactions.map(({ hash }) => hash)),
    )
    at.simulated.capabilities = { traces: ['trace_block'], untraceable: (hash) => early.has(hash) }
    await assert.rejects(at.catchUp(), /block \d+ cannot be read/)
  })
})

describe('an index whose passes fail one after the other without storing a block', () => {
  /** Waits take a millisecond; the time limit of a pass stays. */
  const hurried = {
    ...systemClock,
    sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms > 86_400_000 ? ms : Math.min(ms, 1), signal),
  }

  /** Follows the chain until `failures` passes have failed, then checks, then until a pass has succeeded. */
  async function follow(at: IndexedChain, failures: number, check: () => Promise<void>, recover: () => void) {
    const stop = new AbortController()
    const failed = Promise.withResolvers<void>()
    const done = Promise.withResolvers<void>()
    let count = 0
    const warn = () => ++count === failures && failed.resolve()
    const log = { info: () => {}, warn } as unknown as typeof at.real.log
    const context = { ...at.real, clock: hurried, log }
    const following = followChain(context, at.node, stop.signal, ({ is }) => is === 'unfinalized' && done.resolve())
    try {
      await failed.promise
      await check()
      recover()
      await done.promise
    } finally {
      stop.abort()
      await following
    }
  }

  test('is reported after five failures: /readyz, which stays 200, and the doctor have count, cause and remedy', async () => {
    await using at = await openIndexedChain()
    const respond = at.simulated.respond.bind(at.simulated)
    const { number } =
      at.chain.blocks.find((block) => block.number > 20 && block.transactions.length > 0) ?? assert.fail()
    const isRefused = (body: string) => body.includes('trace_block') && body.includes(`["0x${number.toString(16)}"]`)
    at.simulated.respond = async (body) => (isRefused(body) ? { status: 502, text: '' } : respond(body))
    at.simulated.capabilities = { traces: ['trace_block'] }
    const check = async () => {
      const finding = (await chainFindings(at.real)).at(-1)
      assert.deepEqual([finding?.name, finding?.ok, finding?.required], ['index of chain 1', false, false])
      const [problem] = await reportIndexProblems(at.real)
      for (const text of [finding?.message ?? '', `${problem?.message} ${problem?.todo}`]) {
        assert.match(
          text,
          /^(\d+) passes in a row failed without storing a block, at blocks \d+ to \d+: .*status 502.*another node/,
        )
        assert.ok(Number.parseInt(text, 10) >= 5, text)
      }
    }
    await follow(at, 8, check, () => {
      at.simulated.respond = respond
    })
    assert.equal((await chainFindings(at.real)).length, 1)
    assert.deepEqual(await reportIndexProblems(at.real), [])
  })

  test('is ready as long as fewer have failed', async () => {
    await using at = await openIndexedChain()
    at.simulated.capabilities = { traces: [] }
    const check = async () => assert.equal((await chainFindings({ ...at.real, clock: hurried })).length, 1)
    const stop = new AbortController()
    let count = 0
    const log = { info: () => {}, warn: () => ++count === 4 && stop.abort() } as unknown as typeof at.real.log
    await followChain({ ...at.real, clock: hurried, log }, at.node, stop.signal, () => {})
    await check()
  })
})

test('the index of a young chain waits, also for a thread that has not tested the nodes, and then begins', async () => {
  await using at = await openIndexedChain()
  const traces = { traces: ['trace_block'] } as const
  at.simulated.capabilities = { ...traces, finalized: false }
  const stop = new AbortController()
  const written = Promise.withResolvers<void>()
  let passes = 0
  const sleep = (ms: number, signal?: AbortSignal) => {
    passes += 1
    return systemClock.sleep(Math.min(ms, 1), signal)
  }
  const clock = {
    ...systemClock,
    sleep: (ms: number, signal?: AbortSignal) => (ms > 86_400_000 ? systemClock.sleep(ms, signal) : sleep(ms, signal)),
  }
  const following = followChain(
    { ...at.real, clock },
    at.node,
    stop.signal,
    ({ is }) => is === 'written' && written.resolve(),
  )
  try {
    await waitUntil(() => passes > 8)
    // The nodes of the context have not been tested.
    const [stream] = (await coverageReport(at.context as unknown as AppContext)).streams
    assert.deepEqual([stream?.status, stream?.fresh], ['waiting', null])
    assert.deepEqual(await reportIndexProblems(at.real), [])
    at.simulated.capabilities = traces
    await written.promise
    assert.equal(getIndexProblems(at.real, '1').isWaiting, false)
  } finally {
    stop.abort()
    await following
  }
})

describe('an index that was stopped by a contradiction', () => {
  test('fails in /readyz and the doctor, also in a process that does not index the chain', async () => {
    await using at = await openIndexedChain({ index: { everyMs: 100 } })
    await at.catchUp()
    assert.deepEqual(await reportIndexProblems(at.real), [])
    const right = at.simulated.chain
    const other = new SimulatedChain({ seed: 'another world', finalLag: 20 })
    other.mine(62)
    Object.assign(at.simulated, { chain: other })
    const [found] = await reportIndexProblems(at.real)
    assert.match(found?.message ?? '', /index stopped: .*block 40 of the node differs from the finalized block/)
    assert.match(found?.todo ?? '', /tetrad repair --chain 1 --forget-from/)
    const stop = new AbortController()
    const warned = Promise.withResolvers<string>()
    const log = { ...at.real.log, warn: (_: object, text: string) => warned.resolve(text) } as typeof at.real.log
    const following = followChain({ ...at.real, log }, at.node, stop.signal, (progress) => {
      if (progress.is === 'unfinalized') stop.abort()
    })
    try {
      assert.equal(await warned.promise, 'index stopped')
      const [, finding] = await chainFindings(at.real)
      assert.deepEqual([finding?.name, finding?.ok], ['index of chain 1', false])
      assert.match(finding?.message ?? '', /stopped: a node contradicts finalized blocks/)
      Object.assign(at.simulated, { chain: right })
      await following
    } finally {
      stop.abort()
    }
    assert.equal((await chainFindings(at.real)).length, 1)
  })
})

describe('200', () => {
  test('200: an unfinalized funding has finality head, an older one finalized', async () => {
    await using at = await openIndexedChain()
    await at.catchUp()
    const { final } = at.chain
    const unfinalized = at.chain.addresses().find((one) => (firstFunding(at.chain, one)?.block ?? 0) > final)
    const old = at.chain.addresses().find((one) => (firstFunding(at.chain, one)?.block ?? final) < final)
    assert.ok(unfinalized && old)
    const [recent, older] = [await at.ask(unfinalized), await at.ask(old)]
    assert.ok(recent.is === 'body' && older.is === 'body')
    assert.equal(recent.body.result.fundingTxn, firstFunding(at.chain, unfinalized)?.tx)
    assert.deepEqual(
      [
        recent.confidence?.finality,
        recent.confidence?.coverage,
        older.confidence?.finality,
        older.confidence?.coverage,
      ],
      ['head', 'complete', 'finalized', 'complete'],
    )
  })
})
