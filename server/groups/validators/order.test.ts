// Laying rows out anew must not change a single one of them, whenever it happens and wherever it is cut off.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import { chance } from '#sim/chance.ts'
import { coverageOf } from '#store/coverage.ts'
import type { Facts } from '#store/facts.ts'
import { openDesk, type TestDesk } from '#test/desk.ts'
import { actOut, castOf } from '#test/validators-acting.ts'
import { writeDuties } from './duties.ts'
import { lapseFields, writeLapses } from './lapses.ts'
import { orderDuties } from './order.ts'

const time: ChainTime = { genesisUnix: 40_000, slotSeconds: 3600, slotsPerEpoch: 8, epochsPerHour: 1, epochsPerDay: 3 }
const never = new AbortController().signal
const everyone = { validatorsMin: 0 }
const tables = ['duty_days', 'duty_utc_days', 'duty_lapses'] as const

/** Written day by day, as ingest does. */
async function write(desk: TestDesk, fromDay: number, untilDay: number, order: boolean): Promise<void> {
  const draws = chance('order')
  const cast = castOf(draws, 9, { from: (fromDay * 3) as Epoch, until: (untilDay * 3) as Epoch })
  for (let day = fromDay; day < untilDay; day++) {
    const epochs = { from: (day * 3) as Epoch, until: (day * 3 + 3) as Epoch }
    await writeDuties(desk.facts, { network: 'mainnet', time, epochs, rows: actOut(draws, cast, epochs, true) })
    const column = (field: string) =>
      Int32Array.from(cast, ({ index }) => (field === 'validator' ? index : field === 'epoch' ? epochs.from + 1 : 2))
    const columns = Object.fromEntries(lapseFields.map((field) => [field, column(field)]))
    await desk.facts.write((tx) => writeLapses(tx, 'mainnet', epochs, columns as never))
    if (order) await orderDuties(desk.facts, 'mainnet', time, epochs, never, everyone)
  }
}

const sorted = async (facts: Facts) =>
  Promise.all(tables.map((table) => facts.query(`select * from ${table} order by all`)))

/** As they lie. */
const places = (facts: Facts) =>
  facts.query<{ validator: number; day: number }>('select validator, day from duty_days order by rowid')

test('laid out day by day, every row is there once, and blocks of doubling length lie by validator', async () => {
  await using plain = await openDesk()
  await using laid = await openDesk()
  await write(plain, 0, 27, false)
  await write(laid, 0, 27, true)
  assert.deepEqual(await sorted(laid.facts), await sorted(plain.facts))
  // 27 days: 16, then 8, then three that are too few.
  const rows = await places(laid.facts)
  for (const [from, until] of [
    [0, 16],
    [16, 24],
  ] as const) {
    const block = rows.filter(({ day }) => day >= from && day < until)
    const inOrder = block.toSorted((a, b) => a.validator - b.validator || a.day - b.day)
    assert.deepEqual(block, inOrder, `days ${from} to ${until}`)
  }
  assert.deepEqual(await coverageOf(laid.facts, 'order/duty_days/mainnet'), [{ from: 0, until: 24 }])
})

test('what was left lying is laid out later, in the same way; a second time there is nothing to do', async () => {
  await using desk = await openDesk()
  await using laid = await openDesk()
  await write(desk, 5, 45, false)
  await write(laid, 5, 45, true)
  const last = { from: 44 * 3, until: 45 * 3 }
  const blocks = await orderDuties(desk.facts, 'mainnet', time, last, never, everyone)
  // Up to day 40: a block of 32 days, which takes in all shorter ones, and one of 8; in each of the three tables.
  assert.equal(blocks, 6)
  const over = async (facts: Facts) => (await places(facts)).filter(({ day }) => day < 40)
  assert.deepEqual(await over(desk.facts), await over(laid.facts))
  assert.equal(await orderDuties(desk.facts, 'mainnet', time, last, never, everyone), 0)
  assert.deepEqual(await sorted(desk.facts), await sorted(laid.facts))
})

test('cut off between two slices, no row is lost or doubled, and the next run finishes', async () => {
  await using desk = await openDesk()
  await write(desk, 0, 33, false)
  const before = await sorted(desk.facts)
  const last = { from: 32 * 3, until: 33 * 3 }
  for (const writes of [1, 2, 5, 9]) {
    const stop = new AbortController()
    let count = 0
    const facts: Facts = Object.assign(Object.create(desk.facts) as Facts, {
      write: (work: Parameters<Facts['write']>[0]) => {
        count += 1
        if (count === writes) stop.abort()
        return desk.facts.write(work)
      },
      query: desk.facts.query.bind(desk.facts),
    })
    await orderDuties(facts, 'mainnet', time, last, stop.signal, everyone)
    assert.deepEqual(await sorted(desk.facts), before)
  }
  await orderDuties(desk.facts, 'mainnet', time, last, never, everyone)
  assert.deepEqual(await sorted(desk.facts), before)
  assert.deepEqual(await coverageOf(desk.facts, 'order/duty_utc_days/mainnet'), [{ from: 0, until: 32 }])
})

test('a small network is left as it is', async () => {
  await using desk = await openDesk()
  await write(desk, 0, 9, false)
  // Nine validators with indices up to 36 000: the highest index counts.
  const last = { from: 24, until: 27 }
  assert.equal(await orderDuties(desk.facts, 'mainnet', time, last, never, { validatorsMin: 100_000 }), 0)
  assert.deepEqual(await coverageOf(desk.facts, 'order/duty_days/mainnet'), [])
})
