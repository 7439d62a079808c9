// The facts on a cluster of two shards with two replicas each, while replicas die and come back. Real servers, real ZooKeeper.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '#core/fault.ts'
import { type ClickhouseCluster, type ClickhouseNode, noCluster, startCluster } from '#test/clickhouse.ts'
import { onlyInLongRun } from '#test/long.ts'
import { cover, coverageOf } from '../coverage.ts'
import { someSums, sums } from '../facts.suite.ts'
import type { Facts, FactsMigration } from '../facts.ts'
import { migration as coverageMigration } from '../migrations/facts-0002-coverage.ts'
import { openClickhouse, usualOptions } from './clickhouse.ts'

const [table] = sums.tables ?? []
assert(table)
const additive: FactsMigration = { ...sums, tables: [{ ...table, sums: ['reward'] }] }
const migrations = [additive, coverageMigration]
const options = { ...usualOptions, sweepEveryMs: 0, unseenMs: 0, quorumMs: 1500 }
const never = new AbortController().signal
const validators = 40

describe('ClickHouse, two shards with two replicas each', { skip: noCluster || onlyInLongRun }, () => {
  let cluster: ClickhouseCluster
  before(async () => {
    cluster = await startCluster()
  })
  after(() => cluster?.[Symbol.asyncDispose]())

  test('replicas die and come back while one writes and one reads: reads go on, nothing is lost or doubled', async () => {
    const url = await cluster.database()
    const [writer, reader] = [await openClickhouse(url, migrations, options), await openClickhouse(url, migrations)]
    let [failed, stop] = [0, false]
    const reading = (async () => {
      for (let seen = 0, reads = 0; ; reads += 1) {
        const [row] = await reader.query<{ n: number; hours: number; r: number }>(
          'select count(*) as n, count(distinct hour) as hours, sum(reward) as r from sums',
        )
        const { n = 0, hours = 0, r = 0 } = row ?? {}
        // Whole hours alone, the first ones, and never fewer than before: Σ who × 10 over all, and each hour's number for each.
        assert.equal(n, hours * validators)
        assert.equal(r, hours * 5 * validators * (validators - 1) + (validators * hours * (hours - 1)) / 2)
        assert(hours >= seen)
        seen = hours
        if (stop) return reads
        await sleep(20)
      }
    })()
    reading.catch(() => {})
    const write = async (until: number) => {
      for (let hour = (await coverageOf(writer, 'hours')).at(-1)?.until ?? 0; hour < until; ) {
        try {
          await put(writer, hour)
        } catch (error) {
          assert(error instanceof Fault && error.code === 'store.unavailable', String(error))
          failed += 1
          assert(failed < 200)
          await sleep(100)
        }
        // What was committed is told by the store alone.
        hour = (await coverageOf(writer, 'hours')).at(-1)?.until ?? 0
      }
    }
    await write(3)
    for (const [at, until] of [
      [0, 6],
      [3, 9],
    ] as const) {
      const node = cluster.nodes[at] as ClickhouseNode
      const [under] = [write(until), await sleep(50)]
      await node.kill()
      await sleep(2500)
      await node.start()
      await under
    }
    await write(10)
    stop = true
    assert((await reading) > 20)
    assert(failed > 0, 'no write has met a dead replica')
    assert.deepEqual(await coverageOf(reader, 'hours'), [{ from: 0, until: 10 }])
    assert.deepEqual(await reader.query('select count(*) as n from sums'), [{ n: 10 * validators }])
    await Promise.all([writer.close(), reader.close()])
  })

  test('every shard has its own validators, every replica the same; tidying holds for all of them', async () => {
    const url = await cluster.database()
    const facts = await openClickhouse(url, migrations, options)
    const database = /\/(\w+)\?/.exec(url)?.[1]
    for (let part = 0; part < 3; part += 1)
      await facts.write(async (tx) => {
        await tx.append('sums', someSums(validators, 25))
        await cover(tx, 'hours', part, part + 1)
      })
    const ask = () => facts.query('select who, hour, sum(reward) as r from sums group by who, hour order by who, hour')
    const one = () =>
      facts.query('select sum(reward) as r from sums where who in (select id from {who})', [], { who: [7, 8] })
    const [before, few] = [await ask(), await one()]
    assert.equal(before.length, validators * 25)
    await facts.tidy(never)
    await facts.tidy(never)
    assert.deepEqual([await ask(), await one()], [before, few])
    // The first day is over and added up, the second has its three parts; half of the validators on each shard.
    const rows = (validators * (24 + 3)) / 2
    for (const [at, node] of cluster.nodes.entries()) {
      const lying = () => node.sql(`select count(), sum(who % 2) from ${database}.sums_rows`)
      const expected = `${rows}\t${at < 2 ? 0 : rows}`
      const untilMs = Date.now() + 20_000
      while ((await lying()) !== expected) assert(Date.now() < untilMs, `${await lying()}, not ${expected}`)
      assert.equal(await node.sql(`select count() from ${database}.coverage`), '1')
    }
    await facts.close()
  })
})

/** An hour of every validator, unless it is there. */
async function put(facts: Facts, hour: number): Promise<void> {
  await facts.write(async (tx) => {
    const covered = (await coverageOf(tx, 'hours')).at(-1)?.until ?? 0
    if (covered > hour) return
    const rows = someSums(validators, 1)
    await tx.append('sums', {
      ...rows,
      hour: new Array(validators).fill(hour),
      reward: Array.from({ length: validators }, (_, who) => who * 10 + hour),
    })
    await cover(tx, 'hours', hour, hour + 1)
  })
}
