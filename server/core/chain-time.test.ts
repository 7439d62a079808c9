import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type DateNumber, formatDate, parseDate } from './calendar.ts'
import {
  type ChainDay,
  type ChainTime,
  chainDays,
  type DayCalendar,
  type Epoch,
  epochStartMs,
  epochsOfHour,
  hourOf,
  type UtcDay,
  utcDays,
} from './chain-time.ts'

const mainnet: ChainTime = {
  genesisUnix: 1_606_824_023, // 2020-12-01T12:00:23Z
  slotSeconds: 12,
  slotsPerEpoch: 32,
  epochsPerHour: 9,
  epochsPerDay: 225,
}
const startOf = (epoch: number): string => new Date(epochStartMs(mainnet, epoch as Epoch)).toISOString()

describe('mainnet', () => {
  const [chain, utc] = [chainDays(mainnet), utcDays(mainnet)]

  test('a chain day of 225 epochs lasts 24 hours from noon and 23 seconds', () => {
    // 2115 days × 225 epochs = 475 875
    assert.deepEqual(chain.epochsOf(2115 as ChainDay), { from: 475_875, until: 476_100 })
    assert.equal(startOf(475_875), '2026-09-16T12:00:23.000Z')
    assert.equal(startOf(476_100), '2026-09-17T12:00:23.000Z')
    assert.equal(formatDate(chain.dateOf(2115 as ChainDay)), '2026-09-16')
  })

  test('an hour is 9 epochs, 25 to a day', () => {
    assert.equal(hourOf(mainnet, 475_875 as Epoch), 2115 * 25)
    assert.deepEqual(epochsOfHour(mainnet, 1 as never), { from: 9, until: 18 })
  })

  test('an epoch belongs to the UTC day in which it starts, and UTC day 0 is the date of genesis', () => {
    // 12:00:23 + 112 × 384 s = 23:57:11; epoch 113 starts at 00:03:35 of the next date.
    assert.equal(startOf(112), '2020-12-01T23:57:11.000Z')
    assert.equal(startOf(113), '2020-12-02T00:03:35.000Z')
    assert.deepEqual([utc.dayOf(112 as Epoch), utc.dayOf(113 as Epoch)], [0, 1])
    assert.deepEqual(utc.epochsOf(0 as UtcDay), { from: 0, until: 113 })
    // 225 epochs are 24 hours to the second, so every later date has 225.
    assert.deepEqual(utc.epochsOf(1 as UtcDay), { from: 113, until: 338 })
  })

  test('a time is in the day that contains it, also at the edges', () => {
    const noon = Date.UTC(2026, 8, 16, 12, 0, 23)
    assert.deepEqual([chain.dayAt(noon - 1), chain.dayAt(noon)], [2114, 2115])
    assert.equal(utc.dateOf(utc.dayAt(noon)), parseDate('2026-09-16'))
    assert.equal(chain.dayAt(Date.UTC(2020, 0, 1)) < 0, true)
  })
})

const anyTime: fc.Arbitrary<ChainTime> = fc.record({
  genesisUnix: fc.integer({ min: 0, max: 2_000_000_000 }),
  slotSeconds: fc.integer({ min: 1, max: 600 }),
  slotsPerEpoch: fc.integer({ min: 1, max: 64 }),
  epochsPerHour: fc.integer({ min: 1, max: 12 }),
  epochsPerDay: fc.integer({ min: 1, max: 300 }),
})
const lines: readonly ((time: ChainTime) => DayCalendar)[] = [chainDays, utcDays]

for (const lineOf of lines) {
  test(`${lineOf.name}: each epoch is in its day, and days grow with epochs`, () => {
    fc.assert(
      fc.property(anyTime, fc.integer({ min: 0, max: 1_000_000 }), (time, number) => {
        const line = lineOf(time)
        const epoch = number as Epoch
        const { from, until } = line.epochsOf(line.dayOf(epoch))
        assert(from <= epoch && epoch < until)
        assert(line.dayOf((epoch + 1) as Epoch) >= line.dayOf(epoch))
        assert.equal(line.dayAt(epochStartMs(time, epoch)), line.dayOf(epoch))
      }),
    )
  })

  test(`${lineOf.name}: the first day from a date is the first that starts on it or later`, () => {
    fc.assert(
      fc.property(anyTime, fc.integer({ min: 0, max: 30_000 }), (time, number) => {
        const line = lineOf(time)
        const date = number as DateNumber
        const first = line.firstFrom(date)
        assert(line.dateOf(first) >= date)
        if (first > 0) assert(line.dateOf(first - 1) < date)
      }),
    )
  })
}
