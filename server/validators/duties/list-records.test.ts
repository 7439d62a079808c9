// Lists and sums of records, compared with a simple reference that adds up all written epochs.
import { strict as assert } from 'node:assert'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { chainDays, type DayCalendar, type Epoch, hourOf, utcDays } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { type EpochRow, perfect, writeEpochs } from '#test/validators-world.ts'
import type { Measure } from '../method/measures.ts'
import type { ScoreTotals } from '../method/method.ts'
import { dropHours } from './hours.ts'
import type { DayQuery, HourBounds, HourQuery, QueriedValidators, RecordKey, RecordQuery } from './record-query.ts'

// Epochs of 1600 s, 2 to the hour, 5 to the day, 54 to the UTC day: hours cross days and midnights.
const time = {
  genesisUnix: 1_700_005_400, // 2023-11-14T23:43:20Z
  slotSeconds: 200,
  slotsPerEpoch: 8,
  epochsPerHour: 2,
  epochsPerDay: 5,
}
const network = 'hoodi'
const until = 170
const gap: Range = { from: 61, until: 83 }

/**
 * In two rows of presence and several of figures. 70 starts later, 6 exits early, 0 and 200 have duties now and then.
 */
const validators = [0, 5, 6, 70, 200, 40_000]
const none = {
  inclusions: 0,
  included: 0,
  inclusion_delay: 0,
  correct_source: 0,
  correct_target: 0,
  correct_head: 0,
} as const
const draws = createSeededRandom('read')
const rows: EpochRow[] = Array.from({ length: until }, (_, epoch) => epoch)
  .filter((epoch) => epoch < gap.from || epoch >= gap.until)
  .flatMap((epoch) =>
    validators
      .filter(
        (validator) =>
          (validator !== 70 || epoch >= 47) &&
          (validator !== 6 || epoch < 33) &&
          (![0, 200].includes(validator) || draws.happens(0.15)),
      )
      .map((validator) => {
        const isIncluded = draws.happens(0.9)
        const votes = isIncluded ? { inclusion_delay: draws.whole(1, 5), correct_head: draws.whole(0, 2) } : none
        return { ...perfect, ...votes, epoch, validator, earnings: draws.whole(-900, 900), block_reward: epoch }
      }),
  )
let contexts: readonly TestContext[]
before(async () => {
  contexts = await Promise.all([0, 1].map(() => openContext({ validators: { networks: { [network]: time } } })))
  for (const context of contexts) {
    for (const range of [
      { from: 0, until: gap.from },
      { from: gap.until, until },
    ])
      await writeEpochs(context, network, range, rows)
  }
  const made = await (contexts[1]?.duties ?? assert.fail()).update(
    'mergeSpans',
    { network, time, until },
    { signal: new AbortController().signal },
  )
  assert(made > 0, 'the second has days in spans')
})
after(async () => {
  for (const context of contexts) await context[Symbol.asyncDispose]()
})

// -------------------------------------------------------------------------------------------------------------- reference

interface PlainRecord extends RecordKey {
  readonly day: number
  readonly hour: number
  readonly rows: readonly EpochRow[]
}

const calendarOf = ({ isUtc }: Pick<RecordQuery, 'isUtc'>): DayCalendar => (isUtc ? utcDays(time) : chainDays(time))

/** Newest window first, then by validator. */
function plainRecords(query: RecordQuery): PlainRecord[] {
  const { days, byValidator } = query
  const hourBounds = query.grain === 'days' ? query.hourBounds : undefined
  const locate = ({ epoch }: EpochRow) => {
    const [day, hour] = [calendarOf(query).dayOf(epoch as Epoch), hourOf(time, epoch as Epoch)]
    const isRequested = day >= days.from && day < days.until
    const isWhole = !hourBounds || (day >= hourBounds.wholeDays.from && day < hourBounds.wholeDays.until)
    if (!isRequested || !(isWhole || (hour >= hourBounds.hours.from && hour < hourBounds.hours.until))) return undefined
    return { day, hour, window: query.grain === 'hours' ? hour + day : (query.windowOfDay[day - days.from] as number) }
  }
  const chosen = rows.filter((row) => query.validators.includes(row.validator) && locate(row))
  const groups = Map.groupBy(chosen, (row) => `${locate(row)?.window} ${byValidator ? row.validator : 0}`)
  return Array.from(groups.values(), (groupRows) => {
    const located = groupRows.map((row) => locate(row) ?? assert.fail())
    return {
      window: located[0]?.window as number,
      validator: byValidator ? (groupRows[0]?.validator as number) : 0,
      day: Math.min(...located.map(({ day }) => day)),
      hour: query.grain === 'hours' ? (located[0]?.hour as number) : -1,
      rows: groupRows,
    }
  }).sort((a, b) => b.window - a.window || a.validator - b.validator)
}

