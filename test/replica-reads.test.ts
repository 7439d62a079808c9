// Label lists and ratings from a standby of PostgreSQL that keeps up, and from the primary if it does not.
import { strict as assert } from 'node:assert'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { getFinishedList, threadEntriesMin } from '#explorer/labels/lists/finished-lists.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { createContext } from '#server/context.ts'
import { openStores } from '#storage/open.ts'
import { dutiesOnThreads } from '#validators/duties/store.ts'
import { BreakingProxy } from './breaking-proxy.ts'
import { seededRandom, settingsWith, type TestContext, testNowMs } from './context.ts'
import { readEarnings, shortDays, writeEarnings } from './earnings-of-validator.ts'
import { ManualClock } from './manual-clock.ts'
import { noPostgres, startPostgres } from './postgres.ts'
import { ownFolder } from './programs.ts'

const attemptsMax = 500

test('4.1, 4.2, 4.5 and 4.6 read from a replica that keeps up, never older data than the server has noticed', {
  skip: noPostgres,
}, async () => {
  await using server = await startPostgres()
  await using standby = await server.standby()
  await using proxy = new BreakingProxy(standby.port)
  const url = await server.schema()
  const replicaUrl = url.replace(`:${server.port}/`, `:${await proxy.listen()}/`)
  const store = { state: url, stateReplicas: [replicaUrl], stateConnections: 2 }
  const settings = settingsWith({ store, validators: shortDays })
  await using resources = new AsyncDisposableStack()
  const dir = await ownFolder('replica-reads')
  resources.defer(() => rm(dir, { recursive: true, force: true }))
  const stores = resources.adopt(await openStores(dir, store), (opened) => opened.close())
  const duties = dutiesOnThreads(stores.duties, { dir, options: store }, 1)
  resources.defer(() => duties.close())
  const clock = new ManualClock(testNowMs)
  const parts = { ...stores, duties, settings, clock, random: seededRandom('replicas'), log: silentLog }
  const context = { ...createContext(parts), clock, dir } as TestContext
  const listThreadStore = { dir, options: store }

  let sent = ''
  proxy.onQuestion = (text) => {
    sent += text
  }
  /** Whether rows of a table were read from the standby. A connection sends the text of a statement once or twice. */
  const replicaReads = async (table: string, ask: () => Promise<unknown>): Promise<boolean> => {
    sent = ''
    proxy.breakAll()
    await ask()
    return sent.includes(`from ${table} `)
  }
  const waitUntilReplicaReads = async (table: string, ask: () => Promise<unknown>) => {
    for (let attempt = 0; !(await replicaReads(table, ask)); attempt++) {
      assert.ok(attempt < attemptsMax, `the replica did not read ${table}`)
      await systemClock.sleep(20)
    }
  }

  const put = (from: number, until: number) =>
    context.state.write(
      (tx) =>
        putLabels(
          new HistoryWriter(tx, { by: 'test', via: 'test', atMs: testNowMs }),
          Array.from({ length: until - from }, (_, at) => ({ chain: '1', slug: `entity-${from + at}` })),
        ),
      { lock: 'labels' },
    )
  /** Without cached lists. */
  const entries = async () => {
    const explorer = { ...context.explorer, lists: new Map(), listThreadStore }
    const list = await getFinishedList({ ...context, explorer }, '1', 'json')
    return JSON.parse(Buffer.from(list?.file.plain.bytes ?? []).toString()).length as number
  }
  const earnings = () => readEarnings(context)

  await put(0, 10)
  await writeEarnings(context, 0, 8, 1)
  await waitUntilReplicaReads('labels', entries)
  assert.equal(await entries(), 10)
  await waitUntilReplicaReads('duty_days', earnings)
  assert.deepEqual(await earnings(), [8, 7])

  await standby.sql('select pg_wal_replay_pause()')
  await put(10, 20)
  const before = duties.version()
  await writeEarnings(context, 8, 12, 1)
  assert.equal(await replicaReads('labels', async () => assert.equal(await entries(), 20)), false)
  for (let attempt = 0; duties.version() === before; attempt++) {
    assert.ok(attempt < attemptsMax, 'the version of the duties has not changed')
    await systemClock.sleep(20)
  }
  assert.deepEqual(await earnings(), [12, 11])

  await standby.sql('select pg_wal_replay_resume()')
  await put(20, threadEntriesMin + 1)
  await waitUntilReplicaReads('labels', async () => assert.equal(await entries(), threadEntriesMin + 1))
  await waitUntilReplicaReads('duty_days', async () => assert.deepEqual(await earnings(), [12, 11]))
})
