// From an embedded file to another engine: every row arrives, changes follow, a stop loses nothing, no data of others is touched.
import { strict as assert } from 'node:assert'
import { after, before, describe, test } from 'node:test'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import { writeDuties } from '#groups/validators/duties.ts'
import { writeAudit } from '#groups/validators/ingest/audit.ts'
import { writeScores } from '#groups/validators/ingest/scores.ts'
import { lapseFields, writeLapses } from '#groups/validators/lapses.ts'
import { chance } from '#sim/chance.ts'
import { type ClickhouseServer, noClickhouse, startClickhouse } from '#test/clickhouse.ts'
import { openDesk } from '#test/desk.ts'
import { onlyInLongRun } from '#test/long.ts'
import { actOut, castOf } from '#test/validators-acting.ts'
import { cover, coverageOf } from './coverage.ts'
import { openClickhouse } from './engines/clickhouse.ts'
import { openDuckdb } from './engines/duckdb.ts'
import type { Facts, FactsReader } from './facts.ts'
import { factsMigrations } from './migrations.ts'
import { moveFacts, refuseUnfinishedFacts } from './move-facts.ts'

const never = new AbortController().signal
const tables = factsMigrations.flatMap((migration) => migration.tables ?? [])
const time: ChainTime = { genesisUnix: 40_000, slotSeconds: 3600, slotsPerEpoch: 8, epochsPerHour: 1, epochsPerDay: 3 }

/** Some days of everything that facts hold, for two networks. */
async function write(facts: Facts, fromDay: number, untilDay: number): Promise<void> {
  for (const network of ['mainnet', 'hoodi'] as const) {
    const draws = chance(`${network} ${fromDay}`)
    const epochs = { from: (fromDay * 3) as Epoch, until: (untilDay * 3 - 1) as Epoch }
    const cast = castOf(draws, 40, epochs)
    await writeDuties(facts, { network, time, epochs, rows: actOut(draws, cast, epochs, true) })
    const column = (field: string) =>
      Int32Array.from(cast, ({ index }) => (field === 'validator' ? index : field === 'epoch' ? epochs.from + 1 : 2))
    await facts.write(async (tx) => {
      await writeLapses(
        tx,
        network,
        epochs,
        Object.fromEntries(lapseFields.map((field) => [field, column(field)])) as never,
      )
      await writeScores(tx, network, new Map([[epochs.until - 1, new Map([[7, 12]])]]))
      await writeAudit(tx, network, [{ epoch: epochs.from, part: 'head', compared: 3, differing: 1, gwei: -17 }])
    })
  }
}

/** All rows of all tables, without the marks of the move. */
async function contents(facts: FactsReader): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const { name, key, columns, sums = [] } of tables) {
    const own = Object.keys(columns).filter((column) => !sums.includes(column))
    const added = sums.map((column) => `sum(${column}) as ${column}_sum`)
    const rows = await facts.query<Record<string, unknown>>(
      `select ${[...own, ...added].join()} from ${name} group by ${own.join()} order by ${own.join()}`,
    )
    found[name] = rows.filter((row) => !String(row[key]).startsWith('move/'))
  }
  return found
}

const move = (source: FactsReader, target: Facts, id = 5, signal = never, tell = () => {}) =>
  moveFacts(source, target, id, tell, signal)

function suite(name: string, skip: string | false, openTarget: () => Promise<Facts>): void {
  describe(`to ${name}`, { skip }, () => {
    test('every row arrives, what came in meanwhile follows, and what is equal is left alone', async () => {
      await using desk = await openDesk()
      const target = await openTarget()
      try {
        await write(desk.facts, 0, 5)
        const first = await move(desk.facts, target)
        assert.deepEqual(await contents(target), await contents(desk.facts))
        assert.ok(first.every(({ rows, written }) => rows === written))
        assert.ok(first.find((table) => table.name === 'duty_hours')?.rows ?? 0 > 100)
        assert.deepEqual(
          (await move(desk.facts, target)).map(({ written }) => written),
          tables.map(() => 0),
        )
        await write(desk.facts, 5, 7)
        const later = await move(desk.facts, target)
        assert.deepEqual(await contents(target), await contents(desk.facts))
        const days = later.find((table) => table.name === 'duty_days')
        assert.ok(days && days.written > 0 && days.written < days.rows)
        await refuseUnfinishedFacts(target)
      } finally {
        await target.close()
      }
    })

    test('a move that was stopped leaves a store that no server opens, and goes on', async () => {
      await using desk = await openDesk()
      const target = await openTarget()
      try {
        await write(desk.facts, 0, 4)
        const stop = new AbortController()
        let told = 0
        const stopping = move(desk.facts, target, 5, stop.signal, () => {
          told += 1
          if (told === 5) stop.abort()
        })
        await assert.rejects(stopping, /abort/)
        assert.deepEqual(await coverageOf(target, 'duties/mainnet'), [])
        await assert.rejects(
          refuseUnfinishedFacts(target),
          /a move into this store has not ended; run `tetrad move` again/,
        )
        await move(desk.facts, target)
        assert.deepEqual(await contents(target), await contents(desk.facts))
        await refuseUnfinishedFacts(target)
      } finally {
        await target.close()
      }
    })

    test('a target that holds something else, or has been used since, is refused and stays as it is', async () => {
      await using desk = await openDesk()
      const target = await openTarget()
      try {
        await write(desk.facts, 0, 2)
        await move(desk.facts, target)
        await assert.rejects(move(desk.facts, target, 6), /holds facts of its own/)
        await target.write((tx) => cover(tx, 'duties/mainnet', 5, 100))
        const before = await contents(target)
        await assert.rejects(move(desk.facts, target), /has been used since it was moved to \(duties\/mainnet\)/)
        assert.deepEqual(await contents(target), before)
      } finally {
        await target.close()
      }
    })

    test('values that changed are found and put right, also where their sum is the same', async () => {
      await using desk = await openDesk()
      const target = await openTarget()
      try {
        await write(desk.facts, 0, 2)
        await move(desk.facts, target)
        const columns = Object.keys(tables.find((table) => table.name === 'duty_lapses')?.columns ?? {})
        const rows = await target.query(
          `select ${columns.join()} from duty_lapses where network = 'hoodi' order by validator`,
        )
        await target.write(async (tx) => {
          await tx.remove('duty_lapses', { key: 'hoodi' })
          // The sum is what it was.
          const slots = rows.map((_, at) => [3, 1][at] ?? 2)
          const of = (name: string) => (name === 'slot' ? slots : rows.map((row) => row[name]))
          await tx.append('duty_lapses', Object.fromEntries(columns.map((name) => [name, of(name)])) as never)
        })
        const again = await move(desk.facts, target)
        assert.equal(again.find((table) => table.name === 'duty_lapses')?.written, rows.length)
        assert.deepEqual(await contents(target), await contents(desk.facts))
      } finally {
        await target.close()
      }
    })
  })
}

describe('moving facts', () => {
  let clickhouse: ClickhouseServer | undefined
  before(async () => {
    if (!noClickhouse && !onlyInLongRun) clickhouse = await startClickhouse()
  })
  after(() => clickhouse?.[Symbol.asyncDispose]())
  suite('another file', false, () => openDuckdb(':memory:', factsMigrations))
  suite('ClickHouse', noClickhouse || onlyInLongRun, async () =>
    openClickhouse(await (clickhouse as ClickhouseServer).database(), factsMigrations),
  )
})
