import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { createClient } from '#api/client/client.ts'
import { extensions } from '#api/contract/extensions.ts'
import { Fault } from '#core/fault.ts'
import { checker } from '#core/schema-check.ts'
import { openAuthorizer } from '#http/authorize.ts'
import { startHttpServer } from '#http/http-server.ts'
import { createApp } from '#http/pipeline.ts'
import { addCoverage } from '#storage/coverage.ts'
import { createKey } from '#storage/keys.ts'
import { stateWith } from '#test/authorization.ts'
import { openContext, settingsWith, type TestContext, testRequestInfo } from '#test/context.ts'
import { fundedBy } from '../../endpoints/funded-by.ts'
import { blocksStream, confirmHead, putHead } from '../../funding/chain-coverage.ts'
import { type Funding, putFundings, putProven } from '../../funding/fundings.ts'
import { HistoryWriter } from '../../labels/history.ts'
import { putTags } from '../../labels/tags.ts'
import { followTrail } from './follow-trail.ts'
import { trail } from './trail.ts'

const addressOf = (name: string): string => `0x${Buffer.from(name).toString('hex').padStart(40, '0')}`

const funding = (funder: string, address: string, block: number): Funding => ({
  chain: '1',
  address: addressOf(address),
  block,
  txIndex: 0,
  position: 0,
  timeUnix: 1_700_000_000 + block,
  funder: addressOf(funder),
  tx: `0x${block.toString(16).padStart(64, '0')}`,
  valueWei: BigInt(block) * 10n ** 18n,
})

/** Chain 1, read from the first block until `readUntil` of 1000. */
async function contextWith(fundings: readonly Funding[], labels: Record<string, string> = {}, readUntil = 1000) {
  const context = await openContext()
  await context.ingest.write(async (tx) => {
    await putFundings(tx, fundings)
    await addCoverage(tx, blocksStream('1'), 0, readUntil)
    await putHead(tx, '1', 1000)
    const tags = Object.entries(labels).map(([address, name]) => ({
      chain: '1',
      address: addressOf(address),
      source: 'own',
      name,
      confidence: 90,
    }))
    await putTags(new HistoryWriter(tx, { by: 'test', via: 'test', atMs: context.clock.now() }), tags)
  })
  await confirmHead(context.ingest, '1', 1000, context.clock.now())
  return context
}

const ask = async (context: TestContext, address: string, depth = 20) => {
  const outcome = await trail.handle({ chainid: '1', address: addressOf(address), depth }, context, testRequestInfo())
  assert.ok(outcome.is === 'body')
  assert.deepEqual(checker(extensions['explorer.trail'].reply)(structuredClone(outcome.body)), [])
  return { ...outcome.body.result, confidence: outcome.confidence, retryAfterMs: outcome.retryAfterMs }
}

/** Wraps the state: calls `happens` before the funding of the address is read. */
const before = (state: TestContext['state'], address: string, happens: () => Promise<void>): TestContext['state'] =>
  stateWith(state, {
    get: async (sql, ...values) => {
      const requested = sql.includes('from fundings') ? `0x${Buffer.from(values[1] as Uint8Array).toString('hex')}` : ''
      if (requested === addressOf(address)) await happens()
      return state.get(sql, ...values)
    },
  })

const names = (hops: readonly { fundingAddress: string }[]) =>
  hops.map((hop) => Buffer.from(hop.fundingAddress.slice(2), 'hex').toString().replaceAll('\0', ''))

