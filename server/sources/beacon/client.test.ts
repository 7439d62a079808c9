// Tests of the Beacon API client with several nodes: which node is asked, when a 404 is accepted, what happens on
// failures.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type Beacon, BeaconError, openBeacon } from './client.ts'
import { dataOf } from './endpoint.ts'
import { InvalidResponseError } from './json.ts'

type Reply = (response: ServerResponse) => void
const json =
  (data: unknown, status = 200): Reply =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))

interface ScriptedNode extends AsyncDisposable {
  readonly url: string
  readonly requests: string[]
}

const root = `0x${'aa'.repeat(32)}`

/**
 * Serves genesis, spec and sync status itself, and everything else from the script. `count`: requests for this path.
 */
async function openNode(
  script: (path: string, count: number) => Reply,
  genesis = '100',
  syncing = json({ is_syncing: false }),
  spec: (count: number) => object = () => ({ SLOTS_PER_EPOCH: '8', SECONDS_PER_SLOT: '2' }),
): Promise<ScriptedNode> {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '/')
    const path = (request.url ?? '/').replace(/\?.*/, '')
    if (path.endsWith('/node/syncing')) return syncing(response)
    const count = requests.filter((url) => url === path).length
    if (path.endsWith('/genesis')) return json({ genesis_time: genesis, genesis_validators_root: root })(response)
    if (path.endsWith('/spec')) return json(spec(count))(response)
    script(path, count)(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const open = (...nodes: readonly ScriptedNode[]): Beacon =>
  openBeacon({ network: 'test', urls: nodes.map(({ url }) => url), timeoutMs: 2000, clock: systemClock, backoffMs: 1 })
const ask = (beacon: Beacon, path = '/thing') =>
  beacon.request({ path }, (reply) => dataOf(reply.is === 'json' ? reply.body : undefined))

test('only the first healthy node is asked', async () => {
  await using first = await openNode(() => json('first'))
  await using second = await openNode(() => json('second'))
  assert.equal(await ask(open(first, second)), 'first')
  assert.deepEqual(second.requests, [])
})

test('a node that returns two different sets of constants is not used until it returns the same ones twice', async () => {
  const spec = (count: number) => ({ SLOTS_PER_EPOCH: count === 1 ? '64' : '8', SECONDS_PER_SLOT: '2' })
  await using node = await openNode(() => json('thing'), undefined, undefined, spec)
  const beacon = open(node)
  assert.equal((await beacon.chain()).rules.slotsPerEpoch, 8)
  assert.equal(node.requests.filter((path) => path.endsWith('/spec')).length, 4)
})

test('if a node fails, the next one is used, and the reported error contains no API key', async () => {
  await using first = await openNode(() => json('no', 503))
  await using second = await openNode(() => json('second'))
  const beacon = openBeacon({
    network: 'test',
    urls: [`${first.url}/?apikey=secret`, second.url],
    timeoutMs: 2000,
    clock: systemClock,
    backoffMs: 60_000,
  })
  assert.equal(await ask(beacon), 'second')
  assert(first.requests.includes('/thing?apikey=secret'), 'a key in the query follows the path')
  assert.doesNotMatch(JSON.stringify(beacon.health()), /secret/)
  assert.notEqual(beacon.health()[0]?.lastError, undefined)
})

test('status 500 means "not found" only if its message is about a state that the node does not keep', async () => {
  const replies = {
    '/state': 'Historical state regen is not enabled, set --serveHistoricalState to fetch this data',
    '/rewards': "Pre-state is unavailable given block's parent root",
    '/failure': 'internal error',
  }
  await using node = await openNode((path) => (response) => {
    const message = replies[path as keyof typeof replies]
    response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ code: 500, message }))
  })
  const beacon = open(node)
  assert.equal(await ask(beacon, '/state'), undefined)
  assert.equal(await ask(beacon, '/rewards'), undefined)
  assert.deepEqual(
    beacon.health().map(({ lastError }) => lastError),
    [undefined],
  )
  await assert.rejects(ask(beacon, '/failure'), BeaconError)
})

test('a 404 is accepted only if no other healthy node has the data', async () => {
  await using first = await openNode(() => json('none', 404))
  await using second = await openNode((path) => (path === '/thing' ? json('there') : json('none', 404)))
  const beacon = open(first, second)
  assert.equal(await ask(beacon), 'there')
  assert.equal(await ask(beacon, '/nothing'), undefined)
})

