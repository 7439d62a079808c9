// Epochs that were left out and are read later, in whatever order: the same rows as if they had been read in turn (decision 0156).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Range } from '#core/ranges.ts'
import { openBeacon } from '#io/beacon/client.ts'
import { systemClock } from '#io/clock.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openDesk, settingsWith, type TestDesk } from '#test/desk.ts'
import { coveredEpochs } from '../duties.ts'
import { measures } from '../measures.ts'
import { withChainTimes } from './chain.ts'
import { Follower } from './follow.ts'

const signal = new AbortController().signal

async function followerOn(desk: TestDesk, url: string, { fromEpoch = 0, watch = [] as readonly string[] } = {}) {
  const own = { epochsPerHour: 2, epochsPerDay: 4, watch, beacon: { urls: [url], fromEpoch } }
  const plain = { ...desk, settings: settingsWith({ validators: { networks: { hoodi: own } } }), clock: systemClock }
  const settings = await withChainTimes(plain)
  const beacon = openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, restMs: 1 })
  return new Follower({ ...desk, settings }, 'hoodi', beacon)
}

async function rowsIn({ facts, state }: TestDesk): Promise<unknown> {
  const lapses = 'validator, epoch, kind, slot, delay, best_delay, wrong, missing'
  const tables = [
    ['duty_hours', 'validator, hour, day, utc_day'],
    ['duty_days', 'validator, day'],
    ['duty_utc_days', 'validator, utc_day'],
  ]
  const duties = tables.map(([table, keys]) =>
    facts.query(
      `select ${keys}, ${measures.map((name) => `sum(${name}) as s_${name}`).join()} from ${table} group by ${keys} order by ${keys}`,
    ),
  )
  return Promise.all([
    ...duties,
    facts.query(`select ${lapses} from duty_lapses order by ${lapses}`),
    state.all('select * from validators order by validator_index'),
  ])
}

test('what is filled in, in any order and cut anywhere, is what reading in turn gives; a second time it is nothing', async () => {
  await using node = await openReplay()
  await using clean = await openDesk()
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
    await using desk = await openDesk()
    const follower = await followerOn(desk, node.url, { fromEpoch: 9 })
    await follower.catchUp(signal)
    assert.deepEqual(await coveredEpochs(desk.facts, 'hoodi'), [{ from: 9, until: 13 }])
    for (const epochs of order) await follower.fill(epochs, signal)
    assert.deepEqual(await coveredEpochs(desk.facts, 'hoodi'), [{ from: 0, until: 13 }])
    assert.deepEqual(await rowsIn(desk), expected)
    assert.equal(await follower.fill({ from: 0, until: 100 }, signal), 0)
    assert.equal((await follower.catchUp(signal)).written, 0)
  }
})

test('only what lies before the end of the coverage is filled in, and how much is left is told', async () => {
  await using node = await openReplay()
  await using desk = await openDesk()
  const follower = await followerOn(desk, node.url, { fromEpoch: 9 })
  assert.equal(await follower.fill({ from: 0, until: 100 }, signal), 0)
  await follower.catchUp(signal)
  const left: number[] = []
  assert.equal(await follower.fill({ from: 5, until: 100 }, signal, (count) => left.push(count)), 4)
  assert.deepEqual([left.at(-1), left.length > 1], [0, true])
  assert.deepEqual(await coveredEpochs(desk.facts, 'hoodi'), [{ from: 5, until: 13 }])
})

test('epochs of validators that were taken off the watch list since are not filled in', async () => {
  await using node = await openReplay()
  await using desk = await openDesk()
  await (await followerOn(desk, node.url, { fromEpoch: 9, watch: ['2', '7'] })).catchUp(signal)
  const later = await followerOn(desk, node.url, { watch: ['2', '7'] })
  assert.equal(await later.fill({ from: 6, until: 9 }, signal), 3)
  await desk.facts.write((tx) => tx.remove('beacon_watched', { key: 'hoodi' }))
  await desk.facts.write((tx) =>
    tx.append('beacon_watched', { network: ['hoodi'], validator: [2], from_epoch: [0], until_epoch: [11] }),
  )
  await assert.rejects(later.fill({ from: 0, until: 6 }, signal), /on the watch list no more/)
  assert.deepEqual(await coveredEpochs(desk.facts, 'hoodi'), [{ from: 6, until: 13 }])
})
