// The JSON-RPC client with scripted nodes. `post` replaces HTTP except in the last two tests.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Fault } from '#core/fault.ts'
import { systemClock } from '#runtime/clock.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { FaultyNode } from '#test/simulator/faulty-node.ts'
import { LimitedNode } from '#test/simulator/limited-node.ts'
import { FetchError } from '../http-client.ts'
import { readBlocks } from './blocks.ts'
import { openRpc, type RpcCall } from './rpc.ts'
import type { Post } from './rpc-endpoint.ts'

interface Request {
  readonly id: number
  readonly method: string
}

/** Returns the chain id; the script returns everything else. */
const scripted =
  (script: (url: string, requests: readonly Request[]) => unknown): Post =>
  async (url, { body }) => {
    const requests = JSON.parse(body ?? '') as Request | Request[]
    if (!Array.isArray(requests) && requests.method === 'eth_chainId')
      return JSON.stringify({ id: requests.id, result: '0x1' })
    const reply = script(url, [requests].flat())
    return JSON.stringify(Array.isArray(requests) ? reply : ([reply].flat()[0] ?? null))
  }

const settings = (url: string, more: object = {}) => ({ url, perSecond: 0, batchMax: 50, timeoutMs: 1000, ...more })
const open = (post: Post, urls: readonly string[] = ['http://a/'], more: object = {}) =>
  openRpc({ chain: '1', rpc: urls.map((url) => settings(url, more)), clock: systemClock, post, backoffMs: 0 })

const calls = (...methods: string[]): RpcCall[] => methods.map((method) => ({ method, params: [] }))
const echo = (requests: readonly Request[]) => requests.map(({ id, method }) => ({ id, result: method }))

test('results are assigned by id, in any order', async () => {
  const rpc = open(scripted((_, requests) => echo(requests).reverse()))
  assert.deepEqual(await rpc.results(calls('x', 'y', 'z')), ['x', 'y', 'z'])
})

