// What is trusted of a source that is wrong without contradicting itself: each test pins a line of
// docs/security.md#trust-in-sources. If one fails because more is verified now, change the page too.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decimal, fractionOf } from '#core/decimal.ts'
import { findFirstFunding } from '#explorer/funding/find-first-funding.ts'
import { findFunding } from '#explorer/funding/fundings.ts'
import { NodesDisagree } from '#explorer/funding/index/compare-nodes.ts'
import { catchUpIndex } from '#explorer/funding/index/index-chain.ts'
import { getIndexProblems } from '#explorer/funding/index/problems.ts'
import { openNode } from '#explorer/nodes.ts'
import { findMid, type Rate } from '#fx/pricing/mid.ts'
import type { MarketsContext } from '#markets/context.ts'
import { bySlug } from '#markets/endpoints/by-slug.ts'
import { readFeed } from '#markets/feeds/read-feed.ts'
import { createExecutionResponder } from '#simulator/beacon/execution.ts'
import { depositContract } from '#simulator/beacon/plan.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import type { Post } from '#sources/evm/rpc-endpoint.ts'
import { traceRecipient } from '#sources/evm/trace-transfers.ts'
import { FetchError } from '#sources/http-client.ts'
import { openRelays } from '#validators/extensions/alerts/relays.ts'
import { createDepositReader } from '#validators/ingest/deposits/deposits.ts'
import { createExecutionSource } from '#validators/ingest/read/execution.ts'
import type { Answer } from './altered-answer.ts'
import { openChainWorld } from './altered-chain.ts'
import { beaconBlock, executionChainId, simulateExecutionChain } from './altered-execution.ts'
import { serveAnswers } from './altering-proxy.ts'
import { openContext, settingsWith, type TestContext, testNowMs, testRequestInfo } from './context.ts'
import { JumpingClock } from './jumping-clock.ts'
import { firstFundings } from './simulator/first-funding.ts'

// biome-ignore lint/suspicious/noExplicitAny: results of any method
type Any = any

/** Changes every result of a method, or replaces it. */
const alterResults = (method: string, change: (result: Any, params: Any) => Any) => ({
  next(question: string, answer: Answer): Answer {
    const calls = [JSON.parse(question)].flat()
    const replies = JSON.parse(String(answer.body))
    for (const reply of [replies].flat()) {
      const call = calls.find(({ id }) => id === reply.id)
      if (call.method === method && reply.result) reply.result = change(reply.result, call.params) ?? reply.result
    }
    return { ...answer, body: JSON.stringify(replies) }
  },
})

