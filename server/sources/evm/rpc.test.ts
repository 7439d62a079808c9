// The JSON-RPC client against scripted nodes. `post` stands in for HTTP except in the last test, which uses a socket.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Fault } from '#core/fault.ts'
import { ManualClock, systemClock } from '#runtime/clock.ts'
import { SimChain } from '#simulator/evm/chain.ts'
import { SimNode } from '#simulator/evm/node.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { FetchError } from '../http-client.ts'
import { readBlocks } from './blocks.ts'
import { openRpc, type RpcCall } from './rpc.ts'
import type { Post } from './rpc-endpoint.ts'

interface Asked {
  readonly id: number
  readonly method: string
}

/** Answers the chain id by itself; everything else as the script says. */
const scripted =
  (script: (url: string, asked: readonly Asked[]) => unknown): Post =>
  async (url, { body }) => {
    const asked = JSON.parse(body ?? '') as Asked | Asked[]
    if (!Array.isArray(asked) && asked.method === 'eth_chainId') return JSON.stringify({ id: asked.id, result: '0x1' })
    const reply = script(url, [asked].flat())
    return JSON.stringify(Array.isArray(asked) ? reply : ([reply].flat()[0] ?? null))
  }

const line = (url: string, more: object = {}) => ({ url, perSecond: 0, batchMax: 50, timeoutMs: 1000, ...more })
const open = (post: Post, urls: readonly string[] = ['http://a/'], more: object = {}) =>
  openRpc({ chain: '1', rpc: urls.map((url) => line(url, more)), clock: systemClock, post, backoffMs: 0 })

const calls = (...methods: string[]): RpcCall[] => methods.map((method) => ({ method, params: [] }))
const echo = (asked: readonly Asked[]) => asked.map(({ id, method }) => ({ id, result: method }))

test('answers belong to the call whose id they carry, in whatever order they come', async () => {
  const rpc = open(scripted((_, asked) => echo(asked).reverse()))
  assert.deepEqual(await rpc.results(calls('x', 'y', 'z')), ['x', 'y', 'z'])
})