test('a node that refuses a batch gets smaller ones', async () => {
  const error = { code: -32600, message: 'batch too large' }
  // geth returns a list with one error and the id of the first call; others return an object.
  for (const refusal of [({ id }: Request) => [{ id, error }], () => ({ id: null, error })]) {
    const sizes: number[] = []
    const rpc = open(
      scripted((_, requests) => {
        sizes.push(requests.length)
        return requests.length > 2 ? refusal(requests[0] as Request) : echo(requests)
      }),
      ['http://a/'],
      { batchMax: 4 },
    )
    assert.deepEqual(await rpc.results(calls('a', 'b', 'c', 'd', 'e')), ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(sizes, [4, 2, 2, 1])
  }
})

test('a batch that takes too long, or whose response is too large, is repeated with half as many calls', async () => {
  const timeout = () => {
    throw new FetchError('timeout', 'a did not answer within 1000 ms')
  }
  const late = () => {
    throw new FetchError('status', 'a answered with status 408', { status: 408 })
  }
  // geth returns results until the limit is reached, then errors.
  const cut = (requests: readonly Request[], message: string) =>
    echo(requests).map((one, at) => (at < 2 ? one : { id: one.id, error: { code: -32003, message } }))
  for (const tooMuch of [
    timeout,
    late,
    (requests: readonly Request[]) => cut(requests, 'response too large'),
    (requests: readonly Request[]) => cut(requests, 'request timed out'),
  ]) {
    const sizes: number[] = []
    const post = scripted((_, requests) => {
      sizes.push(requests.length)
      return requests.length > 2 ? tooMuch(requests) : echo(requests)
    })
    const rpc = open(post, ['http://a/'], { batchMax: 8 })
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    assert.deepEqual(await rpc.results(calls(...names)), names)
    assert.deepEqual(sizes.slice(0, 3), [8, 4, 2])
    assert.equal(rpc.health()[0]?.trouble, undefined)
    // Larger batches are tried again later.
    for (let round = 0; round < 40; round++) await rpc.results(calls(...names))
    assert.ok(sizes.slice(3).some((size) => size > 2))
  }
})

test('traces of whole blocks that time out are requested in smaller batches', async () => {
  const clock = new ManualClock(0)
  const chain = new SimulatedChain({ seed: 'slow traces' })
  chain.mine(8)
  const node = new LimitedNode(chain)
  const sizes: number[] = []
  const post: Post = async (_, { body = '', timeoutMs }) => {
    const requests = [JSON.parse(body)].flat() as Request[]
    const traces = requests.filter(({ method }) => method === 'trace_block').length
    if (traces > 0) sizes.push(traces)
    // Every block takes 2.8 s; the limit is 10 s.
    if (traces * 2800 > timeoutMs) throw new FetchError('timeout', `no response within ${timeoutMs} ms`)
    return (await node.respond(body)).text
  }
  const rpc = openRpc({ chain: '1', rpc: [settings('http://a/', { timeoutMs: 10_000 })], clock, post })
  const seen = await readBlocks(rpc, 'trace_block', [1, 2, 3, 4, 5, 6, 7, 8])
  assert.equal(seen.length, 8)
  assert.deepEqual(sizes.slice(0, 3), [4, 2, 2])
  assert.ok(sizes.slice(1).every((size) => size <= 2))
})

test('if all nodes refuse connections, the error comes within a second, and a node that is back is used at once', async () => {
  const clock = new ManualClock(0)
  let isUp = false
  const post: Post = async (url, options) => {
    if (!isUp) throw new FetchError('network', `${url} cannot be reached (ECONNREFUSED)`)
    return scripted((_, requests) => echo(requests))(url, options)
  }
  const rpc = openRpc({ chain: '1', rpc: [settings('http://a/'), settings('http://b/')], clock, post })
  const callMs = async () => {
    const startMs = clock.monotonicMs()
    let isDone = false
    const done = rpc.call(calls('x')).finally(() => {
      isDone = true
    })
    while (!isDone) {
      for (let tick = 0; tick < 50; tick++) await null
      if (!isDone) clock.advance(50)
    }
    return { tookMs: clock.monotonicMs() - startMs, outcome: (await done)[0] }
  }
  for (let round = 0; round < 5; round++) {
    const { tookMs, outcome } = await callMs()
    assert.equal(outcome?.is, 'unusable')
    assert.ok(tookMs <= 1100, `${tookMs} ms`)
  }
  isUp = true
  const { tookMs, outcome } = await callMs()
  assert.deepEqual(outcome, { is: 'result', result: 'x' })
  assert.ok(tookMs <= 1100, `${tookMs} ms`)
})

test('calls with a missing, null, wrong-id or repeated result are retried, others are not', async () => {
  const defects: ((replies: { id: number; result: unknown }[]) => unknown[])[] = [
    (replies) => replies.slice(0, 1),
    (replies) => replies.map((one, at) => (at === 1 ? { ...one, result: null } : one)),
    (replies) => replies.map((one, at) => (at === 1 ? { ...one, id: 9999 } : one)),
    (replies) => [...replies, { ...replies[1], result: 'other' }],
    (replies) => replies.map((one, at) => (at === 1 ? null : one)),
  ]
  for (const spoil of defects) {
    const requests: string[][] = []
    const rpc = open(
      scripted((_, batch) => {
        requests.push(batch.map(({ method }) => method))
        return requests.length === 1 ? spoil(echo(batch)) : echo(batch)
      }),
    )
    assert.deepEqual(await rpc.results(calls('x', 'y')), ['x', 'y'])
    assert.deepEqual(requests, [['x', 'y'], ['y']])
  }
})

test('after a failure the next node is used, and the first again after its backoff', async () => {
  const clock = new ManualClock(0)
  let isFailing = true
  const used: string[] = []
  const post = scripted((url, requests) => {
    if (url === 'http://a/' && isFailing) throw new FetchError('status', 'status 500', { status: 500 })
    used.push(url)
    return echo(requests)
  })
  const rpc = openRpc({ chain: '1', rpc: [settings('http://a/'), settings('http://b/')], clock, post, backoffMs: 1000 })
  await rpc.results(calls('x'))
  isFailing = false
  await rpc.results(calls('x'))
  assert.match(rpc.health()[0]?.trouble ?? '', /500/)
  clock.advance(1001)
  await rpc.results(calls('x'))
  assert.deepEqual(used, ['http://b/', 'http://b/', 'http://a/'])
  assert.equal(rpc.health()[0]?.trouble, undefined)
})

test('a refused call goes to the next node; if all refuse, the refusal is the outcome', async () => {
  const refuse = (requests: readonly Request[]) =>
    requests.map(({ id }) => ({ id, error: { code: -32601, message: 'no' } }))
  const rpc = open(
    scripted((url, requests) => (url === 'http://a/' ? refuse(requests) : echo(requests))),
    ['http://a/', 'http://b/'],
  )
  assert.deepEqual(await rpc.results(calls('trace_block')), ['trace_block'])
  const refusing = open(scripted((_, requests) => refuse(requests)))
  assert.deepEqual(await refusing.call(calls('x')), [{ is: 'error', code: -32601, message: 'x: no', node: 'http://a' }])
  assert.equal(refusing.counts().calls, 2)
})

test('a temporary error is retried, unless the call accepts errors', async () => {
  let times = 0
  const rpc = open(
    scripted((_, requests) =>
      ++times < 3 ? requests.map(({ id }) => ({ id, error: { code: -32603, message: 'busy' } })) : echo(requests),
    ),
  )
  assert.deepEqual(await rpc.results(calls('x')), ['x'])
  times = 0
  const [outcome] = await rpc.call([{ method: 'x', params: [], acceptsError: true }])
  assert.deepEqual([outcome?.is, times], ['error', 1])
})

test('an accepted error does not wait for a node in backoff, nor does a call with skipsBackoff', async () => {
  const clock = new ManualClock(0)
  const post = scripted((url, requests) => {
    if (url === 'http://a/') throw new FetchError('network', 'connection refused')
    return requests.map(({ id, method }) =>
      method === 'x' ? { id, result: 1 } : { id, error: { code: -32601, message: 'no' } },
    )
  })
  const rpc = openRpc({ chain: '1', rpc: [settings('http://a/'), settings('http://b/')], clock, post, backoffMs: 1000 })
  const refusal = { is: 'error', code: -32601, message: 'y: no', node: 'http://b' }
  assert.deepEqual(await rpc.call([{ method: 'y', params: [], acceptsError: true }]), [refusal])
  const [outcome] = await rpc.of([0]).call(calls('x'), { skipsBackoff: true })
  assert.deepEqual([outcome?.is, outcome?.is === 'unusable' && outcome.message], ['unusable', 'connection refused'])
  assert.deepEqual(await rpc.of([1]).results(calls('x')), [1])
})

test('retry-after of a node is respected, up to a minute', async () => {
  for (const [retryAfterMs, backoffMs] of [
    [7000, 7000],
    [86_400_000, 60_000],
  ] as const) {
    const clock = new ManualClock(0)
    let isBusy = true
    const post = scripted((_, requests) => {
      if (isBusy) throw new FetchError('status', 'status 429', { status: 429, retryAfterMs })
      return echo(requests)
    })
    const rpc = openRpc({ chain: '1', rpc: [settings('http://a/')], clock, post })
    assert.equal((await rpc.call(calls('x'), { attemptsMax: 1 }))[0]?.is, 'unusable')
    isBusy = false
    clock.advance(backoffMs - 1)
    assert.equal((await rpc.call(calls('x'), { skipsBackoff: true }))[0]?.is, 'unusable')
    clock.advance(1)
    assert.deepEqual(await rpc.results(calls('x')), ['x'])
  }
})

test('if the rate limit of a node leaves no time, the next node is used', async () => {
  const clock = new ManualClock(0)
  const used: string[] = []
  const post = scripted((url, requests) => {
    used.push(url)
    return echo(requests)
  })
  const rpc = openRpc({
    chain: '1',
    rpc: [settings('http://a/', { perSecond: 2 }), settings('http://b/')],
    clock,
    post,
  })
  await rpc.results(calls('x'))
  assert.deepEqual(await rpc.results(calls('y'), { untilMs: 500 }), ['y'])
  assert.deepEqual(used, ['http://a/', 'http://b/'])
})

test('a timeout because of our own deadline is not a failure of the node', async () => {
  const clock = new ManualClock(0)
  let isFailing = true
  const timeouts: number[] = []
  const post: Post = async (url, options) => {
    timeouts.push(options.timeoutMs)
    if (isFailing) throw new FetchError('status', 'status 500', { status: 500 })
    if (options.timeoutMs < 20) {
      await clock.sleep(options.timeoutMs)
      throw new FetchError('timeout', 'no answer in time')
    }
    return scripted((_, requests) => echo(requests))(url, options)
  }
  const rpc = openRpc({ chain: '1', rpc: [settings('http://a/')], clock, post, backoffMs: 1000 })
  await rpc.call(calls('x'), { attemptsMax: 1 })
  isFailing = false
  // Its backoff ends just before the deadline.
  const late = rpc.call(calls('x'), { untilMs: 1010 })
  for (let tick = 0; tick < 20; tick++) await null
  clock.advance(1000)
  for (let tick = 0; tick < 20; tick++) await null
  clock.advance(10)
  assert.equal((await late)[0]?.is, 'unusable')
  assert.deepEqual(timeouts, [1000, 10])
  assert.deepEqual(await rpc.call(calls('x'), { skipsBackoff: true }), [{ is: 'result', result: 'x' }])
})

test('waitedMs is the time of requests at nodes, without waiting for the rate limit', async () => {
  const clock = new ManualClock(0)
  const inner = scripted((_, requests) => echo(requests))
  const post: Post = async (url, options) => {
    await clock.sleep(30)
    return inner(url, options)
  }
  const rpc = openRpc({ chain: '1', rpc: [settings('http://a/', { perSecond: 1 })], clock, post })
  let isDone = false
  void rpc.results(calls('x', 'y')).then(() => {
    isDone = true
  })
  for (let step = 0; !isDone && step < 1000; step++) {
    for (let tick = 0; tick < 20; tick++) await null
    clock.advance(10)
  }
  // The chain id, x and y.
  assert.deepEqual([isDone, rpc.counts().rounds, rpc.counts().waitedMs], [true, 3, 90])
  assert.ok(clock.monotonicMs() > 2000)
})

test('a node on another chain is refused, with its name in the error', async () => {
  const post: Post = async (_, { body }) => JSON.stringify({ id: JSON.parse(body ?? '').id, result: '0x89' })
  const rpc = open(post)
  await assert.rejects(rpc.results(calls('x')), /is on chain 137, not 1: refused/)
  await assert.rejects(rpc.results(calls('x')), /is on chain 137, not 1: refused/)
  assert.equal(rpc.counts().calls, 1)
})

test('a node without usable results ends in a fault after a limited number of attempts', async () => {
  const rpc = open(scripted((_, requests) => requests.map(({ id }) => ({ id, result: null }))))
  await assert.rejects(rpc.results(calls('x')), (fault: Fault) => fault.code === 'explorer.node_unavailable')
  assert.ok(rpc.counts().calls <= 12, `${rpc.counts().calls} calls`)
})

test('missing historical state has its own error code', async () => {
  for (const message of [
    'missing trie node 12',
    'historical state is not available',
    'required historical state unavailable',
  ]) {
    const rpc = open(scripted((_, requests) => requests.map(({ id }) => ({ id, error: { code: -32000, message } }))))
    await assert.rejects(rpc.results(calls('eth_getBalance')), { code: 'explorer.not_archive' })
  }
})

test('nothing is sent after the deadline', async () => {
  const clock = new ManualClock(0)
  const rpc = openRpc({
    chain: '1',
    rpc: [settings('http://a/')],
    clock,
    post: scripted((_, requests) => echo(requests)),
  })
  await assert.rejects(rpc.results(calls('x'), { untilMs: 0 }), { code: 'explorer.node_unavailable' })
  assert.equal(rpc.counts().rounds, 0)
})

test('no node receives more than perSecond calls within a second, for any network delay', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 }),
      fc.array(fc.integer({ min: 0, max: 250 }), { minLength: 1, maxLength: 8 }),
      async (perSecond, counts, delaysMs) => {
        const clock = new ManualClock(0)
        const sent: { atMs: number; calls: number }[] = []
        const inner = scripted((_, requests) => echo(requests))
        let requestCount = 0
        const post: Post = async (url, options) => {
          await clock.sleep(delaysMs[requestCount++ % delaysMs.length] as number)
          sent.push({ atMs: clock.monotonicMs(), calls: [JSON.parse(options.body ?? '')].flat().length })
          return inner(url, options)
        }
        const rpc = openRpc({ chain: '1', rpc: [settings('http://a/', { perSecond })], clock, post })
        let open = counts.length
        for (const count of counts) void rpc.results(calls(...Array(count).fill('x'))).then(() => open--)
        for (let step = 0; open > 0 && step < 1000; step++) {
          for (let tick = 0; tick < 20; tick++) await null
          clock.advance(100)
        }
        assert.equal(open, 0)
        for (const { atMs } of sent) {
          const within = sent.filter((batch) => batch.atMs >= atMs && batch.atMs < atMs + 1000)
          assert.ok(within.reduce((sum, batch) => sum + batch.calls, 0) <= perSecond)
        }
      },
    ),
    { numRuns: 30 },
  )
})

