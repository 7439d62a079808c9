// What every engine behind the facts port must keep, by the numbers in facts.ts. Called with a place for one store.
import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { Fault } from '#core/fault.ts'
import { cover, coverageOf } from './coverage.ts'
import type { Columns, Facts, FactsMigration } from './facts.ts'
import { migration as coverageMigration } from './migrations/facts-0002-coverage.ts'

/** Where one store lives for the length of a test. */
export interface FactsPlace extends AsyncDisposable {
  open(migrations?: readonly FactsMigration[]): Promise<Facts>
}

export const sums: FactsMigration = {
  id: 1,
  name: 'sums',
  up: ['create table sums (who integer, hour bigint, reward bigint, network varchar, mined integer)'],
  tables: [
    {
      name: 'sums',
      columns: { who: 'int32', hour: 'int64', reward: 'int64', network: 'text', mined: 'int32' },
      key: 'network',
      window: { column: 'hour' },
    },
  ],
}

const step = (id: number, name: string): FactsMigration => ({
  id,
  name,
  up: [`create table ${name} (k varchar, n bigint)`],
  tables: [{ name, columns: { k: 'text', n: 'int64' }, key: 'k' }],
})

/** One row. */
const one = (who: number | bigint, reward: number | bigint, network = 'mainnet'): Columns => ({
  who: [who],
  reward: [reward],
  hour: [0],
  network: [network],
  mined: [0],
})

/** Validator `who` earns who × 10 + hour in every hour. */
export function someSums(whoCount: number, hourCount: number): Columns {
  const rows = Array.from({ length: whoCount * hourCount }, (_, row) => ({
    who: Math.floor(row / hourCount),
    hour: row % hourCount,
  }))
  return {
    reward: BigInt64Array.from(rows, ({ who, hour }) => BigInt(who * 10 + hour)),
    who: Int32Array.from(rows, ({ who }) => who),
    hour: rows.map(({ hour }) => hour),
    network: rows.map(() => 'mainnet'),
    mined: rows.map(({ who }) => who % 2),
  }
}

const countOf = async (facts: Facts): Promise<number | undefined> =>
  (await facts.query<{ n: number }>('select count(*) as n from sums'))[0]?.n

export function factsSuite(name: string, place: () => Promise<FactsPlace>): void {
  describe(`${name}: reading and appending`, () => values(place))
  describe(`${name}: lists`, () => lists(place))
  describe(`${name}: transactions`, () => transactions(place))
  describe(`${name}: migrations and coverage`, () => migrations(place))
}

