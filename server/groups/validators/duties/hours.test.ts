import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Range } from '#core/ranges.ts'
import { openDesk, type TestDesk, testVisit } from '#test/desk.ts'
import { ask, perfect, register, writeEpochs } from '#test/validators-world.ts'
import { aggregateEffectiveness } from '../aggregate-effectiveness.ts'
import { effectiveness } from '../effectiveness.ts'
import { coveredEpochs } from './coverage.ts'
import { dropHours, hourEpochs } from './hours.ts'

// 225 epochs a day, 9 an hour, 25 hours a day.
const at = (day: number) => day * 225
const daysOf = (from: number, until: number): Range => ({ from: at(from), until: at(until) })

async function openDays(desk: TestDesk, { from, until }: Range): Promise<void> {
  const rows = Array.from({ length: until - from }, (_, place) => ({ ...perfect, epoch: from + place, validator: 5 }))
  await writeEpochs(desk, 'mainnet', { from, until }, rows)
}

const drop = (desk: TestDesk, untilDay: number) =>
  desk.dutiesState.write((tx) => dropHours(tx, 'mainnet', desk.settings.validators.networks.mainnet, untilDay))

const kept = (desk: TestDesk) => hourEpochs(desk.duties, 'mainnet')

async function hoursOf(desk: TestDesk, days: { fromDay: number; toDay: number }, utc = false) {
  const question = { validator_index_or_pubkey: '5', granularity: 'hour', ...days, limit: 1000, utc } as const
  const { body, confidence } = await ask(effectiveness, desk, question)
  return [body.results.length, confidence?.coverage]
}

async function assignedIn(desk: TestDesk, from: number, to: number) {
  const bounds = { filterType: 'hour', from: String(from), to: String(to) } as const
  const { body, confidence } = await ask(aggregateEffectiveness, desk, {
    ...bounds,
    ...{ indices: [5], groupBy: 'timeWindow', granularity: 'all', include: ['totalAttestationAssignments'] },
  })
  return [body.data[0]?.totalAttestationAssignments ?? null, confidence?.coverage]
}

test('deleted hours do not count as covered, whole days do, decision 0185', async () => {
  await using desk = await openDesk()
  await register(desk, 'mainnet', [5])
  await openDays(desk, daysOf(10, 13))
  assert.deepEqual(await hoursOf(desk, { fromDay: 10, toDay: 10 }), [25, 'complete'])
  // Hour 251 is the second of day 10, hour 310 the eleventh of day 12: 60 hours of 9 epochs.
  assert.deepEqual(await assignedIn(desk, 251, 310), [540, 'complete'])
  await drop(desk, 12)
  assert.deepEqual(await kept(desk), [daysOf(12, 13)])
  assert.deepEqual(await coveredEpochs(desk.duties, 'mainnet'), [daysOf(10, 13)])
  assert.deepEqual(await hoursOf(desk, { fromDay: 10, toDay: 10 }), [0, 'none'])
  assert.deepEqual(await hoursOf(desk, { fromDay: 11, toDay: 12 }), [25, `${at(12)}-${at(13) - 1}`])
  // Day 10 is cut, and its hours are gone; day 11 comes whole (225), of day 12 there are 11 hours (99).
  assert.deepEqual(await assignedIn(desk, 251, 310), [324, `${at(11)}-${at(12) + 98}`])
  assert.deepEqual(await assignedIn(desk, 250, 310), [549, 'complete'])
  assert.deepEqual(await assignedIn(desk, 251, 260), [null, 'none'])
  // Without any hour left, what has been read still tells who does not exist, decision 0199.
  await drop(desk, 13)
  const query = { network: 'mainnet', validator_index_or_pubkey: '6', granularity: 'hour' } as const
  const given = { ...query, limit: 1, offset: 0, utc: false, sortOrder: 'asc' } as const
  assert.equal((await effectiveness.reply(given, desk, testVisit())).is, 'nothing')
})

test('the coverage of UTC hours ends where hours were deleted', async () => {
  await using desk = await openDesk()
  await register(desk, 'mainnet', [5])
  await openDays(desk, daysOf(10, 13))
  await drop(desk, 12)
  const [hours, coverage] = await hoursOf(desk, { fromDay: 11, toDay: 13 }, true)
  assert(Number(hours) >= 25)
  assert.match(String(coverage), new RegExp(`^${at(12)}-`))
})

test('epochs that are filled in have their hours, those deleted between stay deleted', async () => {
  await using desk = await openDesk()
  await register(desk, 'mainnet', [5])
  await openDays(desk, daysOf(10, 13))
  await drop(desk, 12)
  await openDays(desk, daysOf(8, 9))
  await openDays(desk, { from: at(13), until: at(13) + 9 })
  assert.deepEqual(await kept(desk), [daysOf(8, 9), { from: at(12), until: at(13) + 9 }])
  assert.deepEqual(await hoursOf(desk, { fromDay: 8, toDay: 8 }), [25, 'complete'])
  assert.deepEqual(await hoursOf(desk, { fromDay: 10, toDay: 10 }), [0, 'none'])
})
