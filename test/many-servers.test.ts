// Several servers on one PostgreSQL and one Redis: each ingester runs in one of them, and limits apply to all together.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { faults } from '#api/contract/faults.ts'
import { openLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { openReplay } from './beacon-replay.ts'
import { settingsWith } from './context.ts'
import { inject } from './inject.ts'
import { noPostgres, startPostgres } from './postgres.ts'
import { noRedis, type RedisServer, startRedis } from './redis.ts'
import { waitUntil } from './wait-until.ts'

interface Server extends AsyncDisposable {
  readonly running: RunningServer
  readonly lines: string[]
  /** For each ingester, whether this server runs it. */
  leases(): Promise<Record<string, boolean>>
  close(): Promise<void>
}

async function openServer(overrides: object): Promise<Server> {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-many-'))
  const lines: string[] = []
  const log = openLog('info', (line) => lines.push(line))
  const running = await startServer({
    settings: settingsWith({ server: { port: 0 }, ...overrides }),
    dataDir: dir,
    log,
  })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= running.close().then(() => rm(dir, { recursive: true, force: true }))
    return closed
  }
  return {
    running,
    lines,
    close,
    async leases() {
      const { body } = await inject(running, { url: '/metrics' })
      const leases = [...body.matchAll(/^tetrad_ingest_leased\{ingester="(\w+)"\} (\d)/gm)]
      return Object.fromEntries(leases.map(([, name = '', held]) => [name, held === '1']))
    },
    [Symbol.asyncDispose]: close,
  }
}

describe('three servers', { skip: noPostgres }, () => {
  const cleanup = new AsyncDisposableStack()
  let redis: RedisServer | undefined
  let [first, second, third]: Server[] = []
  let network: object
  before(async () => {
    const postgres = cleanup.use(await startPostgres())
    redis = noRedis ? undefined : cleanup.use(await startRedis())
    const node = cleanup.use(await openReplay())
    const hoodi = {
      epochsPerHour: 2,
      epochsPerDay: 4,
      beacon: { urls: [node.url], acceptAnyChain: true, everyMs: 5000 },
    }
    network = { server: { port: 0, publicUrl: 'http://tetrad.test' }, validators: { networks: { hoodi } } }
    const store = { state: await postgres.schema() }
    const overrides = { ...network, store, limits: redis?.url ?? '', retention: { quotesDays: 30 } }
    const open = async (more: object = {}) => cleanup.use(await openServer({ ...overrides, ...more }))
    first = await open()
    await waitUntil(async () => {
      const { retention, beacon } = (await first?.leases()) ?? {}
      return retention === true && beacon === true
    })
    second = await open()
    third = await open({ ingest: { enabled: false } })
  })
  after(() => cleanup.disposeAsync())

  test('all return what one of them reads, byte for byte like an embedded server', async () => {
    assert(first && second && third)
    const isRead = async ({ running }: Server) =>
      (await coveredEpochs(running.context.duties, 'hoodi')).at(-1)?.until === 13
    await using alone = await openServer(network)
    for (const server of [first, second, third, alone]) await waitUntil(() => isRead(server))
    const responsesOf = async ({ running }: Server) => {
      const { state, clock, random } = running.context
      const { key } = await createKey(state, { name: 'test', plan: 'enterprise' }, clock, random)
      const headers = { authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' }
      const paths = [
        '/v0/eth/validators/effectiveness?indices=1,2,3,4&size=50&groupBy=validator',
        '/v1/eth/validators/1/effectiveness?limit=50&granularity=hour',
        '/v1/eth/validators/1/explain',
        '/v0/eth/validators/2',
      ]
      const responses = await Promise.all(paths.map((url) => inject(running, { url, headers })))
      return responses.map(({ statusCode, body }) => `${statusCode} ${body}`)
    }
    const expected = await responsesOf(alone)
    assert.ok(
      expected.every((response) => response.startsWith('200 ')),
      String(expected),
    )
    for (const server of [first, second, third]) assert.deepEqual(await responsesOf(server), expected)
  })

  test('one ingests, all serve; the rate limit of 4.3 is shared', { skip: noRedis }, async () => {
    assert(first && second && third && redis)
    const standby = second
    assert.deepEqual(await third.leases(), {})
    assert.equal((await standby.leases()).retention, false)
    assert.equal((await first.leases()).beacon, true)

    const { context } = first.running
    const { key } = await createKey(context.state, { name: 'test', plan: 'standard' }, context.clock, context.random)
    const url = `/v2/api?module=account&action=fundedby&chainid=1&address=0x${'1'.repeat(40)}&apikey=${key}`
    const call = async ({ running }: Server) => {
      const { statusCode, body } = await inject(running, { url })
      assert.ok(statusCode < 500, body)
      if (body.includes(faults['limit.unavailable'].message)) return 'unavailable'
      return body.includes('Max calls per sec rate limit reached (2/sec)') ? 'refused' : 'passed'
    }
    const startMs = performance.now()
    const leader = first
    await waitUntil(async () => (await call(leader)) === 'passed')
    const servers = [first, second, third]
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => servers.map(call)).flat())
    const seconds = Math.ceil((performance.now() - startMs) / 1000)
    const passed = 1 + outcomes.filter((outcome) => outcome === 'passed').length
    assert.ok(passed <= 2 * seconds, `${passed} in ${seconds} s`)

    await redis.kill()
    assert.equal(await call(standby), 'unavailable')
    await waitUntil(async () => /^tetrad_limits_shared 0/m.test((await inject(standby.running, '/metrics')).body))
    await redis.start()
    await waitUntil(async () => (await call(standby)) === 'passed')

    await first.close()
    await waitUntil(async () => (await standby.leases()).retention === true)
    assert.deepEqual(await third.leases(), {})
  })
})