const total = (some: readonly EpochRow[], name: Measure) => some.reduce((sum, row) => sum + (row[name] ?? 0), 0)

/** The mean over the days (or hours) of each validator in which it had to vote. */
function attesterScore(query: RecordQuery, recordRows: readonly EpochRow[]): number {
  const grains = Map.groupBy(recordRows, ({ epoch, validator }) => {
    const day = calendarOf(query).dayOf(epoch as Epoch)
    return `${validator} ${day} ${query.grain === 'hours' ? hourOf(time, epoch as Epoch) : ''}`
  })
  const scores = Array.from(grains.values(), (some) => {
    const [assigned, included, delay] = [
      total(some, 'assigned'),
      total(some, 'included'),
      total(some, 'inclusion_delay'),
    ]
    const correct = total(some, 'correct_source') + total(some, 'correct_target') + total(some, 'correct_head')
    return included === 0 ? 0 : (100 * (included / assigned) * (correct / (3 * included))) / (delay / included)
  })
  return scores.reduce((sum, score) => sum + score, 0) / scores.length
}

// ------------------------------------------------------------------------------------------------------------------- queries

const dayRange = (max: number) =>
  fc.tuple(fc.nat(max), fc.integer({ min: 1, max })).map(([from, length]) => ({ from, until: from + length }))

const queries: fc.Arbitrary<RecordQuery> = fc
  .record({
    isUtc: fc.constantFrom(false, false, true),
    grain: fc.constantFrom('days', 'days', 'hours'),
    byValidator: fc.boolean(),
    validators: fc.subarray([0, 1, 5, 6, 70, 199, 200, 32_768, 40_000], { minLength: 1 }),
    chainDays: dayRange(36),
    utcDays: dayRange(4),
    windowDays: fc.constantFrom(1, 1, 2, 9),
    cutHours: fc.option(fc.tuple(fc.nat(4), fc.nat(4)), { nil: undefined, freq: 3 }),
  })
  .map(({ windowDays, cutHours, ...given }): RecordQuery => {
    const days = given.isUtc ? given.utcDays : given.chainDays
    const queried: QueriedValidators = {
      network,
      time,
      days,
      isUtc: given.isUtc,
      byValidator: given.byValidator,
      validators: given.validators,
    }
    if (given.grain === 'hours') return { ...queried, grain: 'hours' }
    return {
      ...queried,
      grain: 'days',
      windowOfDay: Array.from({ length: days.until - days.from }, (_, at) => Math.floor((days.from + at) / windowDays)),
      hourBounds: cutHours && !given.isUtc ? hourBoundsOf(days, cutHours) : undefined,
    }
  })

/** A range of hours that has only parts of the first and last day, and the days that it has completely. */
function hourBoundsOf(days: Range, [front, back]: readonly [number, number]): HourBounds {
  const hours = {
    from: hourOf(time, (days.from * 5 + front) as Epoch),
    until: Math.max(hourOf(time, (days.from * 5 + front) as Epoch), hourOf(time, (days.until * 5 - back) as Epoch)),
  }
  return { hours, wholeDays: { from: Math.ceil((hours.from * 2) / 5), until: Math.floor((hours.until * 2) / 5) } }
}

const keysOf = (records: readonly RecordKey[]) => records.map(({ window, validator }) => [window, validator])

test('lists the same records as a simple reference, merged or not', async () => {
  let found = 0
  await fc.assert(
    fc.asyncProperty(queries, fc.nat(30), fc.nat(60_000), async (query, count, afterValidator) => {
      const expected = plainRecords(query)
      found += expected.length
      for (const { duties } of contexts) {
        const list = await duties.query('listRecords', { query, count })
        assert.equal(list.total, expected.length)
        assert.deepEqual(keysOf(list.first), keysOf(expected.slice(0, count)))
        const [newest] = expected
        if (!newest || !query.byValidator) continue
        const after = { window: newest.window, validator: afterValidator }
        const rest = expected.filter(({ window, validator }) => window < after.window || validator > after.validator)
        const next = await duties.query('listRecords', { query, after, count })
        assert.equal(next.total, rest.length)
        assert.deepEqual(keysOf(next.first), keysOf(rest.slice(0, count)))
      }
    }),
    { numRuns: 250 },
  )
  assert(found > 1000)
})

