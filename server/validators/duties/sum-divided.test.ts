// A divided query returns what one snapshot has.
import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { openContext, type TestContext } from '#test/context.ts'
import { type EpochRow, perfect, segmentsOf, writeEpochs } from '#test/validators-world.ts'
import { partsIn, plainTime } from './layout.ts'
import type { RecordSums, SumInput } from './record-sums.ts'
import { sumDivided } from './sum-divided.ts'

const network = 'hoodi'
const settings = { validators: { networks: { [network]: { epochsPerHour: 2, epochsPerDay: 4 } } } }
const validators = Array.from({ length: 80 }, (_, at) => at)
const epochs = { from: 0, until: 4 }

const rowsWith = (earnings: number, from = 0, until = 4): EpochRow[] =>
  Array.from({ length: until - from }, (_, at) =>
    validators.map((validator) => ({ ...perfect, epoch: from + at, validator, earnings })),
  ).flat()

const timeOf = (context: TestContext) => plainTime(context.settings.validators.networks[network])

const inputOf = (context: TestContext): SumInput => ({
  query: {
    ...({ network, isUtc: false, days: { from: 0, until: 2 }, windowOfDay: [0, 0], byValidator: false } as const),
    time: timeOf(context),
    validators,
    grain: 'days',
  },
  wanted: { measures: ['earnings'], scores: [] },
})

/** Replaces all figures of the first four epochs. */
async function repair(context: TestContext, earnings: number): Promise<void> {
  const [id, time] = [1_000_000, timeOf(context)]
  for (const segment of segmentsOf(time, epochs, rowsWith(earnings)))
    await context.duties.update('stageSegment', { id, time, segment })
  for (const { number: part, epochs: replaced } of partsIn(time, epochs)) {
    const input = { id, network, time, epochs: replaced, parts: { from: part, until: part + 1 } } as const
    await context.duties.update('replacePart', input)
  }
  await context.duties.update('dropStage', { id })
}

/** The sum of two parts of the validators, if `change` is committed after the first one has been read. */
async function sumWhile(context: TestContext, change: () => Promise<unknown>) {
  const sizes: number[] = []
  let changed: Promise<unknown> | undefined
  const read = (input: SumInput): Promise<RecordSums> => context.duties.query('sumRecords', input)
  const { sums } = await sumDivided(context.dutiesState, inputOf(context), 2, async (input) => {
    sizes.push(input.query.validators.length)
    if (changed) return changed.then(() => read(input))
    const first = read(input)
    changed = first.then(change)
    return first
  })
  return { earnings: [...(sums.earnings ?? [])], sizes }
}

describe('the parts of a divided query', () => {
  test('belong to the same figures if a repair is committed in between', async () => {
    await using context = await openContext(settings)
    await writeEpochs(context, network, epochs, rowsWith(10))
    const { earnings } = await sumWhile(context, () => repair(context, 7))
    assert.deepEqual(earnings, [80 * 4 * 7])
  })

  test('belong to the same epochs if one is committed in between', async () => {
    await using context = await openContext(settings)
    await writeEpochs(context, network, epochs, rowsWith(10))
    const { earnings } = await sumWhile(context, () =>
      writeEpochs(context, network, { from: 4, until: 6 }, rowsWith(10, 4, 6)),
    )
    assert.deepEqual(earnings, [80 * 6 * 10])
  })

  test('are read once if nothing changes', async () => {
    await using context = await openContext(settings)
    await writeEpochs(context, network, epochs, rowsWith(10))
    assert.deepEqual(await sumWhile(context, async () => {}), { earnings: [80 * 4 * 10], sizes: [40, 40] })
  })
})
