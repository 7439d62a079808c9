// Times in requests: how they are parsed, and which windows they stand for (behaviour/validators.md#time-bounds-of-the-aggregate).
import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { calendarUnits, dateAt, formatDate } from '#core/calendar.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import { seedsOf } from '#test/long.ts'
import { parseTime, type QueryBounds, requestedDays, requestedEpochs } from './requested-epochs.ts'
import { keysOf, windowsOver } from './windows.ts'

test('a time is ISO 8601, UTC without a zone; an unescaped plus is accepted', () => {
  const cases: [string, string][] = [
    ['2026-10-01', '2026-10-01T00:00:00.000Z'],
    ['2026-10-01T10:20', '2026-10-01T10:20:00.000Z'],
    ['2026-10-01 10:20:30', '2026-10-01T10:20:30.000Z'],
    ['2026-10-01t10:20:30.5z', '2026-10-01T10:20:30.500Z'],
    ['2026-10-01T10:20:30+02:00', '2026-10-01T08:20:30.000Z'],
    ['2026-10-01T10:20:30 02:00', '2026-10-01T08:20:30.000Z'],
    ['2026-10-01T10:20:30-0530', '2026-10-01T15:50:30.000Z'],
  ]
  for (const [text, expected] of cases) assert.equal(new Date(parseTime('from', text)).toISOString(), expected, text)
})

test('an invalid time is refused', () => {
  for (const text of [
    '',
    '1',
    '2026-13-01',
    '2026-02-29',
    '2026-10-01T24:30',
    '2026-10-01T24:00',
    'yesterday',
    '2026-10-01T10',
    '\0',
  ]) {
    assert.throws(() => parseTime('from', text), { code: 'input.invalid' }, text)
  }
})

const mainnetRules = { slotSeconds: 12, slotsPerEpoch: 32, epochsPerHour: 9, epochsPerDay: 225 }
const timeFrom = (genesis: string): ChainTime => ({ ...mainnetRules, genesisUnix: Date.parse(genesis) / 1000 })
const mainnet = timeFrom('2020-12-01T12:00:23Z')
const midnight = timeFrom('2026-10-13T00:00:00Z')
const late = timeFrom('2026-11-17T23:59:59Z')

/** The requested days, the last one included; `none`: an empty range. */
function daysOf(time: ChainTime, bounds: QueryBounds): string {
  const { from, until } = requestedEpochs(time, bounds)
  const days = (epoch: number) => epoch / time.epochsPerDay
  return from === until ? 'none' : `${days(from)}-${days(until) - 1}`
}