function values(place: () => Promise<FactsPlace>): void {
  test('appended columns come back as rows, whatever their order', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write((tx) => tx.append('sums', someSums(2, 2)))
    assert.deepEqual(await facts.query('select who, hour, reward, network, mined from sums order by who, hour'), [
      { who: 0, hour: 0, reward: 0, network: 'mainnet', mined: 0 },
      { who: 0, hour: 1, reward: 1, network: 'mainnet', mined: 0 },
      { who: 1, hour: 0, reward: 10, network: 'mainnet', mined: 1 },
      { who: 1, hour: 1, reward: 11, network: 'mainnet', mined: 1 },
    ])
    await facts.close()
  })

  test('more rows than fit one chunk are all there: 5 000 of one validator', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write((tx) => tx.append('sums', someSums(1, 5000)))
    // 0 + 1 + … + 4999 = 4999 × 5000 / 2
    const folded = await facts.query('select count(*) as n, sum(reward) as reward, max(hour) as last from sums')
    assert.deepEqual(folded, [{ n: 5000, reward: 12_497_500, last: 4999 }])
    await facts.close()
  })

  test('an integer is a number where exact and a bigint beyond 2^53', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write(async (tx) => {
      await tx.append('sums', one(1, Number.MAX_SAFE_INTEGER))
      await tx.append('sums', one(2, -(2n ** 63n - 1n)))
      await tx.append('sums', one(3, 2n ** 63n - 1n))
      await tx.append('sums', one(4, -1))
    })
    assert.deepEqual(await facts.query('select sum(reward) as r from sums group by who order by who'), [
      { r: Number.MAX_SAFE_INTEGER },
      { r: -(2n ** 63n - 1n) },
      { r: 2n ** 63n - 1n },
      { r: -1 },
    ])
    await facts.close()
  })

  test('text comes back as it was: signs of SQL, of lines and of other languages', async () => {
    await using here = await place()
    const facts = await here.open()
    const texts = ["it's", 'a\\b', 'tab\tline\nend\r', '', 'ärger 🜁', '{who} ?', '\\N']
    for (const text of texts) await facts.write((tx) => tx.append('sums', one(1, 1, text)))
    const stored = await facts.query<{ network: string }>('select network from sums')
    assert.deepEqual(stored.map(({ network }) => network).sort(), texts.toSorted())
    for (const text of texts)
      assert.deepEqual(await facts.query('select count(*) as n, ? as t from sums where network = ?', [text, text]), [
        { n: 1, t: text },
      ])
    await facts.close()
  })

  test('a number that does not fit its column is refused, not wrapped', async () => {
    await using here = await place()
    const facts = await here.open()
    for (const [who, reward] of [
      [2 ** 31, 0],
      [1.5, 0],
      [Number.NaN, 0],
      [0, 2n ** 63n],
      [0, 2 ** 63],
    ] as const) {
      const append = facts.write((tx) => tx.append('sums', one(who, reward)))
      await assert.rejects(append, /sums\.(who|reward) cannot hold/)
    }
    assert.equal(await countOf(facts), 0)
    await facts.close()
  })

  test('columns that are missing, unknown or of unequal length are refused', async () => {
    await using here = await place()
    const facts = await here.open()
    const { mined, ...few } = someSums(1, 2)
    const append = (columns: Columns) => facts.write((tx) => tx.append('sums', columns))
    await assert.rejects(append(few), /are not those of the table/)
    await assert.rejects(append({ ...few, mined: mined ?? [], more: [1, 2] }), /are not those of the table/)
    await assert.rejects(append({ ...few, mined: [1] }), /sums\.mined has 1 rows, not 2/)
    assert.equal(await countOf(facts), 0)
    await facts.close()
  })

  test('what is true is 1 and what is false is 0', async () => {
    await using here = await place()
    const facts = await here.open()
    assert.deepEqual(await facts.query('select 1 = 1 as a, 1 > 2 as b'), [{ a: 1, b: 0 }])
    await facts.close()
  })

  test('parameters keep their places, quoted question marks are text', async () => {
    await using here = await place()
    const facts = await here.open()
    const sql = `select ? as a, 'who? {who} ''?''' as b, ? as c, ? as d, cast(? as double) as e`
    assert.deepEqual(await facts.query(sql, ['x', 2, null, 1.5]), [
      { a: 'x', b: "who? {who} '?'", c: 2, d: null, e: 1.5 },
    ])
    await assert.rejects(facts.query('select ? as a', []), /parameter 1 of the query is missing/)
    await assert.rejects(facts.query('select 1 as a', [1]), /0 parameters, 1 were given/)
    await facts.close()
  })
}

