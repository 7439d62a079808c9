// 4.3 from a node alone, over HTTP: what a search returns, stores and rejects, and how many calls it needs.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { fundedBy } from '#explorer/endpoints/funded-by.ts'
import { openNode, requireNode } from '#explorer/nodes.ts'
import { openRequestContexts } from '#http/request-context.ts'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import type { Post } from '#sources/evm/rpc-endpoint.ts'
import { fetchBytes } from '#sources/http-client.ts'
import { testRequestInfo } from '#test/context.ts'
import { blockOf, openProbeChain, unknownAddress } from '#test/probe-chain.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import type { SimulatedCapabilities } from '#test/simulator/limited-node.ts'
import { findFirstFunding } from '../find-first-funding.ts'
import { findFunding, putFundings } from '../fundings.ts'
import { forgetFrom } from '../index/forget.ts'
import { catchUpIndex } from '../index/index-chain.ts'

describe('200', () => {
  test('200: a new address is searched and stored; after that the store is used', async () => {
    await using at = await openProbeChain()
    const address = at.someone(({ block }) => block > 50 && block <= at.chain.final)
    const truth = firstFunding(at.chain, address)
    const first = await at.ask(address.toUpperCase().replace('0X', '0x'))
    assert.equal(blockOf(first), truth?.block)
    assert.equal((await findFunding(at.context.ingest, '1', address))?.isProven, true)
    const callsBefore = at.simulated.calls
    const second = await at.ask(address)
    assert.equal(at.simulated.calls, callsBefore)
    assert.deepEqual(second, first)
    assert.deepEqual(second.is === 'body' && second.confidence, {
      asOf: truth?.block,
      finality: 'finalized',
      coverage: 'probed',
    })
  })

  test('200: an unfinalized result has finality head and is not stored', async () => {
    await using at = await openProbeChain()
    const address = at.someone(({ block }) => block > at.chain.final)
    const outcome = await at.ask(address)
    assert.equal(outcome.is === 'body' && outcome.confidence?.finality, 'head')
    assert.equal(await findFunding(at.context.ingest, '1', address), undefined)
  })

  test('200: ten requests for the same new address share one search', async () => {
    await using alone = await openProbeChain()
    const address = alone.someone(({ block }) => block > 50 && block <= alone.chain.final)
    await alone.ask(address)
    await using at = await openProbeChain()
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => at.ask(address)))
    assert.equal(new Set(outcomes.map((one) => JSON.stringify(one))).size, 1)
    assert.equal(at.simulated.calls, alone.simulated.calls)
  })

  test('a search ends with its caller, and who still waits for it starts it again', async () => {
    await using at = await openProbeChain()
    const address = at.someone(({ block }) => block > 50 && block <= at.chain.final)
    const { chain } = requireNode(at.context, '1')
    let requests = 0
    let testRequests = Number.POSITIVE_INFINITY
    let leave: (() => void) | undefined
    const post: Post = async (url, options) => {
      requests += 1
      if (requests > testRequests) leave?.()
      return (await fetchBytes(url, options)).bytes
    }
    const node = openNode(chain, at.context, { post })
    // Tests of a node serve all callers.
    await node.capabilities()
    testRequests = requests
    at.context.explorer.nodes.set('1', node)
    const createRequest = openRequestContexts(at.context)
    const gone = new AbortController()
    const isGone = { name: 'Error', message: 'gone' }
    leave = () => gone.abort(new Error('gone'))
    const searchAs = (signal: AbortSignal) => findFirstFunding(createRequest({ signal }) as never, '1', address)
    await assert.rejects(searchAs(gone.signal), isGone)
    assert.equal(requests, testRequests + 1)
    await nextEventLoopTurn()
    assert.equal(requests, testRequests + 1)
    assert.equal(at.context.explorer.searches.size, 0)
    assert.equal(await findFunding(at.context.ingest, '1', address), undefined)

    const first = new AbortController()
    leave = () => first.abort(new Fault('server.timeout'))
    const [left, found] = await Promise.allSettled([searchAs(first.signal), searchAs(new AbortController().signal)])
    assert.equal(left.status, 'rejected')
    assert.equal(found.status === 'fulfilled' && found.value.funding?.block, firstFunding(at.chain, address)?.block)
  })

  test('200: an unproven row is not returned before a search confirms it', async () => {
    await using at = await openProbeChain()
    const address = at.someone(({ block }) => block <= at.chain.final)
    const truth = firstFunding(at.chain, address)
    assert.ok(truth)
    const { from: funder, to: _, ...rest } = truth
    await at.context.ingest.write((tx) => putFundings(tx, [{ chain: '1', address, funder, ...rest }]))
    assert.equal(blockOf(await at.ask(address)), truth.block)
    assert.equal((await findFunding(at.context.ingest, '1', address))?.isProven, true)
  })

  test('200: with trace_filter, a contract that was funded long after its creation is found', async () => {
    await using at = await openProbeChain({ traces: ['trace_block'], filterBlocks: 1000 })
    const address = at.contract((one) => {
      const funding = firstFunding(at.chain, one)
      return funding !== undefined && at.chain.accountAt(one, funding.block - 5).code !== '0x'
    })
    assert.equal(blockOf(await at.ask(address)), firstFunding(at.chain, address)?.block)
  })

  test('200: a contract that destroyed itself is found if a node has trace_filter, and not otherwise', async () => {
    const traces = ['trace_block'] as const
    await using at = await openProbeChain({ traces, filterBlocks: 1000 }, {}, {}, { destroyedMaySend: false })
    const isEmpty = (address: string) => {
      const { nonce, balance, code } = at.chain.accountAt(address, at.chain.head.number)
      return nonce === 0n && balance === 0n && code === '0x'
    }
    const paid = [...at.chain.destroyed].flatMap((address) => {
      const funding = firstFunding(at.chain, address)
      return funding && isEmpty(address) ? [{ address, block: funding.block }] : []
    })
    const [first, second] = paid
    assert.ok(first && second)
    assert.equal(blockOf(await at.ask(first.address)), first.block)
    assert.equal((await at.ask(unknownAddress)).is, 'nothing')
    // The node refuses the method later: the documented limit.
    at.simulated.capabilities = { traces }
    assert.equal((await at.ask(second.address)).is, 'nothing')
    assert.equal((await at.ask(unknownAddress)).is, 'nothing')
  })

  test('200: "No data found" is as of the newest final block', async () => {
    await using at = await openProbeChain()
    const confidence = { asOf: at.chain.final, finality: 'finalized', coverage: 'probed' }
    assert.deepEqual(await at.ask(unknownAddress), { is: 'nothing', confidence })
  })

  const untraced: [name: string, capabilities: SimulatedCapabilities][] = [
    ['without traces', { traces: [] }],
    ['if the node ignores callTracer', { traces: ['debug_traceTransaction'], ignoresTracer: true }],
  ]
  for (const [name, capabilities] of untraced)
    test(`200: ${name} a plain transfer is proven by the balance it explains`, async () => {
      await using at = await openProbeChain(capabilities)
      let [right, refused] = [0, 0]
      for (const address of at.chain
        .addresses()
        .filter((one) => !at.chain.destroyed.has(one))
        .slice(0, 50)) {
        try {
          assert.equal(blockOf(await at.ask(address)), firstFunding(at.chain, address)?.block)
          right += 1
        } catch (error) {
          assert.match((error as Fault).code, /explorer\.(no_traces|needs_index)/)
          refused += 1
        }
      }
      assert.ok(right > 5 && refused > 5, `${right} right, ${refused} refused`)
    })
})

