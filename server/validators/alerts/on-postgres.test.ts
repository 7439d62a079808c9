// Alerts on PostgreSQL: the same events as on SQLite, and one sender among several servers.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type Log, silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { epochEndMs, openAlertsTest, testWebhook } from '#test/alerts-network.ts'
import { noPostgres, openMigratedDatabase, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { serveScript } from '#test/scripted-server.ts'
import { passOnPostgres } from '#test/tests-on-postgres.ts'

describe('alerts on PostgreSQL', { skip: noPostgres }, () => {
  let postgres: PostgresServer
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres[Symbol.asyncDispose]())

  test('the tests of finding and sending events pass', async () => {
    const covered = /one by one|a body names|below the minimum|too old/
    await passOnPostgres(postgres.url, ['validators/alerts/examine-epochs', 'validators/alerts/send'], covered)
  })

  test('of two servers, only the one that holds the lease examines epochs and sends events', async () => {
    await using receiver = await serveScript({ status: 200 })
    await using at = await openAlertsTest({ webhooks: [testWebhook({ url: receiver.url })] })
    await at.store(10)
    await using database = await openMigratedDatabase(postgres.url)
    await using cleanup = new AsyncDisposableStack()
    const { server, store, ...others } = at.context.settings
    const settings = { ...others, server: { ...server, port: 0 }, store: { ...store, state: database.url } }
    const [delivered, complete] = [[] as string[], Promise.withResolvers<void>()]
    const eventCount = 7
    const start = async (name: string) => {
      const info = (_: object, message: string) => {
        if (message === 'webhook delivered' && delivered.push(name) === eventCount) complete.resolve()
      }
      const log: Log = { ...silentLog, debug() {}, info, warn() {}, error() {}, child: () => log }
      const dataDir = await mkdtemp(join(tmpdir(), 'tetrad-alerts-'))
      cleanup.defer(() => rm(dataDir, { recursive: true, force: true }))
      const clock = { ...systemClock, now: () => epochEndMs(12) }
      const running = await startServer({ settings, dataDir, log, clock })
      cleanup.defer(() => running.close())
      return running
    }
    const servers = [await start('one'), await start('two')]
    await complete.promise
    assert.equal(new Set(delivered).size, 1, 'one server sends')
    assert.equal(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, eventCount)
    assert.equal(receiver.requests.length, eventCount)
    const pages = await Promise.all(servers.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()))
    const examining = pages.map((page) => /^tetrad_watched_examined_epoch\{network="hoodi"\} 9$/m.test(page))
    const leased = pages.map((page) => page.includes('tetrad_ingest_leased{ingester="beacon"} 1'))
    assert.deepEqual(examining, leased)
    assert.equal(leased.filter(Boolean).length, 1)
  })
})