function lists(place: () => Promise<FactsPlace>): void {
  const sql =
    'select count(*) as n, sum(reward) as r from sums where hour >= ? and who in (select id from {who}) and hour < ?'

  test('10 000 ids go beside the SQL (facts 3)', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write((tx) => tx.append('sums', someSums(20_000, 3)))
    const odd = Array.from({ length: 10_000 }, (_, index) => index * 2 + 1)
    // hour 1 only: Σ (10 × who + 1) over odd who below 20 000 = 10 × 10 000² + 10 000
    assert.deepEqual(await facts.query(sql, [1, 2], { who: odd }), [{ n: 10_000, r: 1_000_010_000 }])
    await facts.close()
  })

  test('one id, no id, and the same list twice', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write((tx) => tx.append('sums', someSums(10, 1)))
    assert.deepEqual(await facts.query(sql, [0, 1], { who: [7] }), [{ n: 1, r: 70 }])
    assert.equal((await facts.query<{ n: number }>(sql, [0, 1], { who: [] }))[0]?.n, 0)
    const twice = 'select id, (select count(*) from {who}) as n from {who} order by id'
    assert.deepEqual(await facts.query(twice, [], { who: [5, 3] }), [
      { id: 3, n: 2 },
      { id: 5, n: 2 },
    ])
    await assert.rejects(facts.query(sql, [0, 1]), /the list \{who\} of the query is missing/)
    await facts.close()
  })

  test('ids that lie far apart, below zero or outside the rows choose the rows they name', async () => {
    await using here = await place()
    const facts = await here.open()
    const own = someSums(10, 1)
    await facts.write((tx) => tx.append('sums', { ...own, who: Int32Array.from({ length: 10 }, (_, at) => at - 5) }))
    const chosen = async (who: number[]) =>
      (
        await facts.query<{ who: number }>(
          'select who from sums where (who in (select id from {who}) or who = 4) order by who',
          [],
          { who },
        )
      ).map((row) => row.who)
    assert.deepEqual(await chosen([-5, -1, 0, 3]), [-5, -1, 0, 3, 4])
    assert.deepEqual(await chosen([-2, 2 ** 40]), [-2, 4])
    assert.deepEqual(await chosen([-(2 ** 40), 2 ** 31]), [4])
    assert.deepEqual(await chosen([7, 9]), [4])
    await facts.close()
  })
}