describe('an execution node', () => {
  let database: TestContext
  before(async () => {
    database = await openContext()
  })
  after(() => database[Symbol.asyncDispose]())

  /** A world with trace_block, and an address whose first funding is final and internal. */
  function internalFunding() {
    for (let number = 0; number < 60; number += 3) {
      const { chain } = openChainWorld(database, number, 'index', { next: (_, answer) => answer })
      const found = [...firstFundings(chain)].find(([, { block, position }]) => position > 0 && block <= chain.final)
      if (found) return { number, address: found[0], truth: found[1] }
    }
    return assert.fail('no world has an internal first funding')
  }
  let subject: ReturnType<typeof internalFunding>
  before(() => {
    subject = internalFunding()
  })

  const wrongValue = () =>
    alterResults('trace_block', (steps) => {
      for (const step of steps)
        if (traceRecipient(step) === subject.address && step.traceAddress.length > 0)
          step.action[step.type === 'suicide' ? 'balance' : 'value'] = '0x1'
    })

  test('is trusted about the steps inside a transaction, by an index', async () => {
    const { chain, node, context } = openChainWorld(database, subject.number, 'index', wrongValue())
    await catchUpIndex(context, node, () => {})
    assert.equal((await findFunding(context.ingest, chain.id, subject.address))?.valueWei, 1n)
  })

  /** A world whose first node is wrong and whose second one is `second`. */
  function openTwoNodes(second: Post | undefined) {
    const world = openChainWorld(database, subject.number, 'index', wrongValue())
    const [rpc = assert.fail()] = world.node.chain.rpc
    const chain = { ...world.node.chain, rpc: [rpc, { ...rpc, url: 'http://second/' }] }
    const right: Post = async (_, { body = '' }) => (await world.simulated.respond(body)).text
    const post: Post = (url, options) => (url === rpc.url ? world.post : (second ?? right))(url, options)
    return { ...world, node: openNode(chain, { clock: world.clock }, { post }) }
  }
  const storedValue = async (chain: string) => (await findFunding(database.ingest, chain, subject.address))?.valueWei

  test('is compared with a second node: if they disagree about a block, its range is not stored', async () => {
    const { chain, context, node } = openTwoNodes(undefined)
    context.settings.explorer.index.rangeBlocks = 1
    await node.each()
    await assert.rejects(
      catchUpIndex(context, node, () => {}),
      (error: Error) => {
        assert.ok(error instanceof NodesDisagree)
        const message = `nodes disagree about the finalized block ${subject.truth.block}: http://simulator and http://second\\.`
        assert.match(error.message, new RegExp(message))
        return true
      },
    )
    assert.equal(await storedValue(chain.id), undefined)
  })

  test('is not compared with a second node that does not answer, or if the settings say so', async () => {
    const down: Post = () => Promise.reject(new FetchError('network', 'second: connection refused'))
    const failing = openTwoNodes(down)
    await failing.node.each()
    await catchUpIndex(failing.context, failing.node, () => {})
    assert.equal(await storedValue(failing.chain.id), 1n)
    const { notCompared } = getIndexProblems(failing.context, failing.chain.id)
    assert.deepEqual(notCompared, ['http://second: second: connection refused'])
    const off = openTwoNodes(undefined)
    off.context.settings.explorer.index.compareNodes = false
    await off.node.each()
    await catchUpIndex(off.context, off.node, () => {})
    assert.equal(await storedValue(off.chain.id), 1n)
    assert.equal(getIndexProblems(off.context, off.chain.id).notCompared, undefined)
  })

  test('is trusted about the time of a block', async () => {
    const later = alterResults('eth_getBlockByNumber', (block, [tag]) => {
      if (Number(tag) === subject.truth.block) block.timestamp = `0x${(Number(block.timestamp) + 1).toString(16)}`
    })
    const { chain, node, context } = openChainWorld(database, subject.number, 'index', later)
    await catchUpIndex(context, node, () => {})
    const stored = await findFunding(context.ingest, chain.id, subject.address)
    assert.equal(stored?.timeUnix, subject.truth.timeUnix + 1)
  })

  test('is trusted about the final block if it is wrong twice', async () => {
    let head: Any
    const tooFar = alterResults('eth_getBlockByNumber', (block, [tag]) =>
      tag === 'finalized' ? (head ?? block) : block,
    )
    const { chain, node, context } = openChainWorld(database, subject.number, 'index', tooFar)
    const { number, hash, parentHash, timeUnix } = chain.head
    const hex = (value: number) => `0x${value.toString(16)}`
    head = { number: hex(number), hash, parentHash, timestamp: hex(timeUnix) }
    await catchUpIndex(context, node, () => {})
    const { confidence } = await findFirstFunding(context, chain.id, subject.address)
    assert.deepEqual([confidence.asOf, confidence.finality], [number, 'finalized'])
    assert.ok(number > chain.final)
  })

  test('is trusted about an account if it is wrong twice', async () => {
    const balance = alterResults('eth_getBalance', () => '0x0')
    const nonce = alterResults('eth_getTransactionCount', () => '0x0')
    const code = alterResults('eth_getCode', () => '0x')
    const { chain, node, context } = openChainWorld(database, subject.number, 'probe', {
      next: (question, answer) => [balance, nonce, code].reduce((altered, one) => one.next(question, altered), answer),
    })
    await node.each()
    const { funding, confidence } = await findFirstFunding(context, chain.id, subject.address)
    assert.deepEqual([funding, confidence.coverage], [undefined, 'probed'])
  })
})

