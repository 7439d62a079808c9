import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  type AlertsTest,
  epochEndMs,
  epochMs,
  openAlertsTest,
  watchedIndices,
  testWebhook as webhook,
} from '#test/alerts-network.ts'
import { listDeliveries } from './deliveries.ts'
import type { DeliveryBody } from './delivery-body.ts'
import { examineEpochs } from './examine-epochs.ts'

/** Stored by the first test. The others begin with `world.startAgain`. */
let world: AlertsTest
before(async () => {
  world = await openAlertsTest({ webhooks: [webhook()] })
})
after(() => world[Symbol.asyncDispose]())

async function examineAll({ context }: AlertsTest): Promise<number> {
  let stored = 0
  for (;;) {
    const examined = await examineEpochs(context, 'hoodi')
    if (!examined) return stored
    stored += examined.deliveries
  }
}

/** By epoch and event. */
async function bodiesOf({ context }: AlertsTest, webhookId = 'ops'): Promise<DeliveryBody[]> {
  const stored = await listDeliveries(context.ingest, 1000)
  return stored
    .filter((delivery) => delivery.webhook === webhookId)
    .map(({ body }) => JSON.parse(body) as DeliveryBody)
    .sort((a, b) => a.epoch - b.epoch || a.event.localeCompare(b.event))
}

/** `epoch event: validators` */
const summaries = (all: readonly DeliveryBody[]) =>
  all.map(({ epoch, event, validators }) => `${epoch} ${event}: ${validators.map(({ index }) => index).join()}`)

const outage = watchedIndices.filter((index) => index >= 20 && index < 30)

const events = [
  `4 attestations_missed: ${outage}`,
  '4 block_missed: 8',
  `5 balance_decreased: 5,${outage}`,
  '5 exit: 5,7',
  '5 slashed: 5',
  `6 recovered: ${outage}`,
  `7 recovered: ${outage}`,
]

test('finds exactly the scripted events, and nothing about validators that are not watched', async () => {
  const at = world
  for (let until = 1; until <= 11; until++) {
    await at.store(until)
    await examineAll(at)
  }
  const bodies = await bodiesOf(at)
  assert.deepEqual(summaries(bodies), events)
  const details = (epoch: number, event: string) =>
    bodies.find((body) => body.epoch === epoch && body.event === event)?.validators.at(-1)
  assert.deepEqual(details(4, 'attestations_missed'), {
    index: 29,
    pool: null,
    operator: null,
    missedInARow: 2,
    fromEpoch: 3,
  })
  assert.deepEqual(details(4, 'block_missed'), { index: 8, pool: null, operator: null, slots: [36] })
  assert.deepEqual(details(5, 'slashed'), { index: 5, pool: null, operator: null, slots: [42] })
  assert.deepEqual(details(5, 'exit'), { index: 7, pool: null, operator: null, exitEpoch: 7 })
  assert.deepEqual(details(6, 'recovered'), {
    index: 29,
    pool: null,
    operator: null,
    after: ['attestations_missed'],
    sinceEpoch: 4,
  })
  // The truth of the simulation: earnings of the chain hour of epochs 4 and 5.
  const lossOf = (validator: number) =>
    -[4, 5].reduce((sum, epoch) => sum + (at.network.truth.rows(epoch).get(validator)?.earnings ?? 0), 0)
  assert.ok(lossOf(29) > 0)
  assert.equal(details(5, 'balance_decreased')?.lossGwei, lossOf(29))
})

test('a body names network, epoch and time, and is stored with the id of its delivery', async () => {
  const at = await world.startAgain({ webhooks: [webhook({ events: ['block_missed'] })] })
  await examineAll(at)
  const [delivery] = await listDeliveries(at.context.ingest, 10)
  assert.deepEqual(JSON.parse(delivery?.body ?? ''), {
    id: delivery?.id,
    event: 'block_missed',
    text: 'hoodi, epoch 4: 1 validator missed a block: 8',
    createdAt: new Date(at.context.clock.now()).toISOString(),
    network: 'hoodi',
    epoch: 4,
    epochEndedAt: new Date(epochEndMs(4)).toISOString(),
    finality: 'finalized',
    count: 1,
    validators: [{ index: 8, pool: null, operator: null, slots: [36] }],
  })
})

test('the same events are found whether epochs arrive one by one or together', async () => {
  const at = await world.startAgain({ webhooks: [webhook()] })
  await examineAll(at)
  // An exit is found in the last of the epochs that are examined together.
  const together = events.filter((event) => !event.includes('exit'))
  assert.deepEqual(summaries(await bodiesOf(at)), [...together, '10 exit: 5,7'])
})

test('an exit that is known only after the exit epoch is still reported once', async () => {
  const at = await world.startAgain({ webhooks: [webhook({ events: ['exit'] })] })
  await at.showOnly({ from: 0, until: 9 })
  await examineAll(at)
  await at.showOnly({ from: 0, until: 11 })
  await examineAll(at)
  assert.deepEqual(summaries(await bodiesOf(at)), ['8 exit: 5,7'])
})

