// The ingesters of a server on their own thread (start-ingest.ts): what requests see of it, its death and its end.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mock, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { callControl } from '#runtime/control-socket.ts'
import { openLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { SimulatedChain } from '#simulator/evm/chain.ts'
import { type FeedEntry, startMarketFeed } from '#simulator/markets/feed.ts'
import { createKey } from '#storage/keys.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { settingsWith } from '#test/context.ts'
import { inject } from '#test/inject.ts'
import { FaultyNode } from '#test/simulator/faulty-node.ts'
import { firstFunding } from '#test/simulator/first-funding.ts'
import { MovingHead } from '#test/simulator/moving-head.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { copyEmptyStores } from '#test/template.ts'
import { openThreadSwitch } from '#test/thread-switch.ts'

const until = async (event: string, isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  for (let tries = 0; !(await isTrue()); tries++) {
    assert.ok(tries < 6000, `did not happen: ${event}`)
    await systemClock.sleep(20)
  }
}

const entry = (id: number): FeedEntry => ({
  id: String(id),
  updatedMs: Date.now(),
  value: { id: String(id), slug: `market-${id}`, question: `Market ${id}?`, updatedAt: new Date().toISOString() },
})

async function openServer(sources: object) {
  await using cleanup = new AsyncDisposableStack()
  const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-ingest-'))
  cleanup.defer(() => rm(dataDir, { recursive: true, force: true }))
  await copyEmptyStores(dataDir)
  const lines: string[] = []
  const log = openLog('debug', (line) => lines.push(line))
  const settings = settingsWith({ server: { port: 0 }, ...sources })
  const server: RunningServer = await startServer({ settings, dataDir, log })
  cleanup.defer(() => server.close())
  const { state, clock, random } = server.context
  const createAdmin = async (name: string) =>
    (await createKey(state, { name, plan: 'enterprise', admin: true }, clock, random)).key
  const authorization = `Bearer ${await createAdmin('test')}`
  const resources = cleanup.move()
  return {
    ...{ server, dataDir, lines, createAdmin },
    get: (url: string, more: object = {}) => inject(server, { url, headers: { authorization, ...more } }),
    post: (url: string, payload: object) =>
      inject(server, { method: 'POST', url, headers: { authorization }, payload }),
    close: () => resources.disposeAsync(),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const feedOf = (url: string) => ({
  markets: { feeds: [{ id: 'test', url, perSecond: 1000, everyMs: 250, fullEveryMs: 1000, paging: { size: 5 } }] },
})

test('requests are handled while the thread stands still', async () => {
  const entries = [entry(1)]
  await using feed = await startMarketFeed({ entries: () => entries })
  using control = openThreadSwitch()
  await using server = await openServer(feedOf(feed.url))
  using _ = { [Symbol.dispose]: control.go }
  await until('the market is served', async () => (await server.get('/markets/slug/market-1')).statusCode === 200)
  control.block()
  await until('the thread stands still', control.isBlocked)
  entries.push(entry(2))
  assert.equal((await server.get('/healthz')).statusCode, 200)
  assert.equal((await server.get('/markets/slug/market-1')).statusCode, 200)
  assert.notEqual((await server.get('/markets/slug/market-2')).statusCode, 200)
  assert.equal(control.isBlocked(), true)
  control.go()
  await until('the thread goes on', async () => (await server.get('/markets/slug/market-2')).statusCode === 200)
})

test('keys, rates and quotes are written while the thread stands still in a transaction', async () => {
  await using feed = await startMarketFeed({ entries: () => [entry(1)] })
  using control = openThreadSwitch()
  await using server = await openServer({ ...feedOf(feed.url), fx: { sources: [{ id: 'desk', kind: 'push' }] } })
  using _ = { [Symbol.dispose]: control.go }
  await until('the market is served', async () => (await server.get('/markets/slug/market-1')).statusCode === 200)
  control.blockInTransaction()
  await until('the thread stands still', control.isBlocked)
  assert.match(await server.createAdmin('other'), /./)
  const rate = await server.post('/v1/exchange/fx/rates', { pair: 'EUR/USD', rate: '1.0842' })
  assert.equal(rate.statusCode, 200, rate.body)
  const quote = await server.post('/v1/exchange/fx/quotes', {
    ...{ from: { currency: 'USDC', amount: '100' }, to: { currency: 'EURC' }, tenor: 'instant', type: 'reference' },
    recipientAddress: `0x${'11'.repeat(20)}`,
  })
  assert.equal(quote.statusCode, 200, quote.body)
  const { id } = JSON.parse(quote.body) as { id: string }
  assert.equal((await server.get(`/v1/exchange/fx/quotes/${id}`)).statusCode, 200)
  assert.equal((await server.get('/markets/slug/market-1')).statusCode, 200)
  assert.equal(control.isBlocked(), true)
})

test('if the thread dies, it starts again, loses nothing, and /readyz reports it', async () => {
  const entries = [entry(1)]
  await using feed = await startMarketFeed({ entries: () => entries })
  using control = openThreadSwitch()
  await using server = await openServer(feedOf(feed.url))
  using _ = { [Symbol.dispose]: control.go }
  const isLeased = async () => (await server.get('/metrics')).body.includes('ingest_leased{ingester="markets"} 1')
  await until('the market is served', async () => (await server.get('/markets/slug/market-1')).statusCode === 200)
  await until('the metrics show the ingester', isLeased)
  control.exit()
  entries.push(entry(2))
  await until('readiness fails', async () => (await server.get('/readyz')).body.includes('stopped by an error'))
  await until('the thread starts again', () => control.starts() === 2)
  await until('the other market is served', async () => (await server.get('/markets/slug/market-2')).statusCode === 200)
  assert.equal((await server.get('/markets/slug/market-1')).statusCode, 200)
  await until('readiness recovers', async () =>
    (await server.get('/readyz')).body.includes('"ingest thread","ok":true'),
  )
  await until('the metrics show it again', isLeased)
  const ended = server.lines.filter((line) => line.includes('ingest thread ended; restarting it'))
  assert.equal(ended.length, 1)
  assert.match(ended[0] ?? '', /the thread ended with code 1/)
})

async function openChain() {
  const chain = new SimulatedChain({ seed: 'ingest thread', finalLag: 10 })
  chain.mine(60)
  const node = new FaultyNode(chain, { traces: ['trace_block'], filterBlocks: 1000 })
  const chains = [{ id: '1', name: 'Simulated', mode: 'probe', rpc: [{ url: await node.listen() }] }]
  const accounts = chain.addresses().filter((address) => {
    const funding = firstFunding(chain, address)
    return funding && funding.block <= chain.final && chain.accountAt(address, chain.head.number).nonce > 0n
  })
  return {
    ...{ node, sources: { explorer: { chains } } },
    /** Each request has its own key, because a key may send two in a second. */
    requestsTo: (server: Awaited<ReturnType<typeof openServer>>) =>
      accounts.map((address) => async () => {
        const key = await server.createAdmin('explorer')
        const path = `/v2/api?chainid=1&module=account&action=fundedby&apikey=${key}&address=${address}`
        const { headers, body } = await server.get(path)
        return { headers, body, isFound: body.includes('"fundingAddress"') }
      }),
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  }
}

test('a funding that a request finds is stored by the thread, and read by the next request', async () => {
  await using chain = await openChain()
  await using server = await openServer(chain.sources)
  const { ingest } = server.server.context
  const write = mock.method(ingest, 'write')
  for (const ask of chain.requestsTo(server).slice(0, 3)) {
    const found = await ask()
    assert.ok(found.isFound, found.body)
    const callsBefore = chain.node.calls
    assert.equal((await ask()).body, found.body)
    assert.equal(chain.node.calls, callsBefore)
  }
  assert.equal(write.mock.callCount(), 0, 'requests do not write the file of the ingesters')
})

test('if the thread dies before it stores a funding, the request fails, and the next one stores it', async () => {
  await using chain = await openChain()
  using control = openThreadSwitch()
  await using server = await openServer(chain.sources)
  using _ = { [Symbol.dispose]: control.go }
  const [askFirst, ask] = chain.requestsTo(server)
  assert.ok(askFirst && ask)
  assert.ok((await askFirst()).isFound)
  control.blockInTransaction()
  const failed = ask()
  await until('the thread stands still', control.isBlocked)
  control.exit()
  const { headers, body } = await failed
  assert.match(body, /The database cannot be read or written/)
  assert.equal(headers['retry-after'], '1')
  assert.ok(server.lines.some((line) => line.includes('the ingest thread has not stored what a search found')))
  await until('the next request finds it', async () => (await ask()).isFound)
  const callsBefore = chain.node.calls
  assert.ok((await ask()).isFound)
  assert.equal(chain.node.calls, callsBefore)
})

test('a server stops in the middle of a pass, and the next one continues', async () => {
  const entries = Array.from({ length: 60 }, (_, at) => entry(at + 1))
  await using feed = await startMarketFeed({ entries: () => entries })
  const sources = feedOf(feed.url)
  const server = await openServer(sources)
  const isBegun = async () => (await server.get('/markets/slug/market-1')).statusCode === 200
  await until('a page is stored', isBegun)
  await server.close()
  assert.equal(server.lines.filter((line) => /"level":(50|60)/.test(line)).join('\n'), '')
  assert.match(server.lines.at(-1) ?? '', /stopped/)
  const again = await openServer(sources)
  await until('all are stored', async () => (await again.get('/markets/slug/market-60')).statusCode === 200)
  await again.close()
})

test('commands and requests see the status and the provisional epochs of the thread', async () => {
  const size = { slotsPerEpoch: 4, epochs: 16, validators: 24, committeesPerSlot: 1, syncSeats: 8, calmEpochs: 2 }
  const calm = { missed: 0, orphaned: 0, slashing: 0, outage: { from: 0, until: 0 }, hasExecution: false }
  const network = new MovingHead(simulateNetwork('ingest thread', { ...calm, ...size }), { headSlot: 40, branches: [] })
  await using node = await openNodeOfRun(network)
  const beacon = { urls: [node.url], fromEpoch: 0, everyMs: 500, acceptAnyChain: true }
  const hoodi = { epochsPerHour: 2, epochsPerDay: 4, showProvisional: true, beacon }
  await using server = await openServer({ validators: { networks: { hoodi } } })
  const { validators, streams } = server.server.context
  await until('provisional epochs arrive', () => (validators.provisional.get('hoodi')?.epochs.length ?? 0) > 0)
  assert.equal(validators.runs.size, 0, 'the network is read by another thread')
  await until('epochs are stored', () => (validators.ingestStatuses.get('hoodi')?.until ?? 0) > 0)
  assert.ok(streams.stepMs.has('network hoodi'))
  const explained = await server.get('/v1/eth/validators/1/effectiveness?limit=1', { 'x-validator-network': 'hoodi' })
  assert.equal(explained.statusCode, 200)
  const control = async <T>(name: string, input: object) =>
    (await callControl(server.dataDir, name, { network: 'hoodi', ...input }))?.result as T
  const status = await control<{ network: string }>('ingestStatus', { pollNow: true })
  assert.equal(status.network, 'hoodi')
  const epochs = { from: 0, until: 2 }
  const { id } = await control<{ id: number }>('repairEpochs', { epochs })
  const isDone = async () => (await control<{ isDone: boolean }>('repairEpochs', { id })).isDone
  await until('the repair is done', isDone)
  await assert.rejects(control('ingestStatus', { network: 'mainnet' }), /does not ingest mainnet/)
  assert.ok(server.lines.some((line) => line.includes('"network":"hoodi"') && line.includes('epochs stored')))
})

test('requests see why the index of the thread fails', async () => {
  const chains = [{ id: '1', name: 'Unreachable', mode: 'index', rpc: [{ url: 'http://127.0.0.1:1' }] }]
  await using server = await openServer({ explorer: { chains } })
  const { explorer } = server.server.context
  await until('a pass has failed', () => explorer.indexProblems.get('1')?.failed !== undefined)
  assert.match(explorer.indexProblems.get('1')?.failed?.reason ?? '', /127\.0\.0\.1:1/)
})
