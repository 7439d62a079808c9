// Alerts on PostgreSQL: the same events as on SQLite, and one sender among several servers.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type Log, silentLog } from '#runtime/log.ts'
import { startServer } from '#server/app.ts'
import { openState } from '#storage/open.ts'
import { epochEndMs, openAlertsTest, testWebhook } from '#test/alerts-network.ts'
import { noPostgres, openMigratedDatabase, type PostgresServer, startPostgres } from '#test/postgres.ts'
import { serveScript } from '#test/scripted-server.ts'
import { passOnPostgres } from '#test/tests-on-postgres.ts'
import type { DeliveryBody } from './delivery-body.ts'
import { readHeadAlerts, writeHeadAlerts } from './head-alerts.ts'

async function openDataDir() {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-alerts-'))
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) }
}

describe('alerts on PostgreSQL', { skip: noPostgres }, () => {
  let postgres: PostgresServer
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres[Symbol.asyncDispose]())

  test('the tests of sending events pass', async () => {
    await passOnPostgres(postgres.url, ['webhooks/send'])
  })

  test('of two servers, only the one that holds the lease examines epochs and sends events, each of them once', async () => {
    await using receiver = await serveScript({ status: 200 })
    await using at = await openAlertsTest({ webhooks: [testWebhook({ url: receiver.url })] })
    at.finalize(10)
    await using database = await openMigratedDatabase(postgres.url)
    await using cleanup = new AsyncDisposableStack()
    const { server, store, ...others } = at.context.settings
    const settings = { ...others, server: { ...server, port: 0 }, store: { ...store, state: database.url } }
    const headAlert = { webhook: 'ops', event: 'block_missed', epoch: 6, validator: 50, slot: 50 } as const
    await using folder = await openDataDir()
    const state = await openState(folder.dir, settings.store)
    await state.write((tx) => writeHeadAlerts(tx, 'hoodi', [headAlert]))
    const [delivered, complete] = [[] as string[], Promise.withResolvers<void>()]
    const expected = [
      ...['4 attestations_missed', '4 block_missed', '5 balance_decreased', '5 slashed', '6 recovered', '6 withdrawn'],
      ...['7 recovered', 'exit'],
    ]
    const start = async (name: string) => {
      const info = (_: object, message: string) => {
        if (message === 'webhook delivered' && delivered.push(name) === expected.length) complete.resolve()
      }
      const log: Log = { ...silentLog, debug() {}, info, warn() {}, error() {}, child: () => log }
      const { dir: dataDir } = cleanup.use(await openDataDir())
      const clock = { ...systemClock, now: () => epochEndMs(12) }
      const running = await startServer({ settings, dataDir, log, clock })
      cleanup.defer(() => running.close())
      return running
    }
    const servers = [await start('one'), await start('two')]
    await complete.promise
    assert.equal(new Set(delivered).size, 1, 'one server sends')
    assert.equal(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, expected.length)
    const events = receiver.requests
      .map(({ body }) => JSON.parse(body) as DeliveryBody)
      // An exit is found in the last of the epochs that were examined together.
      .map(({ epoch, event }) => (event === 'exit' ? event : `${epoch} ${event}`))
    assert.deepEqual(events.sort(), expected)
    assert.deepEqual(await readHeadAlerts(state, 'hoodi'), [])
    await state.close()
    const readPages = () => Promise.all(servers.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()))
    const hasExamined = (page: string) => /^tetrad_watched_examined_epoch\{network="hoodi"\} 9$/m.test(page)
    let pages = await readPages()
    // Events of earlier epochs may be sent before the last epoch is examined. Metrics are up to a second old.
    for (let tries = 0; tries < 120 && !pages.some(hasExamined); tries++) {
      await systemClock.sleep(500)
      pages = await readPages()
    }
    const examining = pages.map(hasExamined)
    const leased = pages.map((page) => page.includes('tetrad_ingest_leased{ingester="beacon"} 1'))
    assert.deepEqual(examining, leased)
    assert.equal(leased.filter(Boolean).length, 1)
  })
})
