// What a shared engine must survive: processes that die, answers that do not come, writers that meet. On a real server.
import { strict as assert } from 'node:assert'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { type ClickhouseServer, guarded, noClickhouse, startClickhouse } from '#test/clickhouse.ts'
import { onlyInLongRun } from '#test/long.ts'
import { startProcess } from '#test/second-process.ts'
import { cover, coverageOf } from '../coverage.ts'
import { someSums, sums } from '../facts.suite.ts'
import type { Facts, FactsMigration, FactsReader } from '../facts.ts'
import { migration as coverageMigration } from '../migrations/facts-0002-coverage.ts'
import { openClickhouse, usualOptions } from './clickhouse.ts'

const [table] = sums.tables ?? []
assert(table)
/** Rows of one validator and hour may come in parts. */
const additive: FactsMigration = { ...sums, tables: [{ ...table, sums: ['reward'] }] }
const migrations = [additive, coverageMigration]
const atOnce = { ...usualOptions, sweepEveryMs: 0, unseenMs: 0 }
const never = new AbortController().signal

const unavailable = (words: RegExp) => (error: unknown) =>
  error instanceof Fault && error.code === 'store.unavailable' && words.test(error.message)

const countOf = async (facts: Facts): Promise<number> =>
  (await facts.query<{ n: number }>('select count(*) as n from sums'))[0]?.n ?? -1

