// Gaps that are filled later, in any order, give the same rows as reading all epochs in order
// (behaviour/validators.md#fill-gaps).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Range } from '#core/ranges.ts'
import { systemClock } from '#runtime/clock.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { storedRows } from '#test/stored-duties.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { readSummaries } from '../../duties/daily-summaries.ts'
import { networkId } from '../../duties/layout.ts'
import { listMissedDuties } from '../../duties/missed.ts'
import { importEntities } from '../../entities/import-entities.ts'
import { Follower } from '../follow.ts'
import { withChainTimes } from '../read/chain-identity.ts'

const signal = new AbortController().signal
const windows = { validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4 } } } }

async function followerOn(context: TestContext, url: string, { fromEpoch = 0, watch = [] as readonly string[] } = {}) {
  const hoodi = { epochsPerHour: 2, epochsPerDay: 4, watch, beacon: { urls: [url], fromEpoch } }
  const configured = settingsWith({ validators: { networks: { hoodi } } })
  const settings = await withChainTimes({ ...context, settings: configured, clock: systemClock })
  const beacon = openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  return new Follower({ ...context, settings }, 'hoodi', beacon)
}

async function rowsIn(context: TestContext): Promise<unknown> {
  const settings = await withChainTimes({ ...context, settings: settingsWith(windows), clock: systemClock })
  const grains = ['hours', 'utcHours', 'days', 'utcDays'] as const
  const rows = await Promise.all(grains.map((grain) => storedRows({ ...context, settings }, 'hoodi', grain)))
  const { hoodi } = settings.validators.networks
  const missed = await Promise.all(
    Array.from({ length: 64 }, (_, validator) =>
      listMissedDuties(context.dutiesState, {
        network: 'hoodi',
        time: hoodi,
        validators: [validator],
        epochs: { from: 0, until: 100 },
      }),
    ),
  )
  assert((rows[0]?.length ?? 0) > 100 && missed.flat().length > 0)
  return { rows, missed, validators: await context.ingest.all('select * from validators order by validator_index') }
}

test('filling gaps in any order stores the same rows as reading in order, and filling again does nothing', async () => {
  await using node = await openReplay()
  await using clean = await openContext()
  await (await followerOn(clean, node.url)).catchUp(signal)
  const expected = await rowsIn(clean)
  const orders: readonly (readonly Range[])[] = [
    [{ from: 0, until: 9 }],
    [
      { from: 3, until: 6 },
      { from: 0, until: 2 },
      { from: 0, until: 100 },
    ],
  ]
  for (const order of orders) {
    await using context = await openContext()
    const follower = await followerOn(context, node.url, { fromEpoch: 9 })
    await follower.catchUp(signal)
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 9, until: 13 }])
    for (const epochs of order) await follower.fill(epochs, signal)
    assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 0, until: 13 }])
    assert.deepEqual(await rowsIn(context), expected)
    assert.equal(await follower.fill({ from: 0, until: 100 }, signal), 0)
    assert.equal((await follower.catchUp(signal)).written, 0)
  }
})

test('only gaps before the end of the coverage are filled, and the number of missing epochs is reported', async () => {
  await using node = await openReplay()
  await using context = await openContext()
  const follower = await followerOn(context, node.url, { fromEpoch: 9 })
  assert.equal(await follower.fill({ from: 0, until: 100 }, signal), 0)
  await follower.catchUp(signal)
  const left: number[] = []
  assert.equal(await follower.fill({ from: 5, until: 100 }, signal, (count) => left.push(count)), 4)
  assert.deepEqual([left.at(-1), left.length > 1], [0, true])
  assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 5, until: 13 }])
})

test('gaps are not filled if a stored validator was removed from the watch list', async () => {
  await using node = await openReplay()
  await using context = await openContext()
  await (await followerOn(context, node.url, { fromEpoch: 9, watch: ['2', '7'] })).catchUp(signal)
  const later = await followerOn(context, node.url, { watch: ['2', '7'] })
  assert.equal(await later.fill({ from: 6, until: 9 }, signal), 3)
  await context.dutiesState.write(async (tx) => {
    await tx.run('delete from watch_ranges')
    await tx.run('insert into watch_ranges values (?, 2, 0, 11)', networkId('hoodi'))
  })
  await assert.rejects(later.fill({ from: 0, until: 6 }, signal), /no longer on the watch list/)
  assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [{ from: 6, until: 13 }])
})

test('complete days are summarized by pool, and again when pools change or a gap is filled', async () => {
  await using node = await openReplay()
  await using context = await openContext()
  const follower = await followerOn(context, node.url, { fromEpoch: 2 })
  await follower.catchUp(signal)
  const read = (kind: 'network' | 'pool', name: string) =>
    readSummaries(context.duties, { network: 'hoodi', kind, names: [name], days: { from: 0, until: 100 } })
  const [first, ...others] = await read('network', '')
  assert(first && others.length === 2, 'day 3 is not complete')
  assert.equal(first.sums.assigned, 2 * 64, 'two of four epochs')
  assert.deepEqual(
    others.map(({ validators, sums }) => [validators, sums.assigned]),
    others.map(() => [64, 4 * 64]),
  )
  const pool = (indices: readonly number[]) => indices.map((index, at) => ({ at, record: { index, pool: 'Harbour' } }))
  await importEntities(context.ingest, 'hoodi', pool([7, 8, 9]), 'pools.csv')
  await follower.catchUp(signal)
  assert.deepEqual(
    (await read('pool', 'Harbour')).map(({ day, validators }) => [day, validators]),
    [
      [0, 3],
      [1, 3],
      [2, 3],
    ],
  )
  await follower.fill({ from: 0, until: 2 }, signal)
  await follower.catchUp(signal)
  assert.equal((await read('network', ''))[0]?.sums.assigned, 4 * 64)
})