test('without traces, eth_getBlockReceipts gives the same results with fewer calls', async () => {
  const answers = async (capabilities: SimulatedCapabilities) => {
    await using at = await openProbeChain(capabilities, {}, {}, { busy: 12 })
    const searches = at.steady.slice(0, 8).map((one) => at.ask(one).then(blockOf, (error: Fault) => error.code))
    return { results: await Promise.all(searches), calls: at.simulated.calls }
  }
  const [single, batched] = [await answers({ traces: [] }), await answers({ traces: [], receipts: true })]
  assert.deepEqual(batched.results, single.results)
  assert.ok(batched.calls < single.calls, `${batched.calls} calls, ${single.calls} one by one`)
})

describe('200 with a failure envelope', () => {
  const refuses = async (work: Promise<unknown>, code: Fault['code'], words: RegExp) =>
    assert.rejects(work, (fault: Fault) => {
      assert.equal(fault.code, code, fault.message)
      assert.match(`${fault.message} ${fault.publicMessage}`, words)
      return true
    })

  test('the advice depends on the mode: a chain that is being indexed needs no other mode', async () => {
    for (const [mode, advice] of [
      ['probe', /Use a node with trace_filter, or index the chain \(mode: index or both\)\.$/],
      ['both', /Use a node with trace_filter, or wait until the index has read the chain \(tetrad coverage\)\.$/],
    ] as const) {
      await using at = await openProbeChain(undefined, {}, { mode })
      const contract = at.contract(() => true)
      await refuses(at.ask(contract), 'explorer.needs_index', advice)
    }
  })

  test('a block that no node can trace is named, and not called a momentary failure', async () => {
    await using at = await openProbeChain()
    const address = at.someone(({ block, position }) => position > 0 && block <= at.chain.final)
    const { block, tx } = firstFunding(at.chain, address) ?? assert.fail()
    at.simulated.capabilities = { traces: ['trace_block'], malformed: (hash) => hash === tx }
    await assert.rejects(at.ask(address), (fault: Fault) => {
      assert.match(fault.publicMessage, new RegExp(`^Block ${block} cannot be read: .* Add another node`))
      assert.ok(fault.message.includes(tx))
      return true
    })
  })

  test('a node without old states is an error that names the remedy', async () => {
    await using at = await openProbeChain({ traces: ['trace_block'], stateBlocks: 20 })
    const address = at.someone(({ block }) => block < 100)
    await refuses(at.ask(address), 'explorer.not_archive', /Configure an archive node, or index the chain/)
    await using configured = await openProbeChain(undefined, {}, { archive: false })
    await refuses(configured.ask(address), 'explorer.not_archive', /archive: false/)
  })

  test('a contract without trace_filter is an error that names the remedy', async () => {
    await using at = await openProbeChain()
    await refuses(at.ask(at.contract(() => true)), 'explorer.needs_index', /is a contract.*trace_filter, or index/)
  })

  test('the time limit is an error, soon after it is reached', async () => {
    await using at = await openProbeChain(undefined, { probe: { timeoutMs: 100 } })
    at.simulated.faults = { random: createSeededRandom('slow'), rate: 1, kinds: ['slow'] }
    await refuses(
      at.ask(unknownAddress),
      'explorer.probe_bounds',
      /did not respond within .*did not finish within 0.1 s/,
    )
  })

  test('a node that returns only null or errors is unavailable', async () => {
    for (const kind of ['null', 'error', 'status 500'] as const) {
      await using at = await openProbeChain(undefined, { probe: { timeoutMs: 20_000 } })
      at.simulated.faults = { random: createSeededRandom('ill'), rate: 1, kinds: [kind] }
      await refuses(
        at.ask(unknownAddress),
        'explorer.node_unavailable',
        /null|internal error|status 500|within|in time|no time/,
      )
    }
  })

  test('a reorganisation during the search is an error that asks to retry', async () => {
    await using at = await openProbeChain()
    const address = at.someone(({ block }) => block > at.chain.final)
    await at.ask(address)
    // The last blocks are replaced after the head was read.
    const from = at.simulated.rounds
    at.simulated.meanwhile = () => {
      if (at.simulated.rounds - from === 3) at.chain.reorg(9, 9)
    }
    await refuses(at.ask(address), 'explorer.node_unavailable', /reorganised/)
    at.simulated.meanwhile = undefined
    assert.equal(blockOf(await at.ask(address)), firstFunding(at.chain, address)?.block)
  })

  test('too many searches are refused, not queued', async () => {
    await using at = await openProbeChain(undefined, { probe: { parallelMax: 2 } })
    const [one, two, three] = at.chain.addresses()
    at.simulated.faults = { random: createSeededRandom('slow'), rate: 1, kinds: ['slow'] }
    const running = Promise.allSettled([at.ask(one as string), at.ask(two as string)])
    while (at.simulated.rounds < 2) await new Promise((resolve) => setImmediate(resolve))
    at.simulated.faults = undefined
    await refuses(at.ask(three as string), 'explorer.node_unavailable', /searches are running.*Too many searches/)
    await running
  })

  test('a stored transfer that is earlier than the result is an error', async () => {
    await using at = await openProbeChain()
    const address = at.someone(({ block }) => block > 50 && block <= at.chain.final)
    const truth = firstFunding(at.chain, address)
    assert.ok(truth)
    const { from: funder, to: _, ...rest } = truth
    await at.context.ingest.write((tx) => putFundings(tx, [{ chain: '1', address, funder, ...rest, block: 1 }]))
    await refuses(at.ask(address), 'explorer.needs_index', /an earlier transfer is stored\. Check the node\./)
  })

  test('mode index does not search and names the missing blocks', async () => {
    await using at = await openProbeChain(undefined, {}, { mode: 'index' })
    await refuses(at.ask(unknownAddress), 'explorer.not_covered', /No block of chain 1/)
    assert.equal(at.simulated.calls, 0)
  })
})