test('sums, scores and times equal those of a simple reference, merged or not', async () => {
  const wanted = {
    measures: ['assigned', 'inclusions', 'earnings', 'block_reward', 'inclusion_delay', 'sync_penalty'],
    scores: ['attester', 'proposer'],
  } as const
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      const expected = plainRecords(query)
      for (const { duties } of contexts) {
        const { window, validator, day, hour, sums, scores } = await duties.query('sumRecords', {
          query,
          wanted,
        })
        const order = [...window.keys()].sort(
          (a, b) =>
            (window[b] as number) - (window[a] as number) || (validator[a] as number) - (validator[b] as number),
        )
        assert.equal(order.length, expected.length)
        expected.forEach((record, rank) => {
          const at = order[rank] as number
          assert.deepEqual(
            [window[at], validator[at], day[at], hour[at]],
            [record.window, record.validator, record.day, record.hour],
          )
          for (const name of wanted.measures) assert.equal(sums[name]?.[at], total(record.rows, name), name)
          const score = attesterScore(query, record.rows)
          const { sums: scored, counts } = scores.attester as ScoreTotals
          assert(Math.abs((scored[at] as number) / (counts[at] as number) - score) < 1e-9)
          assert.equal(scores.proposer?.counts[at], 0, 'no validator had to propose')
        })
      }
    }),
    { numRuns: 100 },
  )
})

test('pages that start after the last validator have every record once', async () => {
  const [{ duties }] = contexts as [TestContext]
  const all: DayQuery = {
    network,
    time,
    validators,
    isUtc: false,
    grain: 'days',
    byValidator: true,
    days: { from: 0, until: 34 },
    windowOfDay: Array.from({ length: 34 }, (_, at) => Math.floor(at / 7)),
  }
  const seen: RecordKey[] = []
  let query = all
  let from: RecordKey | undefined
  for (;;) {
    const { first } = await duties.query('listRecords', { query, after: from, count: 4 })
    const page = first.slice(0, 3)
    seen.push(...page)
    const [last, following] = [page.at(-1), first[3]]
    if (!last || !following) break
    // Like the link to the next page: starts at the window of its first record, back in time.
    const days = { from: 0, until: Math.min(34, (following.window + 1) * 7) }
    query = { ...all, days, windowOfDay: all.windowOfDay.slice(0, days.until) }
    from = following.window === last.window ? last : undefined
  }
  assert.deepEqual(keysOf(seen), keysOf(plainRecords(all)))
  assert(seen.length > 20)
})

test('deleted hours are neither listed nor added up, whole days still are', async () => {
  await using context = await openContext({ validators: { networks: { [network]: time } } })
  await writeEpochs(context, network, { from: 0, until: 60 }, rows)
  await context.dutiesState.write((tx) => dropHours(tx, network, time, 6))
  const query: HourQuery = {
    network,
    time,
    validators: [5],
    isUtc: false,
    byValidator: true,
    days: { from: 2, until: 10 },
    grain: 'hours',
  }
  const { first } = await context.duties.query('listRecords', { query, count: 100 })
  const expected = plainRecords({ ...query, days: { from: 6, until: 10 } })
  assert.deepEqual(keysOf(first), keysOf(expected))
  const windowOfDay = Array.from({ length: 8 }, () => 0)
  const hourBounds = { hours: { from: 6, until: 25 }, wholeDays: { from: 3, until: 10 } }
  const days: RecordQuery = { ...query, grain: 'days', windowOfDay, hourBounds }
  const { sums, day } = await context.duties.query('sumRecords', {
    query: days,
    wanted: { measures: ['assigned'], scores: [] },
  })
  assert.deepEqual([[...day], [...(sums.assigned ?? [])]], [[3], [35]])
})

test('a query stops when its signal aborts', async () => {
  const [{ duties }] = contexts as [TestContext]
  const query: RecordQuery = {
    network,
    time,
    validators,
    isUtc: false,
    grain: 'days',
    byValidator: true,
    days: { from: 0, until: 34 },
    windowOfDay: Array.from({ length: 34 }, (_, at) => at),
  }
  const stopped = AbortSignal.abort(new Error('request aborted'))
  await assert.rejects(duties.query('listRecords', { query, count: 5 }, stopped), /request aborted/)
  const wanted = { measures: ['assigned'], scores: [] } as const
  await assert.rejects(duties.query('sumRecords', { query, wanted }, stopped), /request aborted/)
})