describe('200', () => {
  test('follows fundings to a labelled address; each hop has block, time, transaction, value and label', async () => {
    const rows = [
      funding('exchange', 'b', 10),
      funding('b', 'a', 20),
      funding('a', 'start', 30),
      funding('whale', 'exchange', 5),
    ]
    await using context = await contextWith(rows, { exchange: 'Harbour: hot wallet', start: 'My own' })
    const { label, hops, end, confidence } = await ask(context, 'start')
    assert.deepEqual(names(hops), ['a', 'b', 'exchange'])
    assert.equal(label?.name, 'My own', "the start's own label does not end the trail")
    assert.deepEqual(hops[2], {
      address: addressOf('b'),
      block: 10,
      timeStamp: '1700000010',
      fundingAddress: addressOf('exchange'),
      fundingTxn: `0x${'a'.padStart(64, '0')}`,
      value: '10000000000000000000',
      label: { name: 'Harbour: hot wallet', source: 'own', confidence: 90 },
    })
    assert.deepEqual(end, { reason: 'label', address: addressOf('exchange'), message: 'Harbour: hot wallet' })
    assert.deepEqual(confidence, { finality: 'finalized', coverage: 'complete' })
  })

  test('ends at genesis if every block is indexed and nothing came in', async () => {
    await using context = await contextWith([funding('miner', 'a', 20)])
    const { hops, end } = await ask(context, 'a')
    assert.deepEqual([names(hops), end.reason, end.address], [['miner'], 'genesis', addressOf('miner')])
    const none = await ask(context, 'nobody')
    assert.deepEqual([none.hops, none.end.reason, none.end.message], [[], 'none', 'No incoming transfer.'])
  })

  test('an address that paid before its first incoming transfer ends the trail at genesis', async () => {
    await using context = await contextWith([funding('old', 'a', 20), funding('b', 'old', 500)])
    const { hops, end } = await ask(context, 'a')
    assert.deepEqual([names(hops), end.reason], [['old'], 'genesis'])
    assert.match(end.message, /paid in block 20, before its first incoming transfer in block 500/)
  })

  test('an address that was funded later in the same block or transaction ends the trail', async () => {
    for (const later of [{ txIndex: 4 }, { txIndex: 3, position: 2 }]) {
      const paid = { ...funding('payer', 'a', 20), txIndex: 3, position: 1 }
      await using context = await contextWith([paid, { ...funding('b', 'payer', 20), ...later }])
      const { hops, end } = await ask(context, 'a')
      assert.deepEqual([names(hops), end.reason, end.address], [['payer'], 'genesis', addressOf('payer')])
      assert.match(end.message, /before its first incoming transfer/)
      await using earlier = await contextWith([paid, { ...funding('b', 'payer', 20), txIndex: 3, position: 0 }])
      assert.deepEqual(names((await ask(earlier, 'a')).hops), ['payer', 'b'])
    }
  })

  test('a loop ends the trail', async () => {
    await using context = await contextWith([
      funding('b', 'a', 20),
      funding('c', 'b', 20),
      funding('a', 'c', 20),
      funding('a', 'start', 30),
    ])
    const { hops, end } = await ask(context, 'start')
    assert.deepEqual(
      [names(hops), end.reason, end.message],
      [['a', 'b', 'c', 'a'], 'loop', 'Loop: same address as in hop 2.'],
    )
  })

  test('has at most the requested hops', async () => {
    const rows = Array.from({ length: 200 }, (_, at) => funding(`n${at + 1}`, `n${at}`, 900 - at))
    await using context = await contextWith(rows)
    for (const depth of [1, 20, 100]) {
      const { hops, end } = await ask(context, 'n0', depth)
      assert.deepEqual([hops.length, end.reason, end.address], [depth, 'depth', addressOf(`n${depth}`)])
    }
  })

  test('if the next funding is not known, the trail ends with the reason', async () => {
    await using context = await contextWith([funding('b', 'a', 20), funding('c', 'b', 10)], {}, 500)
    const { hops, end, retryAfterMs } = await ask(context, 'a')
    assert.deepEqual([names(hops), end.reason, retryAfterMs], [['b', 'c'], 'unknown', undefined])
    assert.match(end.message, /Blocks 500 to 999 of chain 1 have not been read yet/)
    const first = await ask(context, 'nobody')
    assert.deepEqual([first.hops, first.end.reason], [[], 'unknown'])
  })

  test('if a search is still running, the trail reports when to retry, like 4.3', async () => {
    await using context = await contextWith([funding('b', 'a', 20)])
    const fault = new Fault('explorer.probe_bounds', { message: 'Up to block 7 of 9.', retryAfterMs: 40_000 })
    const busy = { ...context, ingest: before(context.ingest, 'b', () => Promise.reject(fault)) }
    await assert.rejects(fundedBy.handle({ chainid: '1', address: addressOf('b') }, busy, testRequestInfo()), fault)
    const { hops, end, retryAfterMs } = await ask(busy, 'a')
    assert.deepEqual([names(hops), end.message, retryAfterMs], [['b'], fault.publicMessage, fault.retryAfterMs])
  })

  test('with any fundings, a trail ends, visits no address twice and never goes forward in time', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
    const row = fc.record({ funder: name, address: name, block: fc.integer({ min: 1, max: 6 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 12 }), fc.subarray(['c', 'e']), async (rows, labelled) => {
        const fundings = rows.filter(({ funder, address }) => funder !== address)
        await using context = await contextWith(
          fundings.map(({ funder, address, block }, at) => ({ ...funding(funder, address, block), txIndex: at })),
          Object.fromEntries(labelled.map((one) => [one, one.toUpperCase()])),
        )
        const { hops, end } = await ask(context, 'a')
        const visited = hops.map(({ address }) => address)
        assert.equal(new Set(visited).size, visited.length)
        for (const [at, hop] of hops.entries()) {
          if (at > 0) assert.ok(hop.block <= (hops[at - 1]?.block ?? 0) && hop.address === hops[at - 1]?.fundingAddress)
          assert.equal(hop.label !== undefined, at === hops.length - 1 && end.reason === 'label')
        }
        assert.ok(['label', 'genesis', 'none', 'loop'].includes(end.reason), end.reason)
      }),
      { numRuns: 40 },
    )
  })

  test('the time limit ends the trail, and the search continues', async () => {
    await using context = await contextWith([funding('b', 'a', 20)])
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const slow = { ...context, ingest: before(context.ingest, 'b', () => held) }
    const following = followTrail(slow, '1', addressOf('a'), { depth: 20, timeoutMs: 5000 })
    while (context.clock.monotonicMs() < 6000) {
      await new Promise((resolve) => setImmediate(resolve))
      context.clock.advance(100)
    }
    const { result, retryAfterMs } = await following
    release()
    assert.deepEqual([names(result.hops), result.end.reason, result.end.address], [['b'], 'time', addressOf('b')])
    assert.equal(retryAfterMs, 1000)
  })
})