describe('an index from an earlier run is not used for newer blocks', () => {
  /** Chain 1 was indexed once and has grown since. */
  const indexedOnce = async (chainSettings: object, timeoutMs = 20_000) => {
    const at = await openProbeChain(undefined, { probe: { timeoutMs } }, chainSettings)
    const real = { ...at.context, clock: systemClock }
    await catchUpIndex(real, requireNode(real, '1'), () => {})
    const indexed = at.chain.final
    const head = at.chain.head.number
    at.chain.mine(150)
    const address = at.chain.addresses().find((one) => {
      const { block = 0 } = firstFunding(at.chain, one) ?? {}
      const { code } = at.chain.accountAt(one, at.chain.head.number)
      return block > head && block <= at.chain.final && code === '0x' && !at.chain.destroyed.has(one)
    })
    assert.ok(address, 'the history holds no such address')
    // Longer than a confirmation is valid.
    const now = () => systemClock.now() + 301_000
    const ask = (whose = address) =>
      fundedBy.handle({ chainid: '1', address: whose }, { ...real, clock: { ...systemClock, now } }, testRequestInfo())
    return { ...at, indexed, address, ask }
  }

  for (const mode of ['probe', 'both']) {
    test(`200: mode ${mode} searches the node`, async () => {
      await using at = await indexedOnce({ mode })
      assert.equal(blockOf(await at.ask()), firstFunding(at.chain, at.address)?.block)
      assert.deepEqual(await at.ask(unknownAddress), {
        is: 'nothing',
        confidence: { asOf: at.chain.final, finality: 'finalized', coverage: 'probed' },
      })
    })

    test(`503: mode ${mode} with a node that is unreachable is an error`, async () => {
      await using at = await indexedOnce({ mode }, 200)
      await at.simulated[Symbol.asyncDispose]()
      await assert.rejects(at.ask(), { code: /^explorer\.(node_unavailable|probe_bounds)$/ })
    })
  }

  test('503: mode index reports that no node confirmed the head; stored fundings are returned with ranges', async () => {
    await using at = await indexedOnce({ mode: 'index' })
    await assert.rejects(at.ask(), (fault: Fault) => {
      assert.equal(fault.code, 'explorer.not_covered')
      assert.match(
        fault.publicMessage,
        new RegExp(`No node has confirmed recently that block ${at.indexed} is the newest final`),
      )
      assert.equal(fault.headers['x-tetrad-coverage'], `0-${at.indexed}`)
      return true
    })
    const known = at.someone(({ block }) => block < at.indexed)
    const outcome = await at.ask(known)
    assert.equal(blockOf(outcome), firstFunding(at.chain, known)?.block)
    assert.equal(outcome.is === 'body' && outcome.confidence?.coverage, `0-${at.indexed}`)
  })

  test('200: after blocks were removed from the index, the node is searched', async () => {
    await using at = await openProbeChain(undefined, {}, { mode: 'probe' })
    const real = { ...at.context, clock: systemClock }
    await catchUpIndex(real, requireNode(real, '1'), () => {})
    const address = at.someone(({ block }) => block > 150 && block <= at.chain.final)
    await forgetFrom(at.context.ingest, '1', 100)
    assert.equal(blockOf(await at.ask(address)), firstFunding(at.chain, address)?.block)
  })

  test('200: a head that was read before a long pass is not confirmed at its end', async () => {
    await using at = await openProbeChain(undefined, {}, { mode: 'both' })
    let hours = 0
    const clock = { ...systemClock, now: () => systemClock.now() + hours * 3_600_000 }
    const real = { ...at.context, clock }
    await requireNode(real, '1').capabilities()
    at.simulated.meanwhile = (body) => {
      if (body.includes('trace_block')) hours = 1
    }
    await catchUpIndex(real, requireNode(real, '1'), () => {})
    at.simulated.meanwhile = undefined
    const callsBefore = at.simulated.calls
    const outcome = await fundedBy.handle({ chainid: '1', address: unknownAddress }, real, testRequestInfo())
    assert.equal(outcome.is === 'nothing' && outcome.confidence?.coverage, 'probed')
    assert.ok(at.simulated.calls > callsBefore)
  })

  test('200: an index that is kept up to date needs no search', async () => {
    await using at = await openProbeChain(undefined, {}, { mode: 'both' })
    const real = { ...at.context, clock: systemClock }
    await catchUpIndex(real, requireNode(real, '1'), () => {})
    const callsBefore = at.simulated.calls
    const confidence = { asOf: at.chain.final, finality: 'finalized', coverage: 'complete' }
    assert.deepEqual(await at.ask(unknownAddress), { is: 'nothing', confidence })
    assert.equal(at.simulated.calls, callsBefore)
  })
})
