import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { cacheUntilVersionChanges } from './version-cache.ts'

test('a key is read once per version, and concurrent callers share the read', async () => {
  let version = 1
  let reads = 0
  const database = { version: () => version }
  const cache = cacheUntilVersionChanges<number>()
  const read = async () => ++reads
  assert.deepEqual(await Promise.all([cache(database, 'a', read), cache(database, 'a', read)]), [1, 1])
  assert.equal(await cache(database, 'b', read), 2)
  assert.equal(await cache(database, 'a', read), 1)
  version = 2
  assert.equal(await cache(database, 'a', read), 3)
  assert.equal(await cache(database, 'b', read), 4)
})

test('a read is not cached if a commit happened meanwhile', async () => {
  let version = 1
  const database = { version: () => version }
  const cache = cacheUntilVersionChanges<string>()
  const { promise, resolve } = Promise.withResolvers<string>()
  const before = cache(database, 'a', () => promise)
  version = 2
  const after = cache(database, 'a', async () => 'new')
  resolve('old')
  assert.deepEqual(await Promise.all([before, after]), ['old', 'new'])
  assert.equal(await cache(database, 'a', assert.fail), 'new')
})

test('failed reads are not cached', async () => {
  const database = { version: () => 1 }
  const cache = cacheUntilVersionChanges<number>()
  await assert.rejects(async () => cache(database, 'a', () => Promise.reject(new Error('not now'))), /not now/)
  assert.equal(await cache(database, 'a', async () => 7), 7)
})

test('a cached value is returned without a promise, also if it is undefined', async () => {
  const database = { version: () => 1 }
  const cache = cacheUntilVersionChanges<number | undefined>()
  await cache(database, 'a', async () => 7)
  await cache(database, 'b', async () => undefined)
  assert.equal(cache(database, 'a', assert.fail), 7)
  assert.equal(cache(database, 'b', assert.fail), undefined)
})

test('if the read ended with the request that started it, who waits for it reads again', async () => {
  const database = { version: () => 1 }
  const cache = cacheUntilVersionChanges<number>()
  const { promise, reject } = Promise.withResolvers<number>()
  const started = cache(database, 'a', () => promise)
  const waiting = cache(database, 'a', async () => 7)
  reject(new Fault('server.timeout'))
  await assert.rejects(async () => started, { code: 'server.timeout' })
  assert.equal(await waiting, 7)
})
