// A recorded node's chain, ingested, then asked about once more.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#io/clock.ts'
import { openReplay, type Replay } from '#test/beacon-replay.ts'
import { openDesk } from '#test/desk.ts'
import { withChainTimes } from './chain.ts'
import { rereadHour, storedHours } from './reread.ts'
import { followerOf } from './start.ts'

/** Hours of two epochs; 13 epochs are final and read, so six hours and a half. */
async function openIngested(node: Replay, watch: readonly string[] = []) {
  const hoodi = { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 0 }, watch: [...watch] }
  const desk = await openDesk({ validators: { networks: { hoodi } } })
  const live = { ...desk, clock: systemClock }
  const settings = await withChainTimes(live)
  await (await followerOf({ ...live, settings }, 'hoodi')).catchUp(new AbortController().signal)
  return { ...desk, settings }
}
const signal = () => AbortSignal.timeout(60_000)

test('an hour read again agrees with what is stored, first, middle and last; half an hour is not drawn', async () => {
  await using node = await openReplay({ derived: true })
  await using desk = await openIngested(node)
  assert.deepEqual(await storedHours(desk, 'hoodi'), [{ from: 0, until: 6 }])
  for (const hour of [0, 3, 5]) {
    const { checked, differing } = await rereadHour(desk, 'hoodi', hour, signal())
    assert.deepEqual(differing, [])
    assert.ok(checked > 10)
  }
})

test('a figure that was changed, a row that is gone and one that nobody earned are each found', async () => {
  await using node = await openReplay({ derived: true })
  await using desk = await openIngested(node)
  await desk.facts.write(async (tx) => {
    await tx.run('update duty_hours set earnings = earnings + 1 where hour = 3 and validator = 4')
    await tx.run('delete from duty_hours where hour = 3 and validator = 5')
    await tx.run('update duty_hours set validator = 9999 where hour = 3 and validator = 6')
  })
  const { differing } = await rereadHour(desk, 'hoodi', 3, signal())
  assert.match(differing[0] ?? '', /^hoodi hour 3 validator 4: earnings is -?\d+, the node gives -?\d+$/)
  assert.deepEqual(differing.slice(1), [
    'hoodi hour 3 validator 5: no row is stored',
    'hoodi hour 3 validator 6: no row is stored',
    'hoodi hour 3 validator 9999: the node knows of no duty',
  ])
})

test('with a watch list only those on it are compared', async () => {
  await using node = await openReplay({ derived: true })
  await using desk = await openIngested(node, ['3', '7'])
  assert.deepEqual(await rereadHour(desk, 'hoodi', 2, signal()), { checked: 2, differing: [] })
})

test('a watch list that has changed since: who was not on it then, or is not any more, is left out', async () => {
  await using node = await openReplay({ derived: true })
  await using desk = await openIngested(node, ['3', '7'])
  const hoodi = desk.settings.validators.networks.hoodi
  const networks = { ...desk.settings.validators.networks, hoodi: { ...hoodi, watch: ['3', '5'] } }
  const now = { ...desk, settings: { ...desk.settings, validators: { ...desk.settings.validators, networks } } }
  assert.deepEqual(await rereadHour(now, 'hoodi', 2, signal()), { checked: 1, differing: [] })
})

test('amounts of an execution source that was added since are no difference', async () => {
  await using node = await openReplay({ derived: true })
  await using desk = await openIngested(node)
  await desk.facts.write((tx) =>
    tx.run('update duty_hours set execution_unknown = 0, priority_fee = 77 where hour = 1'),
  )
  assert.deepEqual((await rereadHour(desk, 'hoodi', 1, signal())).differing, [])
})

test('hours that have expired cannot be drawn', async () => {
  await using node = await openReplay({ derived: true })
  await using desk = await openIngested(node)
  await desk.facts.write((tx) => tx.run('delete from duty_hours where hour < 4'))
  assert.deepEqual(await storedHours(desk, 'hoodi'), [{ from: 4, until: 6 }])
  assert.deepEqual(await storedHours(desk, 'mainnet'), [])
})
