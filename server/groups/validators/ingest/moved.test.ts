// What moves balances otherwise than by duties is kept and told, and is no earning (decision 0079).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBeacon } from '#io/beacon/client.ts'
import { systemClock } from '#io/clock.ts'
import { openReplay, type ReplayOptions } from '#test/beacon-replay.ts'
import { openDesk } from '#test/desk.ts'
import { withChainTimes } from './chain.ts'
import { Follower, type Step } from './follow.ts'

const slotsPerEpoch = 8
const gwei = 1_000_000_000

/** The recorded node, with what somebody put in or took out from some epoch's beginning on. */
const moving = (moves: readonly { validator: number; epoch: number; by: number }[]): ReplayOptions['meddle'] => {
  return (exchange) => {
    const [, slot] = /\/states\/(\d+)\/validators$/.exec(exchange.path) ?? []
    if (slot === undefined || exchange.status !== 200) return exchange
    const body = JSON.parse(exchange.body) as { data: { index: string; balance: string }[] }
    for (const { validator, epoch, by } of moves) {
      const own = body.data.find(({ index }) => index === String(validator))
      if (own && Number(slot) >= epoch * slotsPerEpoch) own.balance = String(Number(own.balance) + by)
    }
    return { ...exchange, body: JSON.stringify(body) }
  }
}

async function ingest(meddle: ReplayOptions['meddle']) {
  await using node = await openReplay({ derived: true, ssz: false, ...(meddle && { meddle }) })
  const beacon = { urls: [node.url], fromEpoch: 0 }
  await using desk = await openDesk({
    validators: { networks: { hoodi: { epochsPerHour: 4, epochsPerDay: 8, beacon } } },
  })
  const settings = await withChainTimes({ ...desk, clock: systemClock })
  const own = openBeacon({ network: 'hoodi', urls: [node.url], timeoutMs: 10_000, clock: systemClock, restMs: 1 })
  const steps: Step[] = []
  await new Follower({ ...desk, settings }, 'hoodi', own).catchUp(new AbortController().signal, (one) =>
    steps.push(one),
  )
  return {
    moved: steps.map((step) => step.moved),
    rows: await desk.facts.query('select epoch, validators, in_gwei, out_gwei from beacon_moved order by epoch'),
    earnings: await desk.facts.query(
      'select validator, sum(earnings) as sum from duty_days group by validator order by validator',
    ),
  }
}

test('deposits and what leaves are kept apart, by epoch, and told with the piece; earnings stay as they are', async () => {
  const still = await ingest(undefined)
  assert.deepEqual(still.rows, [])
  // Seen at the beginning of epoch 5, it happened in epoch 4, which is in the second piece.
  const moved = await ingest(
    moving([
      { validator: 5, epoch: 5, by: 3 * gwei },
      { validator: 6, epoch: 5, by: -2 * gwei },
      { validator: 5, epoch: 11, by: gwei },
    ]),
  )
  assert.deepEqual(moved.rows, [
    { epoch: 4, validators: 2, in_gwei: 3 * gwei, out_gwei: 2 * gwei },
    { epoch: 10, validators: 1, in_gwei: gwei, out_gwei: 0 },
  ])
  assert.deepEqual(moved.moved, [
    { validators: 0, inGwei: 0, outGwei: 0 },
    { validators: 2, inGwei: 3 * gwei, outGwei: 2 * gwei },
    { validators: 1, inGwei: gwei, outGwei: 0 },
    { validators: 0, inGwei: 0, outGwei: 0 },
  ])
  assert.deepEqual(moved.earnings, still.earnings)
})
