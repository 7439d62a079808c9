// Summaries of days, compared with a simple reference.
import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { createSeededRandom } from '#simulator/seeded-random.ts'
import type { State } from '#storage/state.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { drawDuties, drawValidators } from '#test/validators-acting.ts'
import { figuresOf, type Row } from '#test/validators-reference.ts'
import { writeEpochs } from '#test/validators-world.ts'
import { measures } from '../method/measures.ts'
import {
  type DaySummary,
  percentiles,
  readSummaries,
  type SummaryEntities,
  type SummaryKind,
  summarizeDays,
} from './daily-summaries.ts'
import { plainTime } from './layout.ts'

const network = 'mainnet'
const windows = { epochsPerHour: 1, epochsPerDay: 3 }
const epochs = { from: 4, until: 64 } as never
const { signal } = new AbortController()

const simulatedValidators = drawValidators(createSeededRandom('summaries'), 12, epochs)
const rows = drawDuties(createSeededRandom('summaries duties'), simulatedValidators, epochs, true)
const indices = simulatedValidators.map(({ index }) => index)

const always = { from: 0, until: 1000 }

/** The first four and the next three validators; an operator runs some of both. */
const entitiesWith = (version: number, pools: readonly (readonly number[])[]): SummaryEntities => {
  const lists = [...pools, indices.slice(2, 6)]
  return {
    version,
    changes: [{ version, ...always }],
    list: lists.map((_, at) =>
      at < pools.length ? { kind: 'pool', name: `pool ${at}` } : { kind: 'operator', name: 'operator' },
    ),
    validators: Int32Array.from(lists.flat()),
    entityIndices: Int32Array.from(lists.flatMap((list, at) => list.map(() => at))),
    fromDays: Int32Array.from(lists.flat(), () => always.from),
    untilDays: Int32Array.from(lists.flat(), () => always.until),
  }
}
const entities = entitiesWith(1, [indices.slice(0, 4), indices.slice(4, 7)])

const openNetwork = () => openContext({ validators: { networks: { mainnet: windows } } })

const timeOf = (context: TestContext) => plainTime(context.settings.validators.networks[network])

const summarize = (context: TestContext, summaryEntities: SummaryEntities, daysMax = 100, until = 64) =>
  context.duties.update(
    'summarizeDays',
    { network, time: timeOf(context), until, entities: summaryEntities, daysMax },
    { signal },
  )

const read = (context: TestContext, kind: SummaryKind = 'network', name = '') =>
  readSummaries(context.duties, { network, kind, names: [name], days: { from: 0, until: 100 } })

/** Reference: computed from every single epoch. */
function assertDay(context: TestContext, summary: DaySummary, who: readonly number[]): void {
  const rowsOfDay = rows.filter(
    ({ epoch, validator }) => Math.floor(epoch / 3) === summary.day && who.includes(validator),
  )
  const byValidator = Map.groupBy(rowsOfDay, ({ validator }) => validator)
  assert.equal(summary.validators, byValidator.size)
  for (const name of measures)
    assert.equal(
      summary.sums[name],
      rowsOfDay.reduce((sum, row) => sum + row[name], 0),
      `${name} of day ${summary.day}`,
    )
  const scoresOf = (name: 'attesterEffectiveness' | 'proposerEffectiveness' | 'validatorEffectiveness') =>
    [...byValidator.values()]
      .map((list: Row[]) => figuresOf(timeOf(context), false, 'day', list)[name] as number | null)
      .filter((score) => score !== null)
      .sort((a, b) => a - b)
  for (const [score, name] of [
    ['attester', 'attesterEffectiveness'],
    ['proposer', 'proposerEffectiveness'],
    ['validator', 'validatorEffectiveness'],
  ] as const) {
    const expected = scoresOf(name)
    const spread = summary.scores[score]
    assert.equal(spread?.validators ?? 0, expected.length, `${score} of day ${summary.day}`)
    if (!spread) continue
    const mean = expected.reduce((sum, one) => sum + one, 0) / expected.length
    assert(Math.abs(spread.mean - mean) < 1e-7)
    percentiles.forEach((percent, at) => {
      // The smallest score that at least this share of validators does not exceed.
      const found = expected.find(
        (one) => expected.filter((other) => other <= one).length * 100 >= percent * expected.length,
      )
      assert(Math.abs((spread.percentiles[at] as number) - (found as number)) < 1e-7, `${percent} % of ${expected}`)
    })
  }
}