test('results over HTTP are correct for every simulated fault', async () => {
  const chain = new SimulatedChain({ seed: 'rpc' })
  chain.mine(20)
  await using node = new FaultyNode(chain, { traces: [] }, 5)
  const url = await node.listen()
  node.faults = {
    random: createSeededRandom('rpc faults'),
    rate: 0.3,
    kinds: ['status 500', 'status 429', 'slow', 'garbage', 'half', 'null', 'rate error', 'wrong ids'],
  }
  const rpc = openRpc({ chain: '1', rpc: [settings(url), settings(url)], clock: systemClock, backoffMs: 0 })
  const requests = Array.from({ length: 20 }, (_, at) => ({
    method: 'eth_getBlockByNumber',
    params: [`0x${at.toString(16)}`, false],
  }))
  for (let round = 0; round < 10; round++) {
    const outcomes = await rpc.call(requests)
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome.is === 'result') assert.equal((outcome.result as { hash: string }).hash, chain.blocks[at]?.hash)
    }
  }
})

test('connections that the node has closed meanwhile are no failures of the node', async (t) => {
  const used = new WeakSet<object>()
  const server = createServer(async (request, response) => {
    if (used.has(request.socket)) return void request.socket.destroy()
    used.add(request.socket)
    const { id, method } = (await json(request)) as Request
    response.end(JSON.stringify({ id, result: method === 'eth_chainId' ? '0x1' : method }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const rpc = openRpc({ chain: '1', rpc: [settings(url)], clock: systemClock, backoffMs: 0 })
  for (const method of ['a', 'b', 'c']) assert.deepEqual(await rpc.results(calls(method)), [method])
  assert.equal(rpc.counts().rounds, 4)
})
