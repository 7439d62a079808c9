// Merging never changes the results of queries, wherever it stops and whatever is written in between.
import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { chainDays, type Epoch, hourOf, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import type { State, StateReader, StateWriter } from '#storage/state.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { isLongRun } from '#test/long.ts'
import { type Grain, type StoredRow, storedRows } from '#test/stored-duties.ts'
import { type EpochRow, perfect, writeEpochs } from '#test/validators-world.ts'
import { type Measure, measures } from '../method/measures.ts'
import { dayPartAt, networkId, partsIn } from './layout.ts'
import { mergeSpans } from './merge.ts'

// Epochs of 8 hours. A UTC day has three of them, a chain day two, and a chain hour three, so that hours cross both kinds
// of days. Day parts have one or two epochs: a short span has about 19 epochs, a long one 154.
const time = {
  genesisUnix: 1_700_005_400, // 2023-11-14T23:43:20Z
  slotSeconds: 3600,
  slotsPerEpoch: 8,
  epochsPerHour: 3,
  epochsPerDay: 2,
}
const network = 'hoodi'
const open = () => openContext({ validators: { networks: { [network]: time } } })
const never = new AbortController().signal
const grains = ['hours', 'utcHours', 'days', 'utcDays'] as const

// ------------------------------------------------------------------------------------------------------------ what is expected

/** Sums of all epochs that were written, by validator and time. */
class PlainSums {
  readonly #rows: Record<Grain, Map<string, Record<string, number>>> = {
    hours: new Map(),
    utcHours: new Map(),
    days: new Map(),
    utcDays: new Map(),
  }

  add(rows: readonly EpochRow[]): void {
    for (const { epoch, validator, ...values } of rows) {
      const [day, utcDay] = [chainDays(time).dayOf(epoch as Epoch), utcDays(time).dayOf(epoch as Epoch)]
      const hour = hourOf(time, epoch as Epoch)
      for (const grain of grains) {
        const key = { validator, day: grain.startsWith('utc') ? utcDay : day, hour: /hours/i.test(grain) ? hour : -1 }
        const text = Object.values(key).join(' ')
        const sum: Record<string, number> = this.#rows[grain].get(text) ?? key
        for (const name of measures) sum[name] = (sum[name] ?? 0) + (values[name] ?? 0)
        this.#rows[grain].set(text, sum)
      }
    }
  }

  of(grain: Grain): StoredRow[] {
    const rows = [...this.#rows[grain].values()] as unknown as StoredRow[]
    return rows.sort((a, b) => a.validator - b.validator || a.day - b.day || a.hour - b.hour)
  }
}

const linesOf = (rows: readonly StoredRow[]): string[] =>
  rows.map((row) => `${row.validator} ${row.day} ${row.hour}: ${measures.map((name) => row[name])}`)

async function assertStored(
  context: TestContext,
  sums: PlainSums,
  some: readonly Grain[],
  where: string,
): Promise<void> {
  for (const grain of some)
    assert.deepEqual(linesOf(await storedRows(context, network, grain)), linesOf(sums.of(grain)), `${grain} ${where}`)
}

const unitsAt = async ({ duties }: TestContext, level: number) =>
  (
    await duties.all<{ unit: number }>(
      'select unit from duty_units where network = ? and level = ? order by unit',
      networkId(network),
      level,
    )
  ).map(({ unit }) => unit)

/** After a complete merge, past days and short spans have no rows, and long spans have a row per validator. */
async function assertMerged(context: TestContext, until: number, present: ReadonlyMap<number, ReadonlySet<number>>) {
  const openPart = dayPartAt(time, until as Epoch)
  const [openShort, openLong] = [Math.floor(openPart / 16), Math.floor(openPart / 128)]
  const parts = [...present.keys()].sort((a, b) => a - b)
  const spansOf = (size: number, some: readonly number[]) => [...new Set(some.map((part) => Math.floor(part / size)))]
  const [days, short, long] = [
    parts.filter((part) => part >= openShort * 16),
    parts.filter((part) => part < openShort * 16 && part >= openLong * 128),
    parts.filter((part) => part < openLong * 128),
  ]
  assert.deepEqual(await unitsAt(context, 0), days)
  assert.deepEqual(await unitsAt(context, 1), spansOf(16, short))
  assert.deepEqual(await unitsAt(context, 2), spansOf(128, long))
  const rowsOf = (some: readonly number[], units: number, validators: number) => {
    const keys = some.flatMap((part) =>
      Array.from(present.get(part) ?? [], (one) => `${Math.floor(part / units)} ${Math.floor(one / validators)}`),
    )
    return new Set(keys).size
  }
  const counts = await context.duties.query('countRows', undefined)
  assert.deepEqual(
    [counts.duty_days, counts.duty_short_spans, counts.duty_long_spans],
    [rowsOf(days, 1, 64), rowsOf(short, 16, 8), rowsOf(long, 128, 1)],
  )
  return { longSpans: spansOf(128, long).length, longRows: counts.duty_long_spans ?? 0 }
}

// ---------------------------------------------------------------------------------------------------------------- the history

/** Their indices are in different slices of a merge. */
const validators = [0, 5, 63, 64, 700, 1100, 40_000, 40_001]
const epochs = 480
const gaps: readonly Range[] = [
  { from: 21, until: 27 },
  { from: 60, until: 121 },
  { from: 333, until: 340 },
]

/** 5 exits, 700 and 9001 start later, and 64 has duties now and then. */
function rowsOf({ from, until }: Range): EpochRow[] {
  const rows: EpochRow[] = []
  for (let epoch = from; epoch < until; epoch++) {
    const draws = createSeededRandom(`merge ${epoch}`)
    for (const validator of validators) {
      const isThere =
        validator === 5
          ? epoch < 300
          : validator === 700
            ? epoch >= 150
            : validator === 9001
              ? epoch >= 401
              : validator !== 64 || draws.happens(0.3)
      if (!isThere) continue
      const odd = Object.fromEntries(
        measures.filter(() => draws.happens(0.05)).map((name) => [name, draws.whole(-50_000, 50_000)]),
      ) as Partial<Record<Measure, number>>
      const attestation_reward = 10_000 + draws.whole(0, 20)
      rows.push({ ...perfect, attestation_reward, earnings: attestation_reward, ...odd, epoch, validator })
    }
  }
  return rows
}

type MergeState = Pick<State, 'write'> & StateReader
const stateWith = ({ dutiesState: ingest }: TestContext, write: State['write']): MergeState => ({
  get: (sql, ...values) => ingest.get(sql, ...values),
  all: (sql, ...values) => ingest.all(sql, ...values),
  write,
})

/** Stops after this many slices. */
async function mergeSome(context: TestContext, until: number, slices: number): Promise<void> {
  const stop = new AbortController()
  let done = 0
  const state = stateWith(context, async (work) => {
    const value = await context.dutiesState.write(work)
    done += 1
    if (done === slices) stop.abort()
    return value
  })
  await mergeSpans(state, { network, time, until }, stop.signal)
  assert(done <= slices)
}

class BrokenWrite extends Error {}

/** Fails in the middle of a slice, at this statement. True: the statement was reached. */
async function mergeBroken(context: TestContext, until: number, statements: number): Promise<boolean> {
  let left = statements
  const step = () => {
    left -= 1
    if (left === 0) throw new BrokenWrite('the disk is full')
  }
  const breaking = (tx: StateWriter): StateWriter => ({
    ...tx,
    run: async (sql, ...values) => {
      step()
      return tx.run(sql, ...values)
    },
    insertMany: async (...args) => {
      step()
      return tx.insertMany(...args)
    },
  })
  const state = stateWith(context, (work) => context.dutiesState.write((tx) => work(breaking(tx))))
  try {
    await mergeSpans(state, { network, time, until })
    return false
  } catch (error) {
    if (error instanceof BrokenWrite) return true
    throw error
  }
}

test('whenever merges run or stop, reads return the sums over all epochs', async () => {
  await using context = await open()
  const draws = createSeededRandom('merge')
  const sums = new PlainSums()
  const present = new Map<number, Set<number>>()
  const seen = { all: 0, stopped: 0, broken: 0 }
  const write = async (range: Range) => {
    const rows = rowsOf(range)
    for (const span of await writeEpochs(context, network, range, rows)) {
      const written = rows.filter(({ epoch }) => epoch >= span.from && epoch < span.until)
      sums.add(written)
      for (const { number: part } of partsIn(time, span)) if (!present.has(part)) present.set(part, new Set())
      for (const { epoch, validator } of written) present.get(dayPartAt(time, epoch as Epoch))?.add(validator)
    }
  }
  const mergeSomehow = async (until: number) => {
    const how = draws.pick(['none', 'none', 'all', 'stopped', 'stopped', 'broken', 'broken'] as const)
    if (how === 'none') return
    if (how === 'all') await context.duties.update('mergeSpans', { network, time, until }, { signal: never })
    if (how === 'stopped') await mergeSome(context, until, draws.whole(1, 4))
    if (how === 'broken' && !(await mergeBroken(context, until, draws.whole(1, 40)))) return
    seen[how] += 1
  }

  let longSpans = 0
  for (let from = 0; from < epochs; ) {
    const until = Math.min(epochs, from + draws.whole(1, isLongRun ? 14 : 28))
    for (const [at, span] of outside(gaps, { from, until }).entries()) {
      await write(span)
      await assertStored(context, sums, [draws.pick(grains)], `after epoch ${span.until}`)
      if (at > 0) continue
      await mergeSomehow(until)
      await assertStored(context, sums, [draws.pick(['days', 'utcDays'] as const)], `merged after epoch ${span.until}`)
    }
    from = until
  }
  await context.duties.update('mergeSpans', { network, time, until: epochs }, { signal: never })
  ;({ longSpans } = await assertMerged(context, epochs, present))
  assert(longSpans >= 3, 'several long spans')
  assert(Math.min(...Object.values(seen)) >= 3, JSON.stringify(seen))
  await assertStored(context, sums, grains, 'after everything was merged')

  // Fill the gaps, newest first, in ranges that do not match spans.
  for (const { from, until } of gaps.toReversed()) {
    const middle = Math.floor((from + until) / 2)
    await write({ from: middle, until })
    await assertStored(context, sums, ['days', 'utcDays'], `with ${middle} to ${until}`)
    await mergeSomehow(epochs)
    await assertStored(context, sums, ['days', 'utcDays'], `merged with ${middle} to ${until}`)
    await write({ from, until: middle })
    await assertStored(context, sums, ['days', 'utcDays'], `with ${from} to ${until}`)
  }
  assert((await unitsAt(context, 0)).length > 10, 'days of old spans are there again')
  await context.duties.update('mergeSpans', { network, time, until: epochs }, { signal: never })
  await assertMerged(context, epochs, present)
  await assertStored(context, sums, grains, 'after the gaps were merged')
  assert.equal(await context.duties.update('mergeSpans', { network, time, until: epochs }, { signal: never }), 0)
})

/** The parts of a span that are in none of the ranges. */
function outside(ranges: readonly Range[], { from, until }: Range): Range[] {
  const spans: Range[] = []
  let next = from
  for (const range of [...ranges, { from: until, until }]) {
    if (range.until <= next && range.from < until) continue
    const end = Math.min(until, range.from)
    if (next < end) spans.push({ from: next, until: end })
    next = Math.max(next, Math.min(until, range.until))
  }
  return spans
}

test('rows that are written to a day during its merge are kept and merged the next time', async () => {
  await using context = await open()
  const sums = new PlainSums()
  const write = async (range: Range, more: readonly number[] = []) => {
    const rows = [
      ...rowsOf(range),
      ...more.flatMap((validator) => [{ ...perfect, earnings: 77, epoch: range.from, validator }]),
    ]
    await writeEpochs(context, network, range, rows)
    sums.add(rows)
  }
  // Leave out the first of two epochs of one day part.
  const gap = [...Array(18).keys()].find(
    (epoch) => dayPartAt(time, epoch as Epoch) === dayPartAt(time, (epoch + 1) as Epoch),
  )
  assert(gap !== undefined)
  await write({ from: 0, until: gap })
  await write({ from: gap + 1, until: 40 })
  let slices = 0
  const state = stateWith(context, async (work) => {
    const value = await context.dutiesState.write(work)
    slices += 1
    // Validator 0 is in the slice that has been moved, 60 000 is after the last one.
    if (slices === 1) await write({ from: gap, until: gap + 1 }, [60_000])
    await assertStored(context, sums, ['days', 'utcDays'], `after slice ${slices}`)
    return value
  })
  await mergeSpans(state, { network, time, until: 40 })
  assert(slices > 2)
  await assertStored(context, sums, grains, 'after the merge')
  assert.deepEqual((await unitsAt(context, 0))[0], dayPartAt(time, gap as Epoch))
  assert.equal(await context.duties.update('mergeSpans', { network, time, until: 40 }, { signal: never }), 1)
  assert((await unitsAt(context, 0)).every((unit) => unit >= 16))
  await assertStored(context, sums, grains, 'after the next merge')
})

test('a span is not merged before its last part is over', async () => {
  await using context = await open()
  const last = [...Array(60).keys()].findLast((epoch) => dayPartAt(time, epoch as Epoch) === 15) ?? assert.fail()
  await writeEpochs(context, network, { from: 0, until: last + 1 }, rowsOf({ from: 0, until: last + 1 }))
  assert.equal(await context.duties.update('mergeSpans', { network, time, until: last }, { signal: never }), 0)
  assert.equal(await context.duties.update('mergeSpans', { network, time, until: last + 1 }, { signal: never }), 1)
  assert.deepEqual([await unitsAt(context, 0), await unitsAt(context, 1)], [[], [0]])
})

test('merging one network does not change others', async () => {
  await using context = await openContext({ validators: { networks: { [network]: time, holesky: time } } })
  const range = { from: 0, until: 40 }
  for (const name of [network, 'holesky'] as const) await writeEpochs(context, name, range, rowsOf(range))
  const before = await storedRows(context, 'holesky', 'days')
  await context.duties.update('mergeSpans', { network, time, until: 40 }, { signal: never })
  assert.deepEqual(await storedRows(context, 'holesky', 'days'), before)
  const units = await context.duties.all<{ network: number; level: number }>('select network, level from duty_units')
  assert(units.filter((unit) => unit.network === networkId('holesky')).every(({ level }) => level === 0))
})
