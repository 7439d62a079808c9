import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import { type Log, silentLog } from '#runtime/log.ts'
import { openMetrics } from '#runtime/metrics.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type AlertsTest, epochEndMs, openAlertsTest, testWebhook, watchedIndices } from '#test/alerts-network.ts'
import { type RecordedRequest, serveScript } from '#test/scripted-server.ts'
import type { CompletedNetwork } from '#test/simulator/simulate-network.ts'
import { emptyMissedDuty } from '../../duties/missed.ts'
import type { Measure } from '../../method/measures.ts'
import { listDeliveries } from './deliveries.ts'
import type { DeliveryBody } from './delivery-body.ts'
import { examineEpochs } from './examine-epochs.ts'
import { createAlerts, createNetworkFigures } from './start.ts'
import { createUpcomingProposals } from './upcoming-proposals.ts'

/** Ten epochs are stored. */
let world: AlertsTest
before(async () => {
  world = await openAlertsTest()
  await world.store(10)
})
after(() => world[Symbol.asyncDispose]())

/** The value of a series; undefined if it does not exist. */
function metricValue(text: string, name: string, labels: Readonly<Record<string, string>>): number | undefined {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`))
  const line = lines.find((candidate) =>
    Object.entries(labels).every(([label, value]) => candidate.includes(`${label}="${value}"`)),
  )
  return line === undefined ? undefined : Number(line.split(' ').at(-1))
}

async function metricsAfter(at: AlertsTest): Promise<string> {
  const metrics = openMetrics({ process: false })
  const figures = createNetworkFigures(at.context, metrics.watched, 'hoodi')
  for (;;) {
    const examined = await examineEpochs(at.context, 'hoodi')
    if (!examined) break
    figures.addExamined(examined)
  }
  const beacon = openBeacon({ network: 'hoodi', urls: [at.node.url], timeoutMs: 10_000, clock: systemClock })
  const time = at.context.settings.validators.networks.hoodi
  await figures.update(createUpcomingProposals(beacon, time, at.context.clock), new AbortController().signal)
  return metrics.text()
}

/** Method 1 over epochs 4 to 9, from the truth of the simulation. */
function effectivenessOf(truth: CompletedNetwork['truth'], validator: number): number {
  const sum = (name: Measure) =>
    [4, 5, 6, 7, 8, 9].reduce((all, at) => all + (truth.rows(at).get(validator)?.[name] ?? 0), 0)
  const correct = sum('correct_source') + sum('correct_target') + sum('correct_head')
  const votes = (100 * sum('included') * correct) / (3 * sum('assigned') * sum('inclusion_delay'))
  const duties = sum('proposer_duties')
  return duties === 0
    ? votes
    : 0.375 * ((25 * (4 * sum('proposed') - 3 * sum('proposed_empty'))) / duties) + 0.625 * votes
}

test('the metrics of a short watch list have one series per validator and equal the truth', async () => {
  const at = await world.startAgain()
  const until = 10
  const text = await metricsAfter(at)
  const total = (validator: number, name: 'assigned' | 'included', from = 0) =>
    Array.from(
      { length: until - from },
      (_, epoch) => at.network.truth.rows(from + epoch).get(validator)?.[name] ?? 0,
    ).reduce((sum, value) => sum + value, 0)
  for (const index of watchedIndices) {
    const labels = { network: 'hoodi', pool: 'none', validator: String(index) }
    const missed = total(index, 'assigned') - total(index, 'included')
    assert.equal(metricValue(text, 'tetrad_watched_missed_duties_total', { ...labels, duty: 'attestation' }), missed)
  }
  const of = (validator: number) => ({ validator: String(validator) })
  assert.equal(metricValue(text, 'tetrad_watched_missed_duties_total', { ...of(8), duty: 'block' }), 1)
  assert.equal(metricValue(text, 'tetrad_watched_missed_duties_total', { ...of(5), duty: 'slashed' }), 1)
  assert.equal(metricValue(text, 'tetrad_watched_proposer_duties', of(8)), 1)
  assert.equal(metricValue(text, 'tetrad_watched_proposed', of(8)), 0)
  assert.equal(metricValue(text, 'tetrad_watched_examined_epoch', { network: 'hoodi' }), until - 1)
  assert.equal(metricValue(text, 'tetrad_watched_validators', { status: 'exited' }), 2)
  assert.equal(metricValue(text, 'tetrad_watched_validators', { status: 'active' }), watchedIndices.length - 2)
  // The last complete day has epochs 4 to 9.
  for (const index of [3, 8, 29, 50])
    assert.equal(metricValue(text, 'tetrad_watched_effectiveness', of(index)), effectivenessOf(at.network.truth, index))
  assert.ok(effectivenessOf(at.network.truth, 29) < 70)
})

test('after a restart, counters start at 0 before the next epoch is examined', async () => {
  const at = await world.startAgain()
  const metrics = openMetrics({ process: false })
  const figures = createNetworkFigures(at.context, metrics.watched, 'hoodi')
  await figures.update(async () => undefined, new AbortController().signal)
  const text = await metrics.text()
  const labels = { network: 'hoodi', validator: '29', duty: 'attestation' }
  assert.equal(metricValue(text, 'tetrad_watched_missed_duties_total', labels), 0)
  assert.equal(metricValue(text, 'tetrad_watched_validators', { status: 'exited' }), 2)
})

test('more than 100 watched validators share one series per pool and operator', async () => {
  const metrics = openMetrics({ process: false })
  const figures = createNetworkFigures(world.context, metrics.watched, 'hoodi')
  const watched = new Map(
    Array.from({ length: 264 }, (_, index) => {
      const pool = index < 30 ? 'North' : `pool ${index % 50}`
      return [index, { index, pool, operator: 'Ops', eligibilityEpoch: 0, activationEpoch: 0, exitEpoch: null }]
    }),
  )
  const vote = { ...emptyMissedDuty, epoch: 5, slot: 40, best_delay: 1 }
  const missed = [20, 21, 22].map((validator) => ({ ...vote, validator }))
  figures.addExamined({ epochs: { from: 0, until: 10 }, watched, missed, blockProblems: [], deliveries: 0 })
  await figures.update(async () => undefined, new AbortController().signal)
  const text = await metrics.text()
  const series = text.split('\n').filter((line) => line.startsWith('tetrad_watched_effectiveness{'))
  assert.ok(series.length > 1 && series.length <= 51)
  assert.ok(series.every((line) => line.includes('operator="Ops",validator=""')))
  const labels = { network: 'hoodi', duty: 'attestation', pool: 'North' }
  assert.equal(metricValue(text, 'tetrad_watched_missed_duties_total', labels), 3)
})

test('missed duties at the head are a gauge that disappears when nothing is known about the head', async () => {
  const metrics = openMetrics({ process: false })
  const figures = createNetworkFigures(world.context, metrics.watched, 'hoodi')
  await figures.update(async () => undefined, new AbortController().signal)
  const none = { ...emptyMissedDuty, slot: 90, best_delay: 1 }
  const missedBy = async (validator: string) =>
    metricValue(await metrics.text(), 'tetrad_watched_head_missed_duties', { validator, duty: 'attestation' })
  figures.setHead([{ ...none, validator: 29, epoch: 11, kind: 0 }])
  assert.deepEqual([await missedBy('29'), await missedBy('50')], [1, 0])
  figures.setHead([])
  assert.equal(await missedBy('29'), 0)
  figures.setHead(undefined)
  assert.equal(await missedBy('29'), undefined)
})

test('queues of watched validators are metrics', async () => {
  const metrics = openMetrics({ process: false })
  const figures = createNetworkFigures(world.context, metrics.watched, 'hoodi')
  const labels = { eligibilityEpoch: 0, activationEpoch: 0, pool: 'North', operator: 'Ops' }
  const watched = new Map([[7, { index: 7, ...labels, exitEpoch: 14 }]])
  figures.addExamined({ epochs: { from: 0, until: 10 }, watched, missed: [], blockProblems: [], deliveries: 0 })
  await figures.updateQueues(33)
  const text = await metrics.text()
  const exit = { network: 'hoodi', pool: 'North', operator: 'Ops', queue: 'exit' }
  assert.equal(metricValue(text, 'tetrad_watched_queue_epoch', exit), 14)
  assert.equal(metricValue(text, 'tetrad_watched_queue_epoch', { network: 'hoodi', queue: 'deposit' }), 33)
})

test('upcoming proposals are those after the current slot, up to the end of the next epoch', async () => {
  const at = await world.startAgain()
  // The clock is at the start of epoch 13, the last one that the node knows: the next epoch is unknown.
  assert.equal(metricValue(await metricsAfter(at), 'tetrad_watched_upcoming_proposals', { validator: '50' }), undefined)
  at.context.clock.advance(-6 * 96_000)
  const beacon = openBeacon({ network: 'hoodi', urls: [at.node.url], timeoutMs: 10_000, clock: systemClock })
  const upcoming = createUpcomingProposals(beacon, at.context.settings.validators.networks.hoodi, at.context.clock)
  const signal = new AbortController().signal
  const proposals = await upcoming(signal)
  const before = at.node.requestCount()
  assert.deepEqual(
    proposals,
    Array.from({ length: 15 }, (_, at) => ({ slot: 57 + at, validator: 63 - ((57 + at) % 20) })),
  )
  at.context.clock.advance(12_000)
  assert.equal((await upcoming(signal))?.[0]?.slot, 58)
  assert.equal(at.node.requestCount(), before, 'no further request in the same epoch')
  at.context.clock.advance(96_000)
  await upcoming(signal)
  assert.equal(at.node.requestCount(), before + 1, 'one request in the next epoch')
})

test('every event is sent once, also if the process is restarted between storing and sending', async () => {
  const accepted: RecordedRequest[] = []
  let isUp = false
  await using receiver = await serveScript((request) => {
    if (isUp) accepted.push(request)
    return { status: isUp ? 200 : 503 }
  })
  const { context } = await world.startAgain({ webhooks: [testWebhook({ url: receiver.url })] })
  /** Runs until this message was logged `count` times. It is logged after the result is stored. */
  const runAt = async (nowMs: number, awaited: string, count: number) => {
    const [logged, stop] = [[] as string[], new AbortController()]
    const add = (_: object, message: string) => {
      if (message === awaited && logged.push(message) === count) stop.abort()
    }
    const log: Log = { ...silentLog, debug() {}, info: add, warn: add, error: add, child: () => log }
    const metrics = openMetrics({ process: false })
    const clock = { ...systemClock, now: () => nowMs }
    await createAlerts({ ...context, log, clock }, metrics.watched).run(stop.signal)
    return metrics.text()
  }
  const expected = [
    ...['4 attestations_missed', '4 block_missed', '5 balance_decreased', '5 slashed', '6 recovered', '7 recovered'],
    'exit',
  ]
  const nowMs = epochEndMs(12)
  await runAt(nowMs, 'webhook not delivered; will retry', 1)
  isUp = true
  const text = await runAt(nowMs + 60_000, 'webhook delivered', expected.length)
  assert.match(text, /tetrad_webhook_deliveries_total\{webhook="ops",outcome="ok"\} 7/)
  const events = accepted
    .map(({ body }) => JSON.parse(body) as DeliveryBody)
    // An exit is found in the last of the epochs that were examined together.
    .map(({ epoch, event }) => (event === 'exit' ? event : `${epoch} ${event}`))
  assert.deepEqual(events.sort(), expected)
})

test('a webhook that hangs delays no event of another webhook, whenever it is found', async () => {
  await using hanging = await serveScript({ instead: 'hang' })
  const slashed = Promise.withResolvers<void>()
  let alerts: ReturnType<typeof createAlerts> | undefined
  await using receiver = await serveScript(({ body }) => {
    const { event } = JSON.parse(body) as DeliveryBody
    // The other webhook hangs since its first delivery. The next epochs are found now.
    if (event === 'block_missed') void world.showOnly({ from: 0, until: 10 }).then(() => alerts?.wake('hoodi'))
    if (event === 'slashed') slashed.resolve()
    return { status: 200 }
  })
  const { context } = await world.startAgain({
    webhooks: [
      testWebhook({ id: 'hanging', url: hanging.url, timeoutMs: 60_000, events: ['block_missed', 'slashed'] }),
      testWebhook({ url: receiver.url, events: ['block_missed', 'slashed'] }),
    ],
  })
  await world.showOnly({ from: 0, until: 5 })
  const clock = { ...systemClock, now: () => epochEndMs(12) }
  const stop = new AbortController()
  alerts = createAlerts({ ...context, clock }, openMetrics({ process: false }).watched)
  const stopped = alerts.run(stop.signal)
  await slashed.promise
  const attempts = (await listDeliveries(context.ingest, 10))
    .filter(({ webhook }) => webhook === 'hanging')
    .map((delivery) => delivery.attempts)
  stop.abort()
  await stopped
  assert.deepEqual(attempts, [0, 0], 'the first request to the other webhook has not ended')
  assert.equal(hanging.requests.length, 1)
})

test('without a watch list nothing runs, and configured webhooks are reported', async () => {
  await using at = await openAlertsTest({ webhooks: [testWebhook()] }, [])
  const warnings: string[] = []
  const log: Log = { ...silentLog, warn: (_, message) => void warnings.push(message), child: () => log }
  const alerts = createAlerts({ ...at.context, log }, openMetrics({ process: false }).watched)
  await alerts.run(new AbortController().signal)
  assert.deepEqual(warnings, [
    'webhooks get no events of validators: set validators.networks.<name>.watch and beacon.urls',
  ])
})
