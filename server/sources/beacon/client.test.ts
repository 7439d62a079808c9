// Several nodes as one source: who is asked, who is believed, and what happens to those that fail.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type Beacon, BeaconError, dataOf, openBeacon } from './client.ts'
import { InvalidResponseError } from './json.ts'

type Reply = (response: ServerResponse) => void
const json =
  (data: unknown, status = 200): Reply =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))

interface Scripted extends AsyncDisposable {
  readonly url: string
  readonly asked: string[]
}

/** Answers genesis, spec and whether it is syncing by itself, everything else by the script. */
async function openNode(
  script: (path: string, asked: number) => Reply,
  genesis = '100',
  syncing = json({ is_syncing: false }),
): Promise<Scripted> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '/')
    const path = (request.url ?? '/').replace(/\?.*/, '')
    if (path.endsWith('/node/syncing')) return syncing(response)
    if (path.endsWith('/genesis')) return json({ genesis_time: genesis, genesis_validators_root: '0xaa' })(response)
    if (path.endsWith('/spec')) return json({ SLOTS_PER_EPOCH: '8', SECONDS_PER_SLOT: '2' })(response)
    script(path, asked.filter((one) => one === path).length)(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const open = (...nodes: readonly Scripted[]): Beacon =>
  openBeacon({ network: 'test', urls: nodes.map(({ url }) => url), timeoutMs: 2000, clock: systemClock, backoffMs: 1 })
const ask = (beacon: Beacon, path = '/thing') =>
  beacon.request({ path }, (reply) => dataOf(reply.is === 'json' ? reply.body : undefined))

test('the first node that is well is asked, the others are left alone', async () => {
  await using first = await openNode(() => json('first'))
  await using second = await openNode(() => json('second'))
  assert.equal(await ask(open(first, second)), 'first')
  assert.deepEqual(second.asked, [])
})

test('when one fails the next one answers, and the trouble is told without keys', async () => {
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
  assert(first.asked.includes('/thing?apikey=secret'), 'a key in the query goes behind the path')
  assert.doesNotMatch(JSON.stringify(beacon.health()), /secret/)
  assert.notEqual(beacon.health()[0]?.trouble, undefined)
})

test('a 404 is believed only when no other node that is well has an answer', async () => {
  await using first = await openNode(() => json('none', 404))
  await using second = await openNode((path) => (path === '/thing' ? json('there') : json('none', 404)))
  const beacon = open(first, second)
  assert.equal(await ask(beacon), 'there')
  assert.equal(await ask(beacon, '/nothing'), undefined)
})

test('a node on another chain is refused by name and never asked', async () => {
  await using first = await openNode(() => json('right'))
  await using other = await openNode(() => json('wrong'), '999')
  const beacon = openBeacon({
    network: 'test',
    urls: [other.url, first.url],
    timeoutMs: 2000,
    clock: systemClock,
    backoffMs: 1,
    identity: { genesisUnix: 100, genesisRoot: '0xaa', slotSeconds: 2, slotsPerEpoch: 8 },
  })
  assert.equal(await ask(beacon), 'right')
  assert.match(beacon.health()[0]?.trouble ?? '', /another chain: genesisUnix is 999, not 100/)
  assert(!other.asked.includes('/thing'))
})

test('a failure that passes is tried again, one that stays ends after a bounded number of attempts', async () => {
  await using flaky = await openNode((_, asked) => (asked < 3 ? json('no', 500) : json('at last')))
  assert.equal(await ask(open(flaky)), 'at last')
  await using broken = await openNode(() => json('no', 500))
  await assert.rejects(ask(open(broken)), BeaconError)
  assert.equal(broken.asked.filter((path) => path === '/thing').length, 5)
})

test('an answer that cannot be right counts as a failure of the node', async () => {
  await using first = await openNode(() => (response) => void response.end('{"data":'))
  await using second = await openNode(() => json('nonsense'))
  const beacon = open(first, second)
  const refuse = () => {
    throw new InvalidResponseError('it is nonsense')
  }
  await assert.rejects(beacon.request({ path: '/thing' }, refuse), /it is nonsense|not JSON/)
})

test('more bytes than allowed are cut off', async () => {
  await using node = await openNode(() => json('x'.repeat(10_000)))
  await assert.rejects(
    open(node).request({ path: '/thing', bytesMax: 1000 }, () => 'read'),
    /more than 1000 bytes/,
  )
})

test('a broken belief of the reader is thrown at once', async () => {
  await using node = await openNode(() => json('fine'))
  const odd = new TypeError('ours')
  await assert.rejects(
    open(node).request({ path: '/thing' }, () => {
      throw odd
    }),
    odd,
  )
  assert.equal(node.asked.filter((path) => path === '/thing').length, 1)
})

test('the signal ends waiting and asking', async () => {
  await using node = await openNode(() => () => {})
  const stop = new AbortController()
  const asking = open(node).request({ path: '/thing' }, () => 'read', stop.signal)
  setTimeout(() => stop.abort(), 20)
  await assert.rejects(asking, { name: 'AbortError' })
})

test('passing answers of a node lie in one place, and never over one that is still coming', async () => {
  const bytes = (path: string) => Buffer.alloc(2_000_000, path)
  await using node = await openNode((path) => (response) => {
    const headers = { 'content-type': 'application/octet-stream', 'content-length': 2_000_000 }
    response.writeHead(200, headers).end(bytes(path))
  })
  const beacon = open(node)
  const places: ArrayBufferLike[] = []
  const look = (path: string) =>
    beacon.request({ path, accept: 'ssz', reusesBuffer: true }, (reply) => {
      assert(reply.is === 'ssz')
      places.push(reply.bytes.buffer)
      return Buffer.compare(reply.bytes, bytes(path)) === 0
    })
  assert.deepEqual([await look('/a'), await look('/b')], [true, true])
  assert.equal(places[0], places[1])
  assert.deepEqual(await Promise.all(['/c', '/d', '/e'].map(look)), [true, true, true])
})

test('a node that is still syncing is not asked, another one is; a node that does not say is', async () => {
  const behind = json({ is_syncing: true, sync_distance: '4000' })
  await using first = await openNode(() => json('first'), '100', behind)
  await using second = await openNode(() => json('second'), '100', json('not here', 403))
  assert.equal(await ask(open(first, second)), 'second')
  await assert.rejects(ask(open(first)), /it is still syncing, 4000 slots behind/)
  assert(!first.asked.includes('/thing'))
})

test('an answer about payloads that the node has not verified counts as a failure of the node', async () => {
  const optimistic: Reply = (response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ data: 'first', execution_optimistic: true }))
  await using first = await openNode(() => optimistic)
  await using second = await openNode(() => json('second'))
  assert.equal(await ask(open(first, second)), 'second')
  await assert.rejects(ask(open(first)), /has not verified the execution payloads/)
})