describe('ClickHouse, one server', { skip: noClickhouse || onlyInLongRun }, () => {
  let server: ClickhouseServer
  before(async () => {
    server = await startClickhouse()
  })
  after(() => server?.[Symbol.asyncDispose]())

  const databaseOf = (url: string): string => /\/(\w+)$/.exec(url)?.[1] ?? ''
  /** Rows that lie there, whether or not they count. */
  const lying = async (url: string, name: string) =>
    Number(await server.sql(`select count() from ${databaseOf(url)}.${name}`))

  /** Removing rows is a matter of the server's own time. */
  async function settled(url: string): Promise<void> {
    const sql = `select count() from system.mutations where database = '${databaseOf(url)}' and is_done = 0`
    const untilMs = Date.now() + 20_000
    while (Number(await server.sql(sql)) > 0) assert(Date.now() < untilMs, 'rows are still being removed')
  }

  test('a process that is killed between its rows and its commit leaves nothing that counts, and the rest is swept', async () => {
    const url = await server.database()
    const facts = await openClickhouse(url, migrations)
    await facts.write((tx) => tx.append('sums', someSums(10, 10)))
    await using other = startProcess(
      `const { openClickhouse } = await load('server/store/engines/clickhouse.ts')
       const { cover } = await load('server/store/coverage.ts')
       const { migration } = await load('server/store/migrations/facts-0002-coverage.ts')
       const { sums, someSums } = await load('server/store/facts.suite.ts')
       const facts = await openClickhouse(${JSON.stringify(url)}, [sums, migration])
       await facts.write(async (tx) => {
         await tx.append('sums', someSums(30, 30))
         await cover(tx, 'epochs', 0, 30)
         console.log('rows are there')
         await new Promise(() => setInterval(() => {}, 1000))
       })`,
    )
    assert.equal(await other.line(), 'rows are there')
    await other.kill()
    assert.equal(await lying(url, 'sums'), 1000)
    assert.equal(await countOf(facts), 100)
    await facts.close()
    const again = await openClickhouse(url, migrations, atOnce)
    assert.equal(await countOf(again), 100)
    assert.deepEqual(await coverageOf(again, 'epochs'), [])
    await again.tidy(never)
    await settled(url)
    assert.equal(await lying(url, 'sums'), 100)
    assert.equal(await lying(url, 'coverage'), 0)
    assert.equal(await countOf(again), 100)
    await again.close()
  })

  test('a commit whose answer is lost has happened once; one that never arrived has not happened', async () => {
    const url = await server.database()
    await using middle = await startMiddle(server.host)
    const facts = await openClickhouse(url.replace(server.host, middle.host), migrations)
    const put = (count: number) =>
      facts.write(async (tx) => {
        await tx.append('sums', someSums(count, 1))
        await cover(tx, 'epochs', 0, count)
      })
    middle.cut = { on: /insert into commits/, when: 'after' }
    await put(5)
    assert.equal(middle.cuts, 1)
    assert.equal(await countOf(facts), 5)
    middle.cut = { on: /insert into commits/, when: 'before' }
    await assert.rejects(put(7), unavailable(/cannot be reached/))
    assert.equal(await countOf(facts), 5)
    // Rows whose answer is lost: nobody knows, so the write is given up.
    middle.cut = { on: /insert into sums/, when: 'after' }
    await assert.rejects(put(7), unavailable(/cannot be reached/))
    assert.equal(await countOf(facts), 5)
    assert.deepEqual(await coverageOf(facts, 'epochs'), [{ from: 0, until: 5 }])
    // A read is simply asked again.
    middle.cut = { on: /select count/, when: 'before' }
    assert.equal(await countOf(facts), 5)
    assert.equal(middle.cuts, 4)
    await put(6)
    assert.equal(await countOf(facts), 11)
    await facts.close()
  })

  test('of two writers that meet one is overtaken, and nothing of it counts', async () => {
    const url = await server.database()
    const [sleeper, other] = [await openClickhouse(url, migrations), await openClickhouse(url, migrations)]
    const asleep = Promise.withResolvers<void>()
    const awake = Promise.withResolvers<void>()
    const slow = sleeper.write(async (tx) => {
      await tx.append('sums', someSums(3, 3))
      await cover(tx, 'epochs', 0, 3)
      asleep.resolve()
      await awake.promise
    })
    await asleep.promise
    await other.write(async (tx) => {
      await tx.append('sums', someSums(3, 3))
      await cover(tx, 'epochs', 0, 3)
    })
    awake.resolve()
    await assert.rejects(slow, unavailable(/another process wrote/))
    assert.equal(await countOf(sleeper), 9)
    await Promise.all(
      [sleeper, other].map(async (facts, number) => {
        for (let put = 0; put < 8; put += 1) {
          const from = 10 + number * 100 + put
          const write = () =>
            facts.write(async (tx) => {
              await tx.append('sums', someSums(1, 1))
              await cover(tx, `writer ${number}`, from, from + 1)
            })
          while (!(await write().then(() => true, isOvertaken)));
        }
      }),
    )
    // Nine, and eight of each, though they were in each other's way all the time.
    assert.equal(await countOf(other), 25)
    assert.deepEqual(await coverageOf(other, 'writer 0'), [{ from: 10, until: 18 }])
    assert.deepEqual(await coverageOf(other, 'writer 1'), [{ from: 110, until: 118 }])
    await Promise.all([sleeper.close(), other.close()])
  })

  const isOvertaken = (error: unknown): false => {
    assert(unavailable(/another process wrote/)(error), String(error))
    return false
  }

  test('two commits of one number: the next writer lets the younger one count, with all that the other retired', async () => {
    const url = await server.database()
    const facts = await openClickhouse(url, migrations)
    await facts.write((tx) => tx.append('sums', someSums(2, 1)))
    const before = await facts.query('select sum(reward) as r from sums')
    // As if a commit of the same moment had landed late: it replaced the rows by others.
    const name = databaseOf(url)
    await server.sql(`insert into ${name}.sums select who, hour, reward + 100, network, mined, 77 from ${name}.sums`)
    await server.sql(
      `insert into ${name}.commits select tbl, key, win, if(number = 0, batch, toUInt64(77)), toUInt8(number), seq, toUInt64(5), gen
       from ${name}.commits any left join (select 'sums' as tbl, number from system.numbers limit 1) using tbl`,
    )
    await server.sql(
      `insert into ${name}.commits select tbl, key, win, toUInt64(77), 1, seq, id, gen from ${name}.commits where id = 5`,
    )
    assert.notDeepEqual(await facts.query('select sum(reward) as r from sums'), before)
    await facts.write((tx) => cover(tx, 'epochs', 0, 1))
    assert.deepEqual(await facts.query('select sum(reward) as r from sums'), before)
    await facts.close()
  })

  const covered = (facts: Facts, count: number) =>
    facts.write(async (tx) => {
      await tx.append('sums', someSums(count, 1))
      await cover(tx, 'epochs', 0, count)
    })

  test('a commit that landed when nobody could tell counts, also after the sweep', async () => {
    const url = await server.database()
    await using middle = await startMiddle(server.host)
    const options = { ...atOnce, patienceMs: 300 }
    const facts = await openClickhouse(url.replace(server.host, middle.host), migrations, options)
    middle.cut = { on: /insert into commits/, when: 'after', stays: true }
    await assert.rejects(covered(facts, 7), unavailable(/cannot be reached/))
    middle.isDown = false
    // One that nobody knows of either, and that has not landed.
    middle.cut = { on: /insert into commits/, when: 'before' }
    await assert.rejects(covered(facts, 5), unavailable(/cannot be reached/))
    assert.equal(await lying(url, 'sums'), 12)
    await facts.tidy(never)
    await settled(url)
    assert.equal(await countOf(facts), 7)
    assert.deepEqual(await coverageOf(facts, 'epochs'), [{ from: 0, until: 7 }])
    assert.equal(await lying(url, 'sums'), 7)
    await facts.close()
  })

  for (const [loser, says] of [
    ['a void commit', true],
    ['one of two commits with one number, the one with the lower id,', false],
  ] as const) {
    test(`what ${loser} would have retired is not swept`, async () => {
      const url = await server.database()
      const facts = await openClickhouse(url, migrations, atOnce)
      await covered(facts, 5)
      await facts.write((tx) => cover(tx, 'other', 0, 5))
      const commits = `${databaseOf(url)}.commits`
      const into = `insert into ${commits} (tbl, key, win, batch, live, seq, id, gen)`
      await server.sql(
        `${into} select tbl, key, win, batch, toUInt8(0), toUInt64(2), toUInt64(5), gen from ${commits} where seq = 1`,
      )
      if (says) await server.sql(`${into} values ('', '', 0, 5, 1, 2, 5, 1)`)
      await facts.tidy(never)
      await settled(url)
      assert.equal(await countOf(facts), 5)
      assert.deepEqual(await coverageOf(facts, 'epochs'), [{ from: 0, until: 5 }])
      assert.equal(await lying(url, 'sums'), 5)
      await facts.close()
    })
  }

  test('two processes that add up at the same time count no row twice', async () => {
    const url = await server.database()
    await using middle = await startMiddle(server.host)
    const slow = await openClickhouse(url.replace(server.host, middle.host), migrations)
    const other = await openClickhouse(url, migrations)
    for (let part = 0; part < 3; part += 1) await covered(other, 4)
    await other.write((tx) => tx.append('sums', { ...someSums(1, 1), hour: [48] }))
    const sum = () => other.query('select who, hour, sum(reward) as r from sums group by who, hour order by who, hour')
    const before = await sum()
    // It knows what there is to do, and falls asleep; the other does it.
    middle.pause = { on: /is_void/, meanwhile: () => other.tidy(never) }
    await slow.tidy(never)
    assert.equal(middle.pause, undefined)
    assert.deepEqual(await sum(), before)
    assert.equal(await countOf(other), 5)
    await Promise.all([slow.close(), other.close()])
  })

  test('adding up what came in parts, and sweeping, change no answer; afterwards each row is there once', async () => {
    const url = await server.database()
    const facts = await openClickhouse(url, migrations, atOnce)
    // Three windows of a day; the last one is not over, but has more parts than are left lying.
    for (let part = 0; part < 18; part += 1) {
      await facts.write(async (tx) => {
        await tx.append('sums', someSums(4, part < 3 ? 50 : 1))
        await tx.append('sums', { ...someSums(4, 1), hour: [48, 48, 48, 48] })
        await cover(tx, 'epochs', part, part + 1)
      })
    }
    const ask = () => facts.query('select who, hour, sum(reward) as r from sums group by who, hour order by who, hour')
    const before = await ask()
    assert.equal(await countOf(facts), 3 * 200 + 15 * 4 + 18 * 4)
    await facts.tidy(never)
    assert.deepEqual(await ask(), before)
    assert.equal(await countOf(facts), 200)
    await settled(url)
    await facts.tidy(never)
    await settled(url)
    assert.deepEqual(await ask(), before)
    assert.equal(await lying(url, 'sums'), 200)
    assert.equal(await lying(url, 'coverage'), 1)
    // What is retired is forgotten: three windows and a stream are left, and of the generations the last two.
    const said = `from ${databaseOf(url)}.commits`
    assert.equal(await server.sql(`select count() ${said} where gen = (select max(gen) ${said})`), '4')
    assert.equal(await server.sql(`select count(distinct gen) ${said}`), '2')
    await facts.write((tx) => tx.append('sums', someSums(4, 1)))
    assert.equal(await countOf(facts), 204)
    await facts.close()
    const again = await openClickhouse(url, migrations)
    assert.equal(await countOf(again), 204)
    await again.close()
  })

  test('a read that begins while a commit comes in sees all of it or nothing', async () => {
    const url = await server.database()
    const [writer, reader] = [await openClickhouse(url, migrations), await openClickhouse(url, migrations)]
    await writer.write((tx) => cover(tx, 'epochs', 0, 1))
    let isOver = false
    const readers = Array.from({ length: 3 }, async () => {
      for (let last = 1; !isOver; ) {
        const ranges = await coverageOf(reader, 'epochs')
        assert.equal(ranges.length, 1)
        assert(ranges[0]?.from === 0 && ranges[0].until >= last)
        last = ranges[0].until
      }
    })
    const all = Promise.all(readers)
    all.catch(() => {})
    // Each takes the only row away and brings another.
    for (let at = 1; at < 30; at += 1) await writer.write((tx) => cover(tx, 'epochs', at, at + 1))
    isOver = true
    await all
    await Promise.all([writer.close(), reader.close()])
  })

  test('a moment stays as it was, and knows from which window on rows come in parts', async () => {
    const facts = await openClickhouse(await server.database(), migrations)
    const count = async (reader: FactsReader) =>
      (await reader.query<{ n: number }>('select count(*) as n from sums'))[0]?.n
    await facts.write((tx) => tx.append('sums', someSums(4, 50)))
    const early = await facts.now()
    await facts.write((tx) => tx.append('sums', { ...someSums(4, 1), hour: [25, 25, 25, 25] }))
    const late = await facts.now()
    await facts.tidy(never)
    const tidied = await facts.now()
    assert.deepEqual([await count(early), await count(late), await count(tidied)], [200, 204, 200])
    const key = 'mainnet'
    const from = await Promise.all([early, late, tidied].map((moment) => moment.partsFrom('sums', key)))
    assert.deepEqual(from, [Number.POSITIVE_INFINITY, 24, Number.POSITIVE_INFINITY])
    assert.equal(await late.partsFrom('sums', 'nobody'), Number.POSITIVE_INFINITY)
    await facts.close()
  })

  test('what is wrong is said with what to do, and never with the password', async () => {
    const url = server.asGuarded(await server.database())
    const cases: [string, RegExp][] = [
      [url.replace(encodeURIComponent(guarded.password), 'hunter2'), /refuses this user; check user and password/],
      [url.replace(/\/\w+$/, '/nowhere'), /has no such database; create it/],
      [`${url}?cluster=nowhere`, /has no cluster nowhere/],
      [`${url}?cluster=no where`, /must look like clickhouse:/],
      [url.replace(server.host, '127.0.0.1:9'), /cannot be reached; check that it runs/],
    ]
    for (const [address, words] of cases)
      await assert.rejects(openClickhouse(address, migrations, { ...atOnce, patienceMs: 300 }), (error) => {
        assert(unavailable(words)(error), String(error))
        assert(!/hunter2|odd@signs|odd%40signs/.test(String(error)))
        return true
      })
    const facts = await openClickhouse(url, migrations)
    await facts.write((tx) => tx.append('sums', someSums(1, 1)))
    assert.equal(await countOf(facts), 1)
    await facts.close()
  })

  test('the next host is asked when one does not answer', async () => {
    const url = await server.database()
    const facts = await openClickhouse(url.replace(server.host, `127.0.0.1:9,${server.host}`), migrations)
    await facts.write((tx) => tx.append('sums', someSums(2, 2)))
    assert.equal(await countOf(facts), 4)
    await facts.close()
  })
})

