// Validators compared with their network, and with the thresholds of programmes. The network has ten validators; one of
// them misses some votes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { callHandler, invalidInputs, noEntities, perfect, register, writeEpochs } from '#test/validators-world.ts'
import { plainTime } from '../../duties/layout.ts'
import { comparison } from './comparison.ts'
import { comparisonForOperator } from './comparison-for-operator.ts'

const network = 'hoodi'
const { signal } = new AbortController()
const epochsPerDay = 4
const indices = Array.from({ length: 10 }, (_, index) => index)
const missed = {
  ...perfect,
  inclusions: 0,
  included: 0,
  inclusion_delay: 0,
  correct_source: 0,
  correct_target: 0,
  correct_head: 0,
}

/** Validator 9 misses its vote in these epochs. */
async function openWorld(
  missedIn: readonly number[],
  programmes: readonly object[] = [],
  until = 9,
): Promise<TestContext> {
  const settings = { epochsPerHour: 2, epochsPerDay }
  const context = await openContext({ validators: { networks: { [network]: settings }, programmes: [...programmes] } })
  await register(context, network, indices)
  const rows = Array.from({ length: until }, (_, epoch) =>
    indices.map((validator) => ({
      ...(validator === 9 && missedIn.includes(epoch) ? missed : perfect),
      epoch,
      validator,
    })),
  ).flat()
  await writeEpochs(context, network, { from: 0, until }, rows)
  await summarize(context, until)
  return context
}

function summarize(context: TestContext, until: number): Promise<number> {
  const time = plainTime(context.settings.validators.networks[network])
  return context.duties.update('summarizeDays', { network, time, until, entities: noEntities, daysMax: 10 }, { signal })
}

const read = async (context: TestContext, input: object = { indices: [9] }) =>
  (await callHandler(comparison, context, { network, ...input })).body

const programme = (more: object = {}) => ({ network, name: 'csm', days: 2, ...more })

test('uptime is compared by sums, effectiveness by means, and the percentile is the mean of the days', async () => {
  await using context = await openWorld([0, 1, 4])
  const { network: whole, validators, days, partialDays, startDay, endDay } = await read(context, { indices: [9, 1] })
  assert.deepEqual({ days, partialDays, startDay, endDay }, { days: 2, partialDays: [], startDay: 0, endDay: 1 })
  assert.deepEqual(whole, { uptime: 77 / 80, attesterEffectiveness: 96.25, validatorEffectiveness: 96.25 })
  const [best, worst] = validators
  assert.deepEqual(best?.uptime, { value: 1, difference: 3.75 })
  assert.deepEqual(worst?.uptime, { value: 0.625, difference: -33.75 })
  assert.deepEqual([worst?.attesterEffectiveness.value, worst?.attesterEffectiveness.difference], [62.5, -33.75])
  assert(Number(worst?.attesterEffectiveness.percentile) < 10 && Number(best?.attesterEffectiveness.percentile) > 50)
})

test('a value that equals the threshold is below it', async () => {
  // 7 of 8 votes, and 79 of 80 in the network: the difference is 11.25 points.
  const rules = [programme({ basisPoints: 1125 }), programme({ name: 'next', basisPoints: 1126 })]
  await using context = await openWorld([0], rules)
  const [validator] = (await read(context)).validators
  assert.deepEqual(validator?.programmes, [
    { name: 'csm', figure: 'uptime', days: 2, value: 0.875, threshold: 0.875, margin: 0, isBelow: true },
    { name: 'next', figure: 'uptime', days: 2, value: 0.875, threshold: 0.8749, margin: 0.01, isBelow: false },
  ])
})

test('a programme has a period of its own, any compared figure, and may be restricted to validators', async () => {
  const rules = [
    programme({ days: 1 }),
    programme({ name: 'score', figure: 'attesterEffectiveness', basisPoints: 0, validators: [9] }),
    programme({ name: 'others', pool: 'another pool' }),
  ]
  await using context = await openWorld([0], rules)
  const { validators } = await read(context, { indices: [1, 9], days: 1 })
  const names = validators.map(({ programmes }) => programmes.map(({ name, days, isBelow }) => [name, days, isBelow]))
  assert.deepEqual(names, [
    [['csm', 1, false]],
    [
      ['csm', 1, false],
      ['score', 2, true],
    ],
  ])
})

test('days without a complete summary are named and do not count', async () => {
  await using context = await openWorld([0, 5], [programme({ basisPoints: 2000 })])
  await context.dutiesState.write((tx) => tx.run('update duty_summaries set epochs = 3 where day = 0'))
  const { days, partialDays, validators } = await read(context)
  assert.deepEqual({ days, partialDays }, { days: 1, partialDays: [0] })
  assert.deepEqual([validators[0]?.days, validators[0]?.uptime.value], [1, 0.75])
  assert.deepEqual(
    validators[0]?.programmes.map(({ days: count, isBelow }) => [count, isBelow]),
    [[1, true]],
  )
  await context.dutiesState.write((tx) => tx.run('update duty_summaries set method = 2 where day = 1'))
  assert.deepEqual((await read(context)).partialDays, [0, 1])
})

test('without a summary or without duties, figures are null', async () => {
  await using empty = await openWorld([], [programme()], 3)
  const before = await read(empty)
  assert.deepEqual([before.startDay, before.days, before.network.uptime], [null, 0, null])
  assert.equal(before.validators[0]?.programmes[0]?.isBelow, null)
  await using context = await openWorld([], [programme()])
  const [unknown] = (await read(context, { indices: [77] })).validators
  assert.deepEqual([unknown?.days, unknown?.uptime.value, unknown?.programmes[0]?.isBelow], [0, null, null])
})

test('validators are named in one way, and at most 1000 of them', async () => {
  await using context = await openWorld([])
  assert.equal((await invalidInputs(read(context, {}))).length, 7)
  assert.equal(await comparisonForOperator(context, { network, indices: [9] }).then((text) => typeof text), 'string')
})
