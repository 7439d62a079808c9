// Coverage of hourly figures after old hours were deleted.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Range } from '#core/ranges.ts'
import { openContext, type TestContext, testRequestInfo } from '#test/context.ts'
import { callHandler, perfect, register, writeEpochs } from '#test/validators-world.ts'
import { aggregateEffectiveness } from '../endpoints/aggregate-effectiveness.ts'
import { effectiveness } from '../endpoints/effectiveness.ts'
import { coveredEpochs } from './coverage.ts'
import { dropHours, hourEpochs } from './hours.ts'

// 225 epochs a day, 9 an hour, 25 hours a day.
const at = (day: number) => day * 225
const daysOf = (from: number, until: number): Range => ({ from: at(from), until: at(until) })

async function openDays(context: TestContext, { from, until }: Range): Promise<void> {
  const rows = Array.from({ length: until - from }, (_, at) => ({ ...perfect, epoch: from + at, validator: 5 }))
  await writeEpochs(context, 'mainnet', { from, until }, rows)
}

const drop = (context: TestContext, untilDay: number) =>
  context.dutiesState.write((tx) => dropHours(tx, 'mainnet', context.settings.validators.networks.mainnet, untilDay))

const kept = (context: TestContext) => hourEpochs(context.duties, 'mainnet')

async function hoursOf(context: TestContext, days: { fromDay: number; toDay: number }, utc = false) {
  const question = { validator_index_or_pubkey: '5', granularity: 'hour', ...days, limit: 1000, utc } as const
  const { body, confidence } = await callHandler(effectiveness, context, question)
  return [body.results.length, confidence?.coverage]
}

async function assignedIn(context: TestContext, from: number, to: number) {
  const bounds = { filterType: 'hour', from: String(from), to: String(to) } as const
  const { body, confidence } = await callHandler(aggregateEffectiveness, context, {
    ...bounds,
    indices: [5],
    groupBy: 'timeWindow',
    granularity: 'all',
    include: ['totalAttestationAssignments'],
  })
  return [body.data[0]?.totalAttestationAssignments ?? null, confidence?.coverage]
}

test('deleted hours do not count as covered, whole days do', async () => {
  await using context = await openContext()
  await register(context, 'mainnet', [5])
  await openDays(context, daysOf(10, 13))
  assert.deepEqual(await hoursOf(context, { fromDay: 10, toDay: 10 }), [25, 'complete'])
  // Hour 251 is the second of day 10, hour 310 the eleventh of day 12: 60 hours of 9 epochs.
  assert.deepEqual(await assignedIn(context, 251, 310), [540, 'complete'])
  await drop(context, 12)
  assert.deepEqual(await kept(context), [daysOf(12, 13)])
  assert.deepEqual(await coveredEpochs(context.duties, 'mainnet'), [daysOf(10, 13)])
  assert.deepEqual(await hoursOf(context, { fromDay: 10, toDay: 10 }), [0, 'none'])
  assert.deepEqual(await hoursOf(context, { fromDay: 11, toDay: 12 }), [25, `${at(12)}-${at(13) - 1}`])
  // Day 10 is requested in part, and its hours are deleted. Day 11 is complete (225 epochs), day 12 has 11 hours (99).
  assert.deepEqual(await assignedIn(context, 251, 310), [324, `${at(11)}-${at(12) + 98}`])
  assert.deepEqual(await assignedIn(context, 250, 310), [549, 'complete'])
  assert.deepEqual(await assignedIn(context, 251, 260), [null, 'none'])
  // Covered epochs without hours still prove that a validator does not exist, behaviour/validators.md#unknown-validators.
  await drop(context, 13)
  const query = { network: 'mainnet', validator_index_or_pubkey: '6', granularity: 'hour' } as const
  const given = { ...query, limit: 1, offset: 0, utc: false, sortOrder: 'asc' } as const
  assert.equal((await effectiveness.handle(given, context, testRequestInfo())).is, 'nothing')
})

test('the coverage of UTC hours ends where hours were deleted', async () => {
  await using context = await openContext()
  await register(context, 'mainnet', [5])
  await openDays(context, daysOf(10, 13))
  await drop(context, 12)
  const [hours, coverage] = await hoursOf(context, { fromDay: 11, toDay: 13 }, true)
  assert(Number(hours) >= 25)
  assert.match(String(coverage), new RegExp(`^${at(12)}-`))
})

test('epochs that are filled in have hours; deleted hours stay deleted', async () => {
  await using context = await openContext()
  await register(context, 'mainnet', [5])
  await openDays(context, daysOf(10, 13))
  await drop(context, 12)
  await openDays(context, daysOf(8, 9))
  await openDays(context, { from: at(13), until: at(13) + 9 })
  assert.deepEqual(await kept(context), [daysOf(8, 9), { from: at(12), until: at(13) + 9 }])
  assert.deepEqual(await hoursOf(context, { fromDay: 8, toDay: 8 }), [25, 'complete'])
  assert.deepEqual(await hoursOf(context, { fromDay: 10, toDay: 10 }), [0, 'none'])
})