interface Cut {
  readonly on: RegExp
  readonly when: 'before' | 'after'
  /** Nobody gets through from then on. */
  readonly stays?: true
}

interface Pause {
  readonly on: RegExp
  readonly meanwhile: () => Promise<void>
}

/** Stands between client and server, and when told cuts one connection, or does something else before it lets one through. */
async function startMiddle(target: string) {
  const middle = {
    host: '',
    cut: undefined as Cut | undefined,
    pause: undefined as Pause | undefined,
    isDown: false,
    cuts: 0,
  }
  const proxy = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming)
    const { cut, pause } = middle
    const words = `${decodeURIComponent((incoming.url ?? '').replaceAll('+', ' '))} ${body.subarray(0, 4096)}`
    if (pause?.on.test(words)) {
      middle.pause = undefined
      await pause.meanwhile()
    }
    const isCut = cut?.on.test(words)
    if (isCut) {
      middle.cut = undefined
      middle.cuts += 1
    }
    if (middle.isDown || (isCut && cut?.when === 'before')) {
      incoming.socket.destroy()
      return
    }
    const options = { method: incoming.method, headers: { ...incoming.headers, connection: 'close' } }
    const onward = request(`http://${target}${incoming.url}`, options, async (answer) => {
      const answered = await buffer(answer)
      if (isCut) {
        middle.isDown = cut?.stays === true
        incoming.socket.destroy()
        return
      }
      outgoing.writeHead(answer.statusCode ?? 500, { 'content-length': answered.length })
      outgoing.end(answered)
    })
    onward.on('error', () => incoming.socket.destroy())
    delete (options.headers as Record<string, unknown>)['transfer-encoding']
    onward.end(body)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  middle.host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return Object.assign(middle, {
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections()
      proxy.close()
    },
  })
}
