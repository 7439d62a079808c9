// Changes of past days are recorded in the transaction that makes them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openContext } from '#test/context.ts'
import { perfect, segmentsOf } from '#test/validators-world.ts'
import { partsIn, plainTime } from './layout.ts'
import { countChanges, lastRevision, nextChange } from './past-changes.ts'
import { hasStages } from './stage.ts'

const network = 'hoodi'

test('filled gaps and repairs get a new revision, epochs at the head do not', async () => {
  await using context = await openContext({
    validators: { networks: { [network]: { slotsPerEpoch: 300, epochsPerHour: 2, epochsPerDay: 24 } } },
  })
  const { duties } = context
  const time = plainTime(context.settings.validators.networks[network])
  const segments = (from: number, until: number) =>
    segmentsOf(
      time,
      { from, until },
      Array.from({ length: until - from }, (_, at) => ({ epoch: from + at, validator: 1, ...perfect })),
    )
  const head = { hoursKeptDays: 0, missedKeptDays: 0 }
  await duties.update('commitEpochs', { network, time, segments: segments(0, 10), head })
  await duties.update('commitEpochs', { network, time, segments: segments(30, 60), head })
  assert.equal(await lastRevision(duties, network), 0)
  assert.equal(await nextChange(duties, network, 0), undefined)

  await duties.update('commitEpochs', { network, time, segments: segments(10, 30) })
  const parts = partsIn(time, { from: 10, until: 30 })
  assert.ok(parts.length > 1)
  assert.equal(await countChanges(duties, network, 0), parts.length)
  assert.deepEqual({ ...(await nextChange(duties, network, 0)) }, { part: parts[0]?.number, revision: 1 })
  assert.deepEqual({ ...(await nextChange(duties, network, 1)) }, { part: parts[1]?.number, revision: 2 })

  const [first] = parts
  assert.ok(first)
  for (const segment of segments(first.epochs.from, first.epochs.until))
    await duties.update('stageSegment', { id: 1_000_000, time, segment })
  assert.equal(hasStages(), true)
  const replaced = { from: first.number, until: first.number + 1 }
  await duties.update('replacePart', { id: 1_000_000, network, time, epochs: first.epochs, parts: replaced })
  await duties.update('dropStage', { id: 1_000_000 })
  assert.equal(hasStages(), false)
  // The part has one entry, with its last revision.
  assert.equal(await countChanges(duties, network, 0), parts.length)
  assert.deepEqual(
    { ...(await nextChange(duties, network, parts.length)) },
    {
      part: first.number,
      revision: parts.length + 1,
    },
  )
  assert.equal(await lastRevision(duties, 'mainnet'), 0)
})

test('the past of an added validator gets a new revision', async () => {
  await using context = await openContext({
    validators: { networks: { [network]: { slotsPerEpoch: 300, epochsPerHour: 2, epochsPerDay: 24 } } },
  })
  const { duties } = context
  const time = plainTime(context.settings.validators.networks[network])
  const segmentsFor = (validator: number, until: number) =>
    segmentsOf(
      time,
      { from: 0, until },
      Array.from({ length: until }, (_, epoch) => ({ epoch, validator, ...perfect })),
    )
  const segments = segmentsFor(1, 10).map((segment) => ({
    ...segment,
    watched: { validators: Int32Array.of(1), countBefore: 5, count: 5 },
  }))
  const head = { hoursKeptDays: 0, missedKeptDays: 0 }
  await duties.update('commitEpochs', { network, time, segments, head })
  assert.equal(await lastRevision(duties, network), 0)
  const [segment] = segmentsFor(2, 2)
  assert.ok(segment)
  await duties.update('commitPast', { network, time, segment, validators: [2] })
  assert.equal(await lastRevision(duties, network), 1)
})