describe('a relay', () => {
  const hash = `0x${'ab'.repeat(32)}`
  const find = async (...lists: (readonly object[])[]) => {
    let requests = 0
    await using relay = await serveAnswers(() => ({ body: JSON.stringify(lists[requests++] ?? lists.at(-1)) }))
    return await openRelays([relay.url]).find(7, hash)
  }
  const payload = (address: string) => ({ slot: '7', block_hash: hash, proposer_fee_recipient: address })

  test('is trusted about the address that a builder paid', async () => {
    const wrong = `0x${'cc'.repeat(20)}`
    assert.deepEqual(await find([payload(wrong)]), { proposerFeeRecipient: wrong })
  })

  test('is trusted about a payload that two lists lack', async () => {
    const delivered = payload(`0x${'aa'.repeat(20)}`)
    assert.equal(await find([], [], [delivered]), null)
    assert.notEqual(await find([], [delivered]), null)
  })
})

describe('rate sources', () => {
  const mid = (...rates: string[]) => {
    const fresh = rates.map((rate, at): Rate => ({ source: String(at), base: 'EUR', quote: 'USD', rate, atMs: 0 }))
    const result = findMid(fresh, 'EUR', 'USD', { crossVia: [], outlierPpm: 20_000n })
    return result.is === 'mid' ? result.mid.value : result.is
  }
  const toNumber = (value: ReturnType<typeof mid>) =>
    typeof value === 'string' ? value : Number(value.numerator) / Number(value.denominator)

  test('one source is not checked', () => assert.deepEqual(mid('5'), fractionOf(decimal('5'))))
  test('two sources that are far apart give no price, close ones their mean', () => {
    assert.equal(mid('1.08', '5'), 'disputed')
    assert.equal(toNumber(mid('1.00', '1.02')), 1.01)
  })
  test('of three sources, a wrong one cannot move the price beyond the others', () => {
    for (const wrong of ['0.5', '1.06', '1.085', '1.10', '5']) {
      const price = Number(toNumber(mid('1.08', '1.09', wrong)))
      assert.ok(price >= 1.08 && price <= 1.09, `${wrong}: ${price}`)
    }
  })
})