test('each webhook gets its own events, with its own number of missed attestations in a row', async () => {
  const events = ['attestations_missed', 'recovered']
  const webhooks = [
    webhook({ id: 'one', events, minMissedInARow: 1 }),
    webhook({ id: 'three', events, minMissedInARow: 3 }),
    webhook({ id: 'four', events, minMissedInARow: 4 }),
  ]
  const at = await world.startAgain({ webhooks })
  await examineAll(at)
  assert.deepEqual(summaries(await bodiesOf(at, 'one')), [
    `3 attestations_missed: ${outage}`,
    '4 attestations_missed: 3',
    '5 recovered: 3',
    `6 recovered: ${outage}`,
  ])
  assert.deepEqual(summaries(await bodiesOf(at, 'three')), [
    `5 attestations_missed: ${outage}`,
    `6 recovered: ${outage}`,
  ])
  assert.deepEqual(await bodiesOf(at, 'four'), [])
})

test('a loss below the minimum is not reported', async () => {
  const webhooks = [webhook({ events: ['balance_decreased'], minLossGwei: 5_000_000 })]
  const at = await world.startAgain({ webhooks })
  await examineAll(at)
  assert.deepEqual(summaries(await bodiesOf(at)), ['5 balance_decreased: 5'])
})

test('epochs that ended longer ago than the limit cause no events, newer ones do', async () => {
  const maxAgeMinutes = 30
  const at = await world.startAgain({ webhooks: [webhook()], alertMaxAgeMinutes: maxAgeMinutes })
  const oldest = 5
  at.context.clock.advance(epochEndMs(oldest) + maxAgeMinutes * 60_000 - at.context.clock.now())
  await examineAll(at)
  const bodies = await bodiesOf(at)
  assert.deepEqual([...new Set(bodies.map(({ epoch }) => epoch))], [5, 6, 7, 10])
  // The outage began before the oldest epoch, and is reported with it.
  assert.deepEqual(bodies.find(({ event }) => event === 'attestations_missed')?.validators[0], {
    index: 20,
    pool: null,
    operator: null,
    missedInARow: 2,
    fromEpoch: 4,
  })
  at.context.clock.advance(epochMs)
  assert.equal(await examineAll(at), 0)
})

test('nothing is examined when all epochs are too old', async () => {
  const at = await world.startAgain({ webhooks: [webhook()], alertMaxAgeMinutes: 30 })
  at.context.clock.advance(86_400_000)
  assert.equal(await examineEpochs(at.context, 'hoodi'), undefined)
  assert.deepEqual(await bodiesOf(at), [])
})

test('problems of blocks are events of the epoch of the block', async () => {
  const at = await world.startAgain({ webhooks: [webhook({ events: ['fee_recipient_wrong', 'relay_unknown'] })] })
  const problem = { validator: 50, epoch: 6, slot: 50, feeRecipient: `0x${'b1'.repeat(20)}` }
  const examined = await examineEpochs(at.context, 'hoodi', {
    checkBlocks: async (epochs, watched) => {
      assert.deepEqual([epochs, watched.has(50)], [{ from: 0, until: 11 }, true])
      return [
        { ...problem, duty: 'wrong_fee_recipient' },
        { ...problem, duty: 'unknown_relay' },
      ]
    },
  })
  assert.equal(examined?.blockProblems.length, 2)
  const bodies = await bodiesOf(at)
  assert.deepEqual(summaries(bodies), ['6 fee_recipient_wrong: 50', '6 relay_unknown: 50'])
  assert.deepEqual(bodies[0]?.validators[0]?.feeRecipients, [problem.feeRecipient])
})

test('a failed write changes nothing, and the next attempt finds the same events', async () => {
  const at = await world.startAgain({ webhooks: [webhook()] })
  const failing = {
    ...at.context,
    ingest: {
      ...at.context.ingest,
      get: at.context.ingest.get.bind(at.context.ingest),
      all: at.context.ingest.all.bind(at.context.ingest),
      write: <T>(work: Parameters<typeof at.context.ingest.write<T>>[0]) =>
        at.context.ingest.write<T>(async (tx) => {
          await work(tx)
          throw new Error('the power failed')
        }),
    },
  }
  await assert.rejects(examineEpochs(failing, 'hoodi'), /the power failed/)
  assert.deepEqual(await listDeliveries(at.context.ingest, 10), [])
  assert.ok((await examineAll(at)) > 0)
  const before = await bodiesOf(at)
  assert.equal(await examineAll(at), 0)
  assert.deepEqual(await bodiesOf(at), before)
})

test('epochs that are not known are not examined, and those after them are', async () => {
  const events = ['attestations_missed', 'block_missed', 'exit']
  const at = await world.startAgain({ webhooks: [webhook({ events })] })
  // Epoch 4, in which a block was missed, counts as not read.
  await at.showOnly({ from: 0, until: 4 }, { from: 5, until: 11 })
  await examineAll(at)
  assert.deepEqual(summaries(await bodiesOf(at)), ['3 exit: 5,7', `5 attestations_missed: ${outage}`])
})

test('a network without a watch list has no events', async () => {
  const at = await world.startAgain({ webhooks: [webhook()] })
  // Without ranges, all validators are stored.
  await at.context.dutiesState.write((tx) => tx.run('delete from watch_ranges'))
  await examineAll(at)
  assert.deepEqual(await bodiesOf(at), [])
})