test('a node on another chain is rejected and gets no requests', async () => {
  await using first = await openNode(() => json('right'))
  await using other = await openNode(() => json('wrong'), '999')
  const beacon = openBeacon({
    network: 'test',
    urls: [other.url, first.url],
    timeoutMs: 2000,
    clock: systemClock,
    backoffMs: 1,
    identity: { genesisUnix: 100, genesisRoot: root, slotSeconds: 2, slotsPerEpoch: 8 },
  })
  assert.equal(await ask(beacon), 'right')
  assert.match(beacon.health()[0]?.lastError ?? '', /another chain: genesisUnix is 999, not 100/)
  assert(!other.requests.includes('/thing'))
})

test('a failed request is retried, and fails after a limited number of attempts', async () => {
  await using flaky = await openNode((_, count) => (count < 3 ? json('no', 500) : json('at last')))
  assert.equal(await ask(open(flaky)), 'at last')
  await using broken = await openNode(() => json('no', 500))
  await assert.rejects(ask(open(broken)), BeaconError)
  assert.equal(broken.requests.filter((path) => path === '/thing').length, 5)
})

test('an invalid response counts as a failure of the node', async () => {
  await using first = await openNode(() => (response) => void response.end('{"data":'))
  await using second = await openNode(() => json('nonsense'))
  const beacon = open(first, second)
  const refuse = () => {
    throw new InvalidResponseError('it is nonsense')
  }
  await assert.rejects(beacon.request({ path: '/thing' }, refuse), /it is nonsense|not JSON/)
})

test('a response of more bytes than allowed is an error', async () => {
  await using node = await openNode(() => json('x'.repeat(10_000)))
  await assert.rejects(
    open(node).request({ path: '/thing', bytesMax: 1000 }, () => 'read'),
    /more than 1000 bytes/,
  )
})

test('a bug in the reading code is thrown at once and not retried', async () => {
  await using node = await openNode(() => json('fine'))
  const bug = new TypeError('a bug')
  await assert.rejects(
    open(node).request({ path: '/thing' }, () => {
      throw bug
    }),
    bug,
  )
  assert.equal(node.requests.filter((path) => path === '/thing').length, 1)
})

test('the signal ends waits and requests', async () => {
  await using node = await openNode(() => () => {})
  const stop = new AbortController()
  const pending = open(node).request({ path: '/thing' }, () => 'read', stop.signal)
  setTimeout(() => stop.abort(), 20)
  await assert.rejects(pending, { name: 'AbortError' })
})

test('responses with reusesBuffer share a buffer, except while another response is being received', async () => {
  const bytes = (path: string) => Buffer.alloc(2_000_000, path)
  await using node = await openNode((path) => (response) => {
    const headers = { 'content-type': 'application/octet-stream', 'content-length': 2_000_000 }
    response.writeHead(200, headers).end(bytes(path))
  })
  const beacon = open(node)
  const buffers: ArrayBufferLike[] = []
  const isIntact = (path: string) =>
    beacon.request({ path, accept: 'ssz', reusesBuffer: true }, (reply) => {
      assert(reply.is === 'ssz')
      buffers.push(reply.bytes.buffer)
      return Buffer.compare(reply.bytes, bytes(path)) === 0
    })
  assert.deepEqual([await isIntact('/a'), await isIntact('/b')], [true, true])
  assert.equal(buffers[0], buffers[1])
  assert.deepEqual(await Promise.all(['/c', '/d', '/e'].map(isIntact)), [true, true, true])
})

test('a syncing node is skipped; a node that does not report its sync status is used', async () => {
  const behind = json({ is_syncing: true, sync_distance: '4000' })
  await using first = await openNode(() => json('first'), '100', behind)
  await using second = await openNode(() => json('second'), '100', json('not here', 403))
  assert.equal(await ask(open(first, second)), 'second')
  await assert.rejects(ask(open(first)), /it is still syncing, 4000 slots behind/)
  assert(!first.requests.includes('/thing'))
})

test('a response about unverified payloads counts as a failure of the node', async () => {
  const optimistic: Reply = (response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ data: 'first', execution_optimistic: true }))
  await using first = await openNode(() => optimistic)
  await using second = await openNode(() => json('second'))
  assert.equal(await ask(open(first, second)), 'second')
  await assert.rejects(ask(open(first)), /has not verified the execution payloads/)
})
