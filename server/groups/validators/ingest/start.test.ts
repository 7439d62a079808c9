// The loops that a server runs over its networks, and what /readyz hears of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Parsed } from '#api/kit.ts'
import { systemClock } from '#io/clock.ts'
import { openReplay, truth } from '#test/beacon-replay.ts'
import { openDesk, testVisit } from '#test/desk.ts'
import { effectiveness } from '../effectiveness.ts'
import { withChainTimes } from './chain.ts'
import { beaconFindings, startBeacon } from './start.ts'

test('a server with a beacon node fills itself, tells how far it is, and stops when told', async () => {
  await using node = await openReplay()
  await using plain = await openDesk({
    validators: {
      networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 0 } } },
    },
  })
  const settings = await withChainTimes({ ...plain, clock: systemClock })
  // The present of the recording: the middle of its last epoch.
  const desk = { ...plain, settings, clock: { ...systemClock, now: () => (1_794_705_870 + 16.5 * 16) * 1000 } }
  assert.deepEqual(await beaconFindings(desk), [
    { name: 'beacon hoodi', ok: false, says: 'no epoch has been read yet' },
  ])
  const stop = new AbortController()
  const told: number[] = []
  await startBeacon(desk, stop.signal, (network, { until }) => {
    assert.equal(network, 'hoodi')
    told.push(until)
    if (until === 13) stop.abort()
  })
  assert.deepEqual(told, [2, 4, 6, 8, 10, 12, 13])
  assert.deepEqual(await beaconFindings(desk), [{ name: 'beacon hoodi', ok: true, says: '3 epochs behind' }])
  const input = {
    network: 'hoodi',
    validator_index_or_pubkey: '0',
    limit: 10,
    offset: 0,
    granularity: 'day',
    sortOrder: 'asc',
    utc: false,
  }
  const answer = await effectiveness.reply(input as Parsed<typeof effectiveness.endpoint>, desk, testVisit())
  assert(answer.is === 'body')
  const uptimeOf = (from: number, until: number) => {
    const rows = truth()
      .epochs.slice(from, until)
      .map(({ rows }) => rows[0])
    return rows.reduce((sum, row) => sum + (row?.included ?? 0), 0) / rows.length
  }
  assert.deepEqual(
    answer.body.results.map(({ day, uptime, startEpoch, endEpoch }) => [day, uptime, startEpoch, endEpoch]),
    [
      [0, uptimeOf(0, 4), 0, 3],
      [1, uptimeOf(4, 8), 4, 7],
      [2, uptimeOf(8, 12), 8, 11],
      [3, uptimeOf(12, 13), 12, 12],
    ],
  )
  assert.equal(uptimeOf(0, 4), 0.75, 'it is not all ones')
})