describe('which days a bound stands for', () => {
  type Granularity = QueryBounds['granularity']
  // Mainnet: day 0 starts on Tuesday 2020-12-01, so day n starts n days later. 2021-01-01 is day 31, 2024-12-31 is
  // day 1491, 2025-01-01 is 1492, 2025-10-01 is 1765, 2025-11-01 is 1796, 2025-12-01 is 1826, 2026-01-01 is 1857.
  // 2025-11-01 is a Saturday: its week is 2025-10-27 (1791) to 2025-11-02 (1797).
  const cases: readonly (readonly [ChainTime, Granularity, string, string, string])[] = [
    [mainnet, 'day', '2025-11-01', '2025-11-01', '1796-1796'],
    [mainnet, 'all', '2025-11-01', '2025-11-01', '1796-1796'],
    [mainnet, 'week', '2025-11-01', '2025-11-01', '1791-1797'],
    [mainnet, 'month', '2025-11-01', '2025-11-01', '1796-1825'],
    [mainnet, 'quarter', '2025-11-01', '2025-11-01', '1765-1856'],
    [mainnet, 'year', '2025-11-01', '2025-11-01', '1492-1856'],
    [mainnet, 'year', '2025-12-31', '2025-01-01', '1492-1856'],
    [mainnet, 'month', '2025-11-30', '2025-10-01', '1765-1825'],
    // A time belongs to the day that contains it. The day of 2025-11-01 starts at 12:00:23.
    [mainnet, 'day', '2025-11-01T12:00:22Z', '2025-11-01T12:00:22Z', '1795-1795'],
    [mainnet, 'day', '2025-11-01T12:00:23Z', '2025-11-01T12:00:23Z', '1796-1796'],
    [mainnet, 'month', '2025-11-01T00:00:00Z', '2025-11-01T00:00:00Z', '1765-1795'],
    [mainnet, 'month', '2025-11-01T12:00:23Z', '2025-11-01', '1796-1825'],
    [mainnet, 'day', '2025-11-02T01:00:00+02:00', '2025-11-01', '1796-1796'],
    // The day of genesis, and before it.
    [mainnet, 'day', '2020-12-01', '2020-12-01', '0-0'],
    [mainnet, 'week', '2020-11-30', '2020-11-30', '0-5'],
    [mainnet, 'month', '2020-12-31', '2020-12-01', '0-30'],
    [mainnet, 'quarter', '2020-10-01', '2020-10-01', '0-30'],
    [mainnet, 'year', '2020-01-01', '2020-01-01', '0-30'],
    [mainnet, 'year', '2021-06-01', '2020-01-01', '0-395'],
    [mainnet, 'day', '2020-11-30', '2020-11-30', 'none'],
    [mainnet, 'year', '2019-12-31', '2019-12-31', 'none'],
    [mainnet, 'day', '2015-01-01', '2020-12-02', '0-1'],
    [mainnet, 'day', '2015-01-01T00:00:00Z', '2015-01-01T00:00:00Z', '0-0'],
    [mainnet, 'day', '2020-12-01T12:00:22Z', '2020-12-02T12:00:23Z', '0-1'],
    [mainnet, 'week', '2015-01-01T00:00:00Z', '2015-01-01T00:00:00Z', '0-5'],
    [mainnet, 'month', '2015-01-01T00:00:00Z', '2015-01-01T00:00:00Z', '0-30'],
    [mainnet, 'quarter', '2015-01-01T00:00:00Z', '2015-01-01T00:00:00Z', '0-30'],
    [mainnet, 'year', '2015-01-01T00:00:00Z', '2015-01-01T00:00:00Z', '0-30'],
    [mainnet, 'all', '2015-01-01T00:00:00Z', '2015-01-01T00:00:00Z', '0-0'],
    // Tuesday 2026-10-13 at midnight. The week ends on 10-18 (day 5), October on day 18, the year on day 79.
    [midnight, 'day', '2026-10-13', '2026-10-13', '0-0'],
    [midnight, 'day', '2026-10-13T00:00:00Z', '2026-10-13T23:59:59Z', '0-0'],
    [midnight, 'week', '2026-10-12', '2026-10-12', '0-5'],
    [midnight, 'month', '2026-10-01', '2026-10-01', '0-18'],
    [midnight, 'quarter', '2026-10-01', '2026-10-01', '0-79'],
    [midnight, 'year', '2026-01-01', '2026-01-01', '0-79'],
    [midnight, 'year', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '0-79'],
    [midnight, 'year', '2025-12-31', '2025-12-31', 'none'],
    // Tuesday 2026-11-17, a second before midnight. The year ends on day 44, November on day 13.
    [late, 'day', '2026-11-17', '2026-11-17', '0-0'],
    [late, 'day', '2026-11-18', '2026-11-18', '1-1'],
    [late, 'day', '2026-11-18T23:59:58Z', '2026-11-18T23:59:58Z', '0-0'],
    [late, 'month', '2026-11-01', '2026-11-01', '0-13'],
    [late, 'year', '2026-01-01', '2026-01-01', '0-44'],
  ]
  for (const [time, granularity, from, to, expected] of cases) {
    const genesis = new Date(time.genesisUnix * 1000).toISOString()
    test(`genesis ${genesis}, ${granularity}, ${from} to ${to}: ${expected}`, () => {
      assert.equal(daysOf(time, { from, to, filterType: 'datetime', granularity }), expected)
      assert.equal(daysOf(time, { from: to, to: from, filterType: 'datetime', granularity }), expected)
    })
  }

  test('day and hour numbers are exact at every granularity', () => {
    for (const granularity of ['day', ...calendarUnits, 'all'] as const) {
      assert.equal(daysOf(mainnet, { from: '12', to: '9', filterType: 'day', granularity }), '9-12')
      const hours = requestedEpochs(mainnet, { from: '12', to: '9', filterType: 'hour', granularity })
      assert.deepEqual([hours.from, hours.until], [81, 117])
    }
  })

  test('one bound reaches back to genesis or forward to the newest epoch', () => {
    for (const granularity of ['day', ...calendarUnits, 'all'] as const) {
      const options = { filterType: 'datetime', granularity } as const
      const back = requestedEpochs(mainnet, { from: '2025-11-01', ...options })
      assert.deepEqual([back.from, back.older], [0, undefined])
      const forward = requestedEpochs(mainnet, { to: '2025-11-01', ...options })
      assert.deepEqual([forward.until, forward.older], [Number.POSITIVE_INFINITY, '2025-11-01'])
      assert.equal(requestedEpochs(mainnet, { from: '2015-01-01', ...options }).until, 0)
      assert.equal(requestedEpochs(mainnet, { to: '2015-01-01', ...options }).from, 0)
    }
  })
})

describe('4.5 and 4.6 name the same windows for the same dates', () => {
  const hoodi = timeFrom('2025-03-17T12:10:00Z')
  const holesky = timeFrom('2023-09-28T12:00:00Z')
  const lastSecond = timeFrom('2024-02-28T23:59:59Z')
  for (const time of [mainnet, hoodi, holesky, midnight, late, lastSecond]) {
    test(`genesis ${new Date(time.genesisUnix * 1000).toISOString()}`, () => {
      const calendar = chainDays(time)
      const genesisDate = dateAt(time.genesisUnix * 1000)
      for (const seed of seedsOf(1000, 200)) {
        const draws = createSeededRandom(`dates ${seed}`)
        const dates = [genesisDate + draws.whole(-20, 900)]
        dates.push((dates[0] as number) + draws.whole(0, 500))
        const [fromDate = '', toDate = ''] = dates.map((date) => formatDate(date as never))
        const one = requestedDays({ fromDate, toDate }, calendar)
        for (const granularity of ['day', ...calendarUnits, 'all'] as const) {
          const bounds = { from: toDate, to: fromDate, filterType: 'datetime', granularity } as const
          const many = requestedEpochs(time, bounds)
          const label = `${fromDate} to ${toDate} by ${granularity}`
          const isWhole = granularity === 'day' || granularity === 'all'
          if (isWhole) assert.deepEqual([many.from, many.until], [one.from, one.until], label)
          const windows = windowsOver(calendar, granularity, { from: 0, until: 0 })
          const keys = ({ from, until }: typeof one) =>
            from === until
              ? []
              : keysOf(windows, {
                  from: calendar.dayOf(from as Epoch),
                  until: calendar.dayOf((until - 1) as Epoch) + 1,
                })
          if (one.from < one.until) assert.deepEqual(new Set(keys(many)), new Set(keys(one)), label)
        }
      }
    })
  }
})