describe('the summary of a day', () => {
  test('has the sums and score distributions of the network, each pool and each operator', async () => {
    await using context = await openNetwork()
    await writeEpochs(context, network, epochs, rows)
    assert.equal(await summarize(context, entities), 20)
    const days = await read(context)
    // The day of epoch 63 is not over.
    assert.deepEqual(
      days.map(({ day }) => day),
      Array.from({ length: 20 }, (_, at) => at + 1),
    )
    for (const day of days) assertDay(context, day, indices)
    for (const [name, who] of [
      ['pool 0', indices.slice(0, 4)],
      ['pool 1', indices.slice(4, 7)],
    ] as const)
      for (const day of await read(context, 'pool', name)) assertDay(context, day, who)
    for (const day of await read(context, 'operator', 'operator')) assertDay(context, day, indices.slice(2, 6))
    assert.deepEqual(await read(context, 'pool', 'no such pool'), [])
  })

  test('is the same after days were merged, and is created once', async () => {
    await using context = await openNetwork()
    await writeEpochs(context, network, epochs, rows)
    await summarize(context, entities)
    const before = await read(context)
    await context.duties.update('mergeSpans', { network, time: timeOf(context), until: 64 }, { signal })
    assert.equal(await summarize(context, entities), 0)
    await context.dutiesState.write((tx) => tx.run('delete from duty_summary_days'))
    assert.equal(await summarize(context, entities), 20)
    assert.deepEqual(await read(context), before)
  })

  test('is created again after pools changed, in batches of days, newest first', async () => {
    await using context = await openNetwork()
    await writeEpochs(context, network, epochs, rows)
    await summarize(context, entities)
    const changed = entitiesWith(2, [indices.slice(0, 2)])
    assert.equal(await summarize(context, changed, 5), 5)
    const newest = await read(context, 'pool', 'pool 0')
    for (const day of newest) assertDay(context, day, day.day > 15 ? indices.slice(0, 2) : indices.slice(0, 4))
    while ((await summarize(context, changed, 5)) > 0);
    for (const day of await read(context, 'pool', 'pool 0')) assertDay(context, day, indices.slice(0, 2))
    assert.deepEqual(await read(context, 'pool', 'pool 1'), [], 'a removed pool has no days')
  })

  test('has the validators that belonged to the pool on that day, and only days that a change names are outdated', async () => {
    await using context = await openNetwork()
    await writeEpochs(context, network, epochs, rows)
    await summarize(context, entities)
    const [moved, ...others] = indices.slice(0, 4) as [number, ...number[]]
    // The first validator changes from pool 0 to pool 1 on day 12.
    const { fromDays, untilDays, validators, entityIndices } = entities
    const changed: SummaryEntities = {
      ...{ version: 2, changes: [...entities.changes, { version: 2, from: 12, until: 1000 }], list: entities.list },
      ...{ validators: Int32Array.of(...validators, moved), entityIndices: Int32Array.of(...entityIndices, 1) },
      ...{ fromDays: Int32Array.of(...fromDays, 12), untilDays: Int32Array.of(...untilDays, 1000) },
    }
    changed.untilDays[0] = 12
    assert.equal(await summarize(context, changed), 9, 'the days 12 to 20')
    assert.equal(await summarize(context, changed), 0)
    for (const day of await read(context, 'pool', 'pool 0'))
      assertDay(context, day, day.day < 12 ? [moved, ...others] : others)
    for (const day of await read(context, 'pool', 'pool 1'))
      assertDay(context, day, [...(day.day < 12 ? [] : [moved]), ...indices.slice(4, 7)])
  })

  test('is created again after a gap was filled', async () => {
    await using context = await openNetwork()
    const outside = { from: 4, until: 10 }
    await writeEpochs(context, network, outside, rows)
    await writeEpochs(context, network, { from: 11, until: 64 }, rows)
    await summarize(context, entities)
    await writeEpochs(context, network, { from: 10, until: 11 }, rows)
    assert.equal(await summarize(context, entities), 1)
    for (const day of await read(context)) assertDay(context, day, indices)
  })

  test('is not written if the day changes while it is computed, and is created later', async () => {
    await using context = await openNetwork()
    await writeEpochs(context, network, { from: 4, until: 10 }, rows)
    await writeEpochs(context, network, { from: 11, until: 13 }, rows)
    const { dutiesState: ingest } = context
    let isFilled = false
    const filledMeanwhile: Pick<State, 'snapshot' | 'write'> = {
      snapshot: ingest.snapshot,
      write: async (work, options) => {
        if (!isFilled) await writeEpochs(context, network, { from: 10, until: 11 }, rows)
        isFilled = true
        return ingest.write(work, options)
      },
    }
    const input = { network, time: timeOf(context), until: 12, entities, daysMax: 1 } as const
    // The newest day that is over has the epochs 9 to 11.
    assert.equal(await summarizeDays(filledMeanwhile, input), 0)
    assert.deepEqual(await read(context), [])
    assert.equal(await summarize(context, entities, 1, 12), 1)
    const [day] = await read(context)
    assert.equal(day?.day, 3)
    assertDay(context, day, indices)
  })
})