describe('a market feed', () => {
  const market = (id: number, fields: object = {}) => ({
    ...{ id: String(id), slug: `m-${id}`, question: 'right' },
    ...{ updatedAt: new Date(testNowMs - 86_400_000).toISOString(), ...fields },
  })
  const right = [market(1), market(2), market(3)]

  const askMarket = async (context: MarketsContext, slug: string) => {
    const outcome = await bySlug.handle({ slug, include_tag: true }, context, testRequestInfo())
    if (outcome.is !== 'bytes') return outcome.is
    const { id, question, tags = [] } = JSON.parse(Buffer.from(outcome.bytes).toString())
    return [id, question, ...tags.map(({ label }: { label?: string }) => label)].join(' ')
  }

  /** Reads the feed once with these records, and then several times with the true ones. */
  async function readAfter(records: readonly object[], passes: number, truth: readonly object[] = right) {
    let page: readonly object[] = records
    await using server = await serveAnswers(() => ({ body: JSON.stringify({ data: page }) }))
    await using database = await openContext()
    const feeds = [{ id: 'main', url: server.url, list: 'data', paging: { kind: 'keyset' } }]
    const settings = settingsWith({ markets: { feeds } })
    const context = { ...database, settings, clock: new JumpingClock(testNowMs) }
    const [feed = assert.fail()] = settings.markets.feeds
    for (let pass = 0; pass <= passes; pass++) {
      await readFeed(context, feed, { holder: 'test', full: true, signal: new AbortController().signal })
      page = truth
    }
    return [await askMarket(context, 'm-1'), await askMarket(context, 'm-2'), await askMarket(context, 'm-3')]
  }
  const rightAnswers = ['1 right', '2 right', '3 right']

  test('is trusted about values until the next full pass', async () => {
    const wrong = [market(1, { question: 'wrong' }), market(2), market(3)]
    assert.deepEqual(await readAfter(wrong, 0), ['1 wrong', '2 right', '3 right'])
    assert.deepEqual(await readAfter(wrong, 1), rightAnswers)
  })

  test('is trusted about a later time that is not in the future, until the record changes', async () => {
    const later = { question: 'wrong', updatedAt: new Date(testNowMs - 1000).toISOString() }
    assert.deepEqual(await readAfter([market(1, later), market(2), market(3)], 3), ['1 wrong', '2 right', '3 right'])
  })

  test('is trusted about ids and slugs until the other market has vanished', async () => {
    const wrong = [market(1, { id: '9' }), market(2, { slug: 'm-x' }), market(3)]
    assert.deepEqual(await readAfter(wrong, 0), ['9 right', 'nothing', '3 right'])
    assert.deepEqual(await readAfter(wrong, 3), rightAnswers)
  })

  test('with cursors, is trusted about records that it leaves out, until the next full pass', async () => {
    assert.deepEqual(await readAfter([market(1), market(3)], 0), ['1 right', 'nothing', '3 right'])
    assert.deepEqual(await readAfter([market(1), market(3)], 1), rightAnswers)
  })

  test('is not compared with a second feed: the newer record counts', async () => {
    const later = new Date(testNowMs - 1000).toISOString()
    const wrong = { question: 'wrong' }
    const pages = [
      [market(1), market(2, { ...wrong, updatedAt: later })],
      [market(1, { ...wrong, updatedAt: later }), market(2)],
    ]
    await using server = await serveAnswers(({ path }) => ({ body: JSON.stringify({ data: pages[Number(path[1])] }) }))
    await using database = await openContext()
    const feeds = [0, 1].map((at) => ({
      id: `feed-${at}`,
      url: `${server.url}/${at}`,
      list: 'data',
      paging: { kind: 'keyset' },
    }))
    const settings = settingsWith({ markets: { feeds } })
    const context = { ...database, settings, clock: new JumpingClock(testNowMs) }
    for (const feed of settings.markets.feeds)
      await readFeed(context, feed, { holder: 'test', full: true, signal: new AbortController().signal })
    assert.deepEqual([await askMarket(context, 'm-1'), await askMarket(context, 'm-2')], ['1 wrong', '2 wrong'])
  })

  test('is trusted about a field of a nested record until it sends that field again', async () => {
    const tagged = (tag: object) => [market(1, { tags: [{ id: '7', slug: 'tag-7', ...tag }] })]
    const [without, other] = [tagged({}), tagged({ label: 'Other' })]
    assert.equal((await readAfter(tagged({ label: 'Wrong' }), 3, without))[0], '1 right Wrong')
    assert.equal((await readAfter(tagged({ label: 'Wrong' }), 1, other))[0], '1 right Other')
  })
})