test("over HTTP through the client: a key of the standard plan, the group's envelope, 2 calls a second", async () => {
  await using context = await contextWith([funding('exchange', 'a', 20)], { exchange: 'Harbour' })
  const authorizer = await openAuthorizer(context)
  const server = await startHttpServer(
    createApp({ ...context, settings: settingsWith({ server: { port: 0 } }) }, [trail], authorizer, {
      request: () => {},
    }),
    [],
  )
  try {
    const keyOf = async (plan: 'lite' | 'standard') =>
      (await createKey(context.state, { name: plan, plan }, context.clock, context.random)).key
    const client = createClient({ baseUrl: server.url, key: await keyOf('standard'), retries: 0 })
    const { result } = await client.explorer.trail({
      chainid: 1,
      address: addressOf('a').toUpperCase().replace('X', 'x'),
    })
    assert.deepEqual([result.hops[0]?.label?.name, result.end.reason], ['Harbour', 'label'])
    await client.explorer.trail({ address: addressOf('a'), depth: 100 })
    await assert.rejects(client.explorer.trail({ address: addressOf('a') }), /rate limit reached \(2\/sec\)/)
    context.clock.advance(1000)
    await assert.rejects(client.explorer.trail({ address: addressOf('a'), depth: 101 }), /depth must be at most 100/)
    await assert.rejects(client.explorer.trail({ address: addressOf('a'), chainid: '5' }), /unsupported chainid/)
    const poor = createClient({ baseUrl: server.url, key: await keyOf('lite'), retries: 0 })
    await assert.rejects(poor.explorer.trail({ address: addressOf('a') }), /needs the standard plan/)
    const withoutKey = createClient({ baseUrl: server.url, retries: 0 })
    await assert.rejects(withoutKey.explorer.trail({ address: addressOf('a') }), /Missing\/Invalid API Key/)
  } finally {
    await server.close()
    await authorizer.close()
  }
})

describe('failures', () => {
  test('an invalid address and an unsupported chain are rejected', async () => {
    await using context = await contextWith([])
    const bad = trail.handle({ chainid: '1', address: '0x12', depth: 20 }, context, testRequestInfo())
    await assert.rejects(bad, { code: 'input.invalid' })
    assert.throws(() => trail.checkQuery?.({ chainid: '5' }, context), { code: 'explorer.chain_unsupported' })
  })

  test('a failing store fails the request', async () => {
    await using context = await contextWith([funding('b', 'a', 20)])
    const broken = async () => {
      throw new Fault('store.unavailable')
    }
    const state = new Proxy(context.ingest, {
      get: (target, name) => (name === 'get' ? broken : Reflect.get(target, name).bind(target)),
    })
    const response = trail.handle(
      { chainid: '1', address: addressOf('a'), depth: 20 },
      { ...context, ingest: state },
      testRequestInfo(),
    )
    await assert.rejects(response, { code: 'store.unavailable' })
  })
})

test('the confidence of a trail is that of its least certain hop', async () => {
  await using context = await contextWith([funding('b', 'a', 30), funding('d', 'c', 10)])
  const coverageOf = async (name: string) => (await ask(context, name)).confidence?.coverage
  assert.equal(await coverageOf('a'), 'complete')
  await context.ingest.write((tx) =>
    putProven(tx, funding('c', 'b', 20), { method: 'state', lists: 'not needed', nodes: [] }),
  )
  assert.equal(await coverageOf('a'), 'probed')
  assert.equal(await coverageOf('c'), 'complete')
})
