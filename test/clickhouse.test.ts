// The private ClickHouse servers that other tests run on are what those tests take them for.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { guarded, noClickhouse, noCluster, startClickhouse, startCluster } from './clickhouse.ts'
import { onlyInLongRun } from './long.ts'

const ask = (address: string, statement: string) => {
  const { hostname, port, username, password } = new URL(address.replace('clickhouse:', 'http:'))
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return fetch(`http://${hostname}:${port}/`, {
    method: 'POST',
    body: statement,
    headers: { authorization: `Basic ${login}` },
  })
}

describe('one server', { skip: noClickhouse }, () => {
  test('it is empty, keeps its rows through a crash, and asks for the password of who has one', async () => {
    await using server = await startClickhouse()
    const database = new URL(await server.database()).pathname.slice(1)
    assert.notEqual(database, new URL(await server.database()).pathname.slice(1))
    await server.sql(`create table ${database}.t (n UInt64) engine = MergeTree order by n`)
    await server.sql(`insert into ${database}.t values (7)`)
    await server.kill()
    await assert.rejects(server.sql('select 1'))
    await server.start()
    assert.equal(await server.sql(`select n from ${database}.t`), '7')

    const wrong = server.asGuarded(server.url).replace(encodeURIComponent(guarded.password), 'guess')
    assert.equal((await ask(wrong, 'select 1')).ok, false)
    assert.equal(await (await ask(server.asGuarded(server.url), 'select 1')).text(), '1\n')
  })
})

describe('a cluster', { skip: noCluster || onlyInLongRun }, () => {
  test('rows are on one shard, twice, and a replica that was away gets what it missed', async () => {
    await using cluster = await startCluster()
    const database = /\/(t\d+_\d+)\?cluster=tetrad$/.exec(await cluster.database())?.[1]
    const [first, second, third] = cluster.nodes
    assert.ok(first && second && third && database)
    const engine = `ReplicatedMergeTree('/t/${database}/{shard}/t', '{replica}')`
    await first.sql(`create table ${database}.t on cluster tetrad (n UInt64) engine = ${engine} order by n`)
    await third.sql(`create table ${database}.all as ${database}.t engine = Distributed(tetrad, ${database}, t)`)
    await second.kill()
    await first.sql(`insert into ${database}.t select number * 2 from numbers(50)`)
    await third.sql(`insert into ${database}.t select number * 2 + 1 from numbers(50)`)
    await second.start()
    for (const node of [first, second, third]) await node.sql(`system sync replica ${database}.t`)
    assert.equal(await third.sql(`select count() from ${database}.all`), '100')
    assert.equal(await first.sql(`select count(), sum(n % 2) from ${database}.t`), '50\t0')
    assert.equal(await second.sql(`select count(), sum(n % 2) from ${database}.t`), '50\t0')
    assert.equal(await third.sql(`select count(), sum(n % 2) from ${database}.t`), '50\t50')
  })
})