function transactions(place: () => Promise<FactsPlace>): void {
  test('rows and coverage are one transaction: both or neither (facts 1)', async () => {
    await using here = await place()
    const list = [sums, coverageMigration]
    const facts = await here.open(list)
    const broken = facts.write(async (tx) => {
      await tx.append('sums', someSums(3, 3))
      await cover(tx, 'epochs', 0, 3)
      assert.deepEqual(await tx.query('select count(*) as n from sums'), [{ n: 9 }])
      assert.equal(await countOf(facts), 0)
      throw new Error('changed my mind')
    })
    await assert.rejects(broken, /changed my mind/)
    assert.equal(await countOf(facts), 0)
    assert.deepEqual(await coverageOf(facts, 'epochs'), [])
    await facts.write(async (tx) => {
      await tx.append('sums', someSums(3, 3))
      await cover(tx, 'epochs', 0, 3)
      await cover(tx, 'epochs', 3, 6)
    })
    await facts.close()
    const again = await here.open(list)
    assert.equal(await countOf(again), 9)
    assert.deepEqual(await coverageOf(again, 'epochs'), [{ from: 0, until: 6 }])
    await again.close()
  })

  test('a slice can be replaced: deleted and appended in one transaction', async () => {
    await using here = await place()
    const facts = await here.open()
    for (let round = 0; round < 3; round += 1) {
      await facts.write(async (tx) => {
        await tx.remove('sums', { key: 'mainnet' })
        await tx.append('sums', someSums(100, 24))
      })
    }
    assert.equal(await countOf(facts), 2400)
    await facts.close()
  })

  test('hours are removed from the one to the other, of one key, also of rows that the same write brought', async () => {
    await using here = await place()
    const facts = await here.open()
    const hours = async () =>
      (
        await facts.query<{ network: string; hour: number }>(
          'select network, hour from sums where who = 0 order by network, hour',
        )
      ).map(({ network, hour }) => `${network.charAt(0)}${hour}`)
    await facts.write(async (tx) => {
      await tx.append('sums', someSums(2, 60))
      await tx.append('sums', { ...someSums(2, 60), network: new Array(120).fill('other') })
      await tx.remove('sums', { key: 'other', from: 2, until: 59 })
    })
    await facts.write((tx) => tx.remove('sums', { key: 'mainnet', from: 3, until: 57 }))
    assert.deepEqual(await hours(), ['m0', 'm1', 'm2', 'm57', 'm58', 'm59', 'o0', 'o1', 'o59'])
    await facts.write(async (tx) => {
      await tx.remove('sums', { key: 'mainnet', until: 1 })
      assert.equal((await tx.query('select who from sums where hour = 0')).length, 2)
      await tx.remove('sums', { key: 'mainnet', from: 58 })
      await tx.remove('sums', { key: 'nobody' })
    })
    assert.deepEqual(await hours(), ['m1', 'm2', 'm57', 'o0', 'o1', 'o59'])
    await facts.close()
  })

  test('writes run one after another and reads go on beside them', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write((tx) => tx.append('sums', one(0, 0)))
    const increment = () =>
      facts.write(async (tx) => {
        const [row] = await tx.query<{ reward: number }>('select reward from sums')
        await tx.remove('sums', { key: 'mainnet' })
        await tx.append('sums', one(0, (row?.reward ?? 0) + 1))
      })
    const reads = Array.from({ length: 20 }, () => countOf(facts))
    await Promise.all(Array.from({ length: 20 }, increment))
    assert.deepEqual(new Set(await Promise.all(reads)), new Set([1]))
    assert.deepEqual(await facts.query('select reward from sums'), [{ reward: 20 }])
    await facts.close()
  })

  test('a failed statement dooms its transaction, even if its error is caught (facts 4)', async () => {
    await using here = await place()
    const facts = await here.open()
    const work = facts.write(async (tx) => {
      await tx.append('sums', one(1, 1))
      await tx.query('select * from nowhere').catch(() => {})
    })
    await assert.rejects(work, /nowhere/)
    assert.equal(await countOf(facts), 0)
    await facts.write((tx) => tx.append('sums', one(1, 1)))
    assert.equal(await countOf(facts), 1)
    await facts.close()
  })

  test('a write inside a write and a transaction after its end are refused', async () => {
    await using here = await place()
    const facts = await here.open()
    await assert.rejects(
      facts.write(() => facts.write((tx) => tx.append('sums', one(1, 1)))),
      /inside another/,
    )
    const tx = await facts.write(async (inside) => inside)
    await assert.rejects(tx.append('sums', one(1, 1)), /after its end/)
    assert.equal(await countOf(facts), 0)
    await facts.close()
  })

  test('a question whose asker has gone fails with what it was told; those who watch and others are answered', async () => {
    await using here = await place()
    const facts = await here.open()
    await facts.write((tx) => tx.append('sums', someSums(3, 3)))
    const gone = new AbortController()
    const moment = await facts.now(gone.signal)
    assert.equal((await moment.query('select who from sums')).length, 9)
    const reason = new Fault('server.timeout')
    gone.abort(reason)
    await assert.rejects(moment.query('select who from sums'), reason)
    assert.deepEqual(await facts.aside.query('select count(*) as n from sums where who < ?', [2]), [{ n: 6 }])
    assert.equal(await countOf(facts), 9)
    await facts.close()
  })

  test('closing waits for what is under way; afterwards everything is refused', async () => {
    await using here = await place()
    const facts = await here.open()
    const under = facts.write((tx) => tx.append('sums', someSums(10, 10)))
    const reading = facts.query('select 1 as x')
    await facts.close()
    await under
    assert.deepEqual(await reading, [{ x: 1 }])
    const unavailable = (error: unknown): boolean => error instanceof Fault && error.code === 'store.unavailable'
    await assert.rejects(facts.query('select 1 as x'), unavailable)
    await assert.rejects(
      facts.write((tx) => tx.remove('sums', { key: 'mainnet' })),
      unavailable,
    )
    const again = await here.open()
    assert.equal(await countOf(again), 100)
    await again.close()
  })
}

function migrations(place: () => Promise<FactsPlace>): void {
  test('each runs once, in order, and what was written before stays', async () => {
    await using here = await place()
    const first = await here.open([step(1, 'one')])
    await first.write((tx) => tx.append('one', { k: ['a'], n: [1] }))
    await first.close()
    const facts = await here.open([step(1, 'one'), step(2, 'two')])
    await facts.write((tx) => tx.append('two', { k: ['a'], n: [2] }))
    assert.deepEqual(await facts.query('select n from one'), [{ n: 1 }])
    assert.deepEqual(await facts.query('select n from two'), [{ n: 2 }])
    await facts.close()
  })

  test('a store newer than the code is refused with both numbers', async () => {
    await using here = await place()
    const list = [step(1, 'one'), step(2, 'two')]
    await (await here.open(list)).close()
    await assert.rejects(here.open([step(1, 'one')]), /number 2, this version knows 1\. Start the newer version/)
    await (await here.open(list)).close()
  })
}
