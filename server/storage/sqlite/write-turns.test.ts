import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSqlite } from '#test/open-database.ts'
import { createWaitingCount, takeTurn } from './write-turns.ts'

test('a write of a request begins before the waiting writes of ingest', async () => {
  await using cleanup = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-turns-'))
  cleanup.defer(() => rm(dir, { recursive: true, force: true }))
  const waiting = createWaitingCount()
  const open = async (isIngest: boolean) => {
    const options = { busyWaitMs: 5000, turns: { waiting, isIngest } }
    return cleanup.adopt(await openSqlite(join(dir, 'state.sqlite'), [], options), (state) => state.close())
  }
  const [requests, ingest] = [await open(false), await open(true)]
  const order: string[] = []
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const first = ingest.write(async () => {
    begun.resolve()
    await end.promise
    order.push('ingest 1')
  })
  await begun.promise
  const more = [2, 3, 4].map((number) => ingest.write(async () => void order.push(`ingest ${number}`)))
  const ofRequest = requests.write(async () => void order.push('request'))
  end.resolve()
  await Promise.all([first, ofRequest, ...more])
  assert.deepEqual(order, ['ingest 1', 'request', 'ingest 2', 'ingest 3', 'ingest 4'])
  assert.equal(Atomics.load(waiting, 0), 0)
})

test('2: a write of ingest does not wait for ever', async () => {
  const waiting = createWaitingCount()
  Atomics.store(waiting, 0, 1)
  let begins = 0
  await takeTurn({ waiting, isIngest: true }, async () => {
    begins += 1
  })
  assert.equal(begins, 1)
})

test('a write of a request that cannot begin no longer counts as waiting', async () => {
  const waiting = createWaitingCount()
  const busy = new Error('busy')
  await assert.rejects(
    takeTurn({ waiting, isIngest: false }, () => Promise.reject(busy)),
    busy,
  )
  assert.equal(Atomics.load(waiting, 0), 0)
})