test('batches are no longer than the node takes, and a node that refuses one is asked with less', async () => {
  const error = { code: -32600, message: 'batch too large' }
  // geth answers with a list that holds one error, under the id of the first call; others with an object.
  for (const refusal of [({ id }: Asked) => [{ id, error }], () => ({ id: null, error })]) {
    const sizes: number[] = []
    const rpc = open(
      scripted((_, asked) => {
        sizes.push(asked.length)
        return asked.length > 2 ? refusal(asked[0] as Asked) : echo(asked)
      }),
      ['http://a/'],
      { batchMax: 4 },
    )
    assert.deepEqual(await rpc.results(calls('a', 'b', 'c', 'd', 'e')), ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(sizes, [4, 2, 2, 1])
  }
})

test('a batch that takes the node too long, or whose answer is too large, is repeated with half as many calls', async () => {
  const timeout = () => {
    throw new FetchError('timeout', 'a did not answer within 1000 ms')
  }
  const late = () => {
    throw new FetchError('status', 'a answered with status 408', { status: 408 })
  }
  // geth answers calls until the limit is reached, and the rest with errors.
  const cut = (asked: readonly Asked[], message: string) =>
    echo(asked).map((one, at) => (at < 2 ? one : { id: one.id, error: { code: -32003, message } }))
  for (const tooMuch of [
    timeout,
    late,
    (asked: readonly Asked[]) => cut(asked, 'response too large'),
    (asked: readonly Asked[]) => cut(asked, 'request timed out'),
  ]) {
    const sizes: number[] = []
    const post = scripted((_, asked) => {
      sizes.push(asked.length)
      return asked.length > 2 ? tooMuch(asked) : echo(asked)
    })
    const rpc = open(post, ['http://a/'], { batchMax: 8 })
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    assert.deepEqual(await rpc.results(calls(...names)), names)
    assert.deepEqual(sizes.slice(0, 3), [8, 4, 2])
    assert.equal(rpc.health()[0]?.trouble, undefined)
    // What was too much once is tried again later.
    for (let turn = 0; turn < 40; turn++) await rpc.results(calls(...names))
    assert.ok(sizes.slice(3).some((size) => size > 2))
  }
})

test('traces of whole blocks that take too long together are asked for in smaller batches', async () => {
  const clock = new ManualClock(0)
  const chain = new SimChain({ seed: 'slow traces' })
  chain.mine(8)
  const node = new SimNode(chain)
  const sizes: number[] = []
  const post: Post = async (_, { body = '', timeoutMs }) => {
    const asked = [JSON.parse(body)].flat() as Asked[]
    const traces = asked.filter(({ method }) => method === 'trace_block').length
    if (traces > 0) sizes.push(traces)
    // Every block takes 2.8 s; the limit is 10 s.
    if (traces * 2800 > timeoutMs) throw new FetchError('timeout', `no answer within ${timeoutMs} ms`)
    return (await node.respond(body)).text
  }
  const rpc = openRpc({ chain: '1', rpc: [line('http://a/', { timeoutMs: 10_000 })], clock, post })
  const seen = await readBlocks(rpc, 'trace_block', [1, 2, 3, 4, 5, 6, 7, 8])
  assert.equal(seen.length, 8)
  assert.deepEqual(sizes.slice(0, 3), [4, 2, 2])
  assert.ok(sizes.slice(1).every((size) => size <= 2))
})

test('where all nodes refuse connections the error comes within a second, and a node that is back is used at once', async () => {
  const clock = new ManualClock(0)
  let isThere = false
  const post: Post = async (url, options) => {
    if (!isThere) throw new FetchError('network', `${url} cannot be reached (ECONNREFUSED)`)
    return scripted((_, asked) => echo(asked))(url, options)
  }
  const rpc = openRpc({ chain: '1', rpc: [line('http://a/'), line('http://b/')], clock, post })
  /** How long it takes by the clock. */
  const askedMs = async () => {
    const startMs = clock.monotonicMs()
    let isDone = false
    const done = rpc.call(calls('x')).finally(() => {
      isDone = true
    })
    while (!isDone) {
      for (let turn = 0; turn < 50; turn++) await null
      if (!isDone) clock.advance(50)
    }
    return { tookMs: clock.monotonicMs() - startMs, outcome: (await done)[0] }
  }
  for (let turn = 0; turn < 5; turn++) {
    const { tookMs, outcome } = await askedMs()
    assert.equal(outcome?.is, 'unusable')
    assert.ok(tookMs <= 1100, `${tookMs} ms`)
  }
  isThere = true
  const { tookMs, outcome } = await askedMs()
  assert.deepEqual(outcome, { is: 'result', result: 'x' })
  assert.ok(tookMs <= 1100, `${tookMs} ms`)
})

test('half a batch, null, a wrong id and a doubled id are no answers: only those calls are asked again', async () => {
  const spoil: ((replies: { id: number; result: unknown }[]) => unknown[])[] = [
    (replies) => replies.slice(0, 1),
    (replies) => replies.map((one, at) => (at === 1 ? { ...one, result: null } : one)),
    (replies) => replies.map((one, at) => (at === 1 ? { ...one, id: 9999 } : one)),
    (replies) => [...replies, { ...replies[1], result: 'other' }],
    (replies) => replies.map((one, at) => (at === 1 ? null : one)),
  ]
  for (const spoilt of spoil) {
    const asked: string[][] = []
    const rpc = open(
      scripted((_, batch) => {
        asked.push(batch.map(({ method }) => method))
        return asked.length === 1 ? spoilt(echo(batch)) : echo(batch)
      }),
    )
    assert.deepEqual(await rpc.results(calls('x', 'y')), ['x', 'y'])
    assert.deepEqual(asked, [['x', 'y'], ['y']])
  }
})

test('a node that fails is left for the next, and is asked again when its rest is over', async () => {
  const clock = new ManualClock(0)
  let ill = true
  const used: string[] = []
  const post = scripted((url, asked) => {
    if (url === 'http://a/' && ill) throw new FetchError('status', 'status 500', { status: 500 })
    used.push(url)
    return echo(asked)
  })
  const rpc = openRpc({ chain: '1', rpc: [line('http://a/'), line('http://b/')], clock, post, backoffMs: 1000 })
  await rpc.results(calls('x'))
  ill = false
  await rpc.results(calls('x'))
  assert.match(rpc.health()[0]?.trouble ?? '', /500/)
  clock.advance(1001)
  await rpc.results(calls('x'))
  assert.deepEqual(used, ['http://b/', 'http://b/', 'http://a/'])
  assert.equal(rpc.health()[0]?.trouble, undefined)
})

test('what one node refuses another may know; when all refuse, that is the answer', async () => {
  const refuse = (asked: readonly Asked[]) => asked.map(({ id }) => ({ id, error: { code: -32601, message: 'no' } }))
  const rpc = open(
    scripted((url, asked) => (url === 'http://a/' ? refuse(asked) : echo(asked))),
    ['http://a/', 'http://b/'],
  )
  assert.deepEqual(await rpc.results(calls('trace_block')), ['trace_block'])
  const nobody = open(scripted((_, asked) => refuse(asked)))
  assert.deepEqual(await nobody.call(calls('x')), [{ is: 'error', code: -32601, words: 'x: no', node: 'http://a' }])
  assert.equal(nobody.counts().calls, 2)
})

test('an error that may pass is asked again, one that will not is not', async () => {
  let times = 0
  const rpc = open(
    scripted((_, asked) =>
      ++times < 3 ? asked.map(({ id }) => ({ id, error: { code: -32603, message: 'busy' } })) : echo(asked),
    ),
  )
  assert.deepEqual(await rpc.results(calls('x')), ['x'])
  times = 0
  const [outcome] = await rpc.call([{ method: 'x', params: [], acceptsError: true }])
  assert.deepEqual([outcome?.is, times], ['error', 1])
})

test('a clear no is not made to wait for a node at rest, nor is anything where there are others to ask', async () => {
  const clock = new ManualClock(0)
  const post = scripted((url, asked) => {
    if (url === 'http://a/') throw new FetchError('network', 'nobody there')
    return asked.map(({ id, method }) =>
      method === 'x' ? { id, result: 1 } : { id, error: { code: -32601, message: 'no' } },
    )
  })
  const rpc = openRpc({ chain: '1', rpc: [line('http://a/'), line('http://b/')], clock, post, backoffMs: 1000 })
  const refusal = { is: 'error', code: -32601, words: 'y: no', node: 'http://b' }
  assert.deepEqual(await rpc.call([{ method: 'y', params: [], acceptsError: true }]), [refusal])
  const [outcome] = await rpc.of([0]).call(calls('x'), { skipsBackoff: true })
  assert.deepEqual([outcome?.is, outcome?.is === 'unusable' && outcome.message], ['unusable', 'nobody there'])
  assert.deepEqual(await rpc.of([1]).results(calls('x')), [1])
})

test('a node that asks to be left alone is left alone for so long, within reason', async () => {
  for (const [retryAfterMs, restMs] of [
    [7000, 7000],
    [86_400_000, 60_000],
  ] as const) {
    const clock = new ManualClock(0)
    let isBusy = true
    const post = scripted((_, asked) => {
      if (isBusy) throw new FetchError('status', 'status 429', { status: 429, retryAfterMs })
      return echo(asked)
    })
    const rpc = openRpc({ chain: '1', rpc: [line('http://a/')], clock, post })
    assert.equal((await rpc.call(calls('x'), { attemptsMax: 1 }))[0]?.is, 'unusable')
    isBusy = false
    clock.advance(restMs - 1)
    assert.equal((await rpc.call(calls('x'), { skipsBackoff: true }))[0]?.is, 'unusable')
    clock.advance(1)
    assert.deepEqual(await rpc.results(calls('x')), ['x'])
  }
})

test('where the rate limit of one leaves no time, the next is asked', async () => {
  const clock = new ManualClock(0)
  const used: string[] = []
  const post = scripted((url, asked) => {
    used.push(url)
    return echo(asked)
  })
  const rpc = openRpc({ chain: '1', rpc: [line('http://a/', { perSecond: 2 }), line('http://b/')], clock, post })
  await rpc.results(calls('x'))
  assert.deepEqual(await rpc.results(calls('y'), { untilMs: 500 }), ['y'])
  assert.deepEqual(used, ['http://a/', 'http://b/'])
})

test('our own deadline is not held against a node: it does not rest for having had no time', async () => {
  const clock = new ManualClock(0)
  let isIll = true
  const given: number[] = []
  const post: Post = async (url, options) => {
    given.push(options.timeoutMs)
    if (isIll) throw new FetchError('status', 'status 500', { status: 500 })
    if (options.timeoutMs < 20) {
      await clock.sleep(options.timeoutMs)
      throw new FetchError('timeout', 'no answer in time')
    }
    return scripted((_, asked) => echo(asked))(url, options)
  }
  const rpc = openRpc({ chain: '1', rpc: [line('http://a/')], clock, post, backoffMs: 1000 })
  await rpc.call(calls('x'), { attemptsMax: 1 })
  isIll = false
  // Its rest ends just before the deadline.
  const late = rpc.call(calls('x'), { untilMs: 1010 })
  for (let turn = 0; turn < 20; turn++) await null
  clock.advance(1000)
  for (let turn = 0; turn < 20; turn++) await null
  clock.advance(10)
  assert.equal((await late)[0]?.is, 'unusable')
  assert.deepEqual(given, [1000, 10])
  assert.deepEqual(await rpc.call(calls('x'), { skipsBackoff: true }), [{ is: 'result', result: 'x' }])
})

test('the share of a node is the time that requests are with it, not the turn that a rate limit makes us wait for', async () => {
  const clock = new ManualClock(0)
  const inner = scripted((_, asked) => echo(asked))
  const post: Post = async (url, options) => {
    await clock.sleep(30)
    return inner(url, options)
  }
  const rpc = openRpc({ chain: '1', rpc: [line('http://a/', { perSecond: 1 })], clock, post })
  let isDone = false
  void rpc.results(calls('x', 'y')).then(() => {
    isDone = true
  })
  for (let step = 0; !isDone && step < 1000; step++) {
    for (let turn = 0; turn < 20; turn++) await null
    clock.advance(10)
  }
  // Which chain it is on, x and y.
  assert.deepEqual([isDone, rpc.counts().rounds, rpc.counts().waitedMs], [true, 3, 90])
  assert.ok(clock.monotonicMs() > 2000)
})

test('a node on another chain is refused at once, and by name', async () => {
  const post: Post = async (_, { body }) => JSON.stringify({ id: JSON.parse(body ?? '').id, result: '0x89' })
  const rpc = open(post)
  await assert.rejects(rpc.results(calls('x')), /is on chain 137, not 1: refused/)
  await assert.rejects(rpc.results(calls('x')), /is on chain 137, not 1: refused/)
  assert.equal(rpc.counts().calls, 1)
})

test('a node that never gives a usable answer ends in a fault after a bounded number of attempts', async () => {
  const rpc = open(scripted((_, asked) => asked.map(({ id }) => ({ id, result: null }))))
  await assert.rejects(rpc.results(calls('x')), (fault: Fault) => fault.code === 'explorer.node_unavailable')
  assert.ok(rpc.counts().calls <= 12, `${rpc.counts().calls} calls`)
})

test('a node without old state is told apart', async () => {
  for (const words of [
    'missing trie node 12',
    'historical state is not available',
    'required historical state unavailable',
  ]) {
    const rpc = open(scripted((_, asked) => asked.map(({ id }) => ({ id, error: { code: -32000, message: words } }))))
    await assert.rejects(rpc.results(calls('eth_getBalance')), { code: 'explorer.not_archive' })
  }
})

test('nothing is sent after the deadline', async () => {
  const clock = new ManualClock(0)
  const rpc = openRpc({ chain: '1', rpc: [line('http://a/')], clock, post: scripted((_, asked) => echo(asked)) })
  await assert.rejects(rpc.results(calls('x'), { untilMs: 0 }), { code: 'explorer.node_unavailable' })
  assert.equal(rpc.counts().rounds, 0)
})

test('no rolling second of the node sees more calls come than perSecond, batches included, however long each was on its way', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 }),
      fc.array(fc.integer({ min: 0, max: 250 }), { minLength: 1, maxLength: 8 }),
      async (perSecond, asks, ways) => {
        const clock = new ManualClock(0)
        const sent: { atMs: number; calls: number }[] = []
        const inner = scripted((_, asked) => echo(asked))
        let requests = 0
        const post: Post = async (url, options) => {
          await clock.sleep(ways[requests++ % ways.length] as number)
          sent.push({ atMs: clock.monotonicMs(), calls: [JSON.parse(options.body ?? '')].flat().length })
          return inner(url, options)
        }
        const rpc = openRpc({ chain: '1', rpc: [line('http://a/', { perSecond })], clock, post })
        let open = asks.length
        for (const count of asks) void rpc.results(calls(...Array(count).fill('x'))).then(() => open--)
        for (let step = 0; open > 0 && step < 1000; step++) {
          for (let turn = 0; turn < 20; turn++) await null
          clock.advance(100)
        }
        assert.equal(open, 0)
        for (const { atMs } of sent) {
          const within = sent.filter((one) => one.atMs >= atMs && one.atMs < atMs + 1000)
          assert.ok(within.reduce((sum, one) => sum + one.calls, 0) <= perSecond)
        }
      },
    ),
    { numRuns: 30 },
  )
})

test('over a socket, through every fault a node can have, the answers are the right ones', async () => {
  const chain = new SimChain({ seed: 'rpc' })
  chain.mine(20)
  await using node = new SimNode(chain, { traces: [] }, 5)
  const url = await node.listen()
  node.faults = {
    random: createSeededRandom('rpc faults'),
    rate: 0.3,
    kinds: ['status 500', 'status 429', 'slow', 'garbage', 'half', 'null', 'rate error', 'wrong ids'],
  }
  const rpc = openRpc({ chain: '1', rpc: [line(url), line(url)], clock: systemClock, backoffMs: 0 })
  const asked = Array.from({ length: 20 }, (_, at) => ({
    method: 'eth_getBlockByNumber',
    params: [`0x${at.toString(16)}`, false],
  }))
  for (let round = 0; round < 10; round++) {
    const outcomes = await rpc.call(asked)
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome.is === 'result') assert.equal((outcome.result as { hash: string }).hash, chain.blocks[at]?.hash)
    }
  }
})
