// Two servers on one PostgreSQL and one Redis (test/whole-system-cluster.ts).
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { killIdleHosts } from './host-process.ts'
import { onlyInLongRun, seedsOf } from './long.ts'
import { noPostgres } from './postgres.ts'
import { noRedis } from './redis.ts'
import { drawClusterEvents, runCluster } from './whole-system-cluster.ts'

const seedsCount = 20

after(killIdleHosts)

test('after days of faults, two servers have every acknowledged write and the data of a clean one', {
  skip: onlyInLongRun || noPostgres || noRedis,
}, async () => {
  for (const seed of seedsOf(seedsCount)) assert.equal(await runCluster(seed), undefined, `seed ${seed}`)
})

test('the events of a seed are always the same', () => {
  assert.deepEqual(drawClusterEvents(7), drawClusterEvents(7))
  assert.notDeepEqual(drawClusterEvents(7), drawClusterEvents(8))
})