describe('the execution node of a network', () => {
  let database: TestContext
  before(async () => {
    database = await openContext()
  })
  after(() => database[Symbol.asyncDispose]())

  const chain = simulateExecutionChain(0)
  const { signal } = new AbortController()

  /** The node of the whole chain, which changes some results. */
  function openWrongNode(method: string, change: (result: Any, params: Any) => Any) {
    const respond = createExecutionResponder(chain, executionChainId)
    const alteration = alterResults(method, change)
    const post: Post = async (_, { body = '' }) => {
      const answer = { status: 200, type: 'application/json', body: await respond(body) }
      return String(alteration.next(body, answer).body)
    }
    const rpc = [{ url: 'http://simulator/', perSecond: 0, batchMax: 100, timeoutMs: 1000 }]
    return openRpc({ chain: executionChainId, rpc, clock: new JumpingClock(testNowMs), post })
  }
  const block = [...chain.blocks.values()].find(({ payload }) => payload.transactions.length > 1) ?? assert.fail()
  const rewards = async (method: string, change: (result: Any) => Any) => {
    const source = createExecutionSource(openWrongNode(method, change))
    const feeRecipient = block.payload.feeRecipient
    return (await source.read([beaconBlock(block)], () => feeRecipient, signal)).get(block.slot)
  }

  test('is trusted about transfers, gas and gas prices of a block', async () => {
    const truth = (await rewards('none', () => {})) ?? assert.fail()
    const moreGas = await rewards('eth_getBlockReceipts', (receipts) => {
      receipts[0].gasUsed = `0x${(Number(receipts[0].gasUsed) * 2).toString(16)}`
    })
    assert.ok((moreGas?.priorityFee ?? 0) > truth.priorityFee)
    const payment = await rewards('eth_getBlockByHash', ({ transactions }) => {
      const [from, to] = [`0x${'99'.repeat(20)}`, block.payload.feeRecipient]
      Object.assign(transactions.at(-1), { from, to, value: '0xde0b6b3a7640000' })
    })
    assert.equal(payment?.external, 1_000_000_000)
  })

  test('is trusted about sender and key of a deposit, and about the newest deposits until the next one', async () => {
    const otherKey = new Uint8Array(48).fill(0x99)
    // After 0x, five offsets and the length of the key.
    const keyAt = 2 + 2 * 32 * 6
    const stored = async (method: string, change: (result: Any) => Any) => {
      await database.ingest.write(async (tx) => {
        for (const table of ['deposit_senders', 'cursors']) await tx.run(`delete from ${table}`)
      })
      const reader = createDepositReader(database.ingest, 'hoodi', openWrongNode(method, change), depositContract)
      const { deposits } = await reader.catchUp(signal)
      const rows = await database.ingest.all<{ address: Uint8Array }>('select distinct address from deposit_senders')
      const [keys] = await database.ingest.all<{ count: number }>(
        'select count(*) as count from deposit_senders where pubkey = ?',
        otherKey,
      )
      return { deposits, addresses: rows.map(({ address }) => Buffer.from(address).toString('hex')), keys: keys?.count }
    }
    const { deposits } = await stored('none', () => {})
    assert.ok(deposits > 1)
    const other = '77'.repeat(20)
    const wrong = await stored('eth_getTransactionByHash', (transaction) => ({ ...transaction, from: `0x${other}` }))
    assert.deepEqual(wrong, { deposits, addresses: [other], keys: 0 })
    const wrongKey = await stored('eth_getLogs', (logs) => {
      logs[0].data =
        logs[0].data.slice(0, keyAt) + Buffer.from(otherKey).toString('hex') + logs[0].data.slice(keyAt + 96)
    })
    assert.equal(wrongKey.keys, 1)
    assert.equal((await stored('eth_getLogs', (logs) => logs.slice(0, -1))).deposits, deposits - 1)
  })

  test('is not trusted about the final block if it is wrong once: no later block counts as read', async () => {
    const untilBlock = async (change: (result: Any) => Any) => {
      await database.ingest.write((tx) => tx.run('delete from cursors'))
      const rpc = openWrongNode('eth_getBlockByNumber', change)
      return (await createDepositReader(database.ingest, 'hoodi', rpc, depositContract).catchUp(signal)).untilBlock
    }
    const truth = await untilBlock(() => {})
    let requests = 0
    assert.equal(await untilBlock((final) => (requests++ === 0 ? { ...final, number: '0xfffff' } : final)), truth)
  })
})
