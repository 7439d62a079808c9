// The ingest loops of a server, and what they report to /readyz.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { Parsed } from '#api/contract/kit.ts'
import { systemClock } from '#runtime/clock.ts'
import { bytesAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openReplay, truth } from '#test/beacon-replay.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, testRequestInfo } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { waitForMoment, waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { effectiveness } from '../endpoints/effectiveness.ts'
import { withChainTimes } from './read/chain-identity.ts'
import { beaconFindings, startBeacon } from './start.ts'
import { findRun } from './status/ingest-status.ts'

test('a server with a beacon node ingests it, reports its progress, and stops on request', async () => {
  await using node = await openReplay()
  await using plain = await openContext({
    validators: {
      networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 0 } } },
    },
  })
  const settings = await withChainTimes({ ...plain, clock: systemClock })
  // The current time is in the middle of the last recorded epoch.
  const context = { ...plain, settings, clock: { ...systemClock, now: () => (1_794_705_870 + 16.5 * 16) * 1000 } }
  assert.deepEqual(await beaconFindings(context), [{ name: 'beacon hoodi', ok: false, message: 'no epoch stored yet' }])
  const stop = new AbortController()
  const steps: number[] = []
  await startBeacon(context, stop.signal, (network, { until }) => {
    assert.equal(network, 'hoodi')
    steps.push(until)
    if (until === 13) stop.abort()
  })
  assert.deepEqual(steps, [2, 4, 6, 8, 10, 12, 13])
  assert.deepEqual(await beaconFindings(context), [{ name: 'beacon hoodi', ok: true, message: '3 epochs behind' }])
  const input = {
    network: 'hoodi',
    validator_index_or_pubkey: '0',
    limit: 10,
    offset: 0,
    granularity: 'day',
    sortOrder: 'asc',
    utc: false,
  }
  const response = await effectiveness.handle(
    input as Parsed<typeof effectiveness.endpoint>,
    context,
    testRequestInfo(),
  )
  assert(response.is === 'body')
  const uptimeOf = (from: number, until: number) => {
    const rows = truth()
      .epochs.slice(from, until)
      .map(({ rows }) => rows[0])
    return rows.reduce((sum, row) => sum + (row?.included ?? 0), 0) / rows.length
  }
  assert.deepEqual(
    response.body.results.map(({ day, uptime, startEpoch, endEpoch }) => [day, uptime, startEpoch, endEpoch]),
    [
      [0, uptimeOf(0, 4), 0, 3],
      [1, uptimeOf(4, 8), 4, 7],
      [2, uptimeOf(8, 12), 8, 11],
      [3, uptimeOf(12, 13), 12, 12],
    ],
  )
  assert.equal(uptimeOf(0, 4), 0.75, 'some votes are missing')
})

test('missing epochs are reported as soon as the loop runs, before the first of them is stored', async () => {
  await using node = await openReplay()
  await using plain = await openContext({
    validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url] } } } },
  })
  const settings = await withChainTimes({ ...plain, clock: systemClock })
  const { networks } = settings.validators
  const contextFrom = (fromEpoch: number) => {
    const hoodi = { ...networks.hoodi, beacon: { ...networks.hoodi.beacon, fromEpoch } }
    const clock = { ...systemClock, now: () => (1_794_705_870 + 16.5 * 16) * 1000 }
    const validators = { ...settings.validators, networks: { ...networks, hoodi } }
    return { ...plain, settings: { ...settings, validators }, clock }
  }
  const first = new AbortController()
  await startBeacon(contextFrom(8), first.signal, (_, { until }) => until === 13 && first.abort())

  const second = new AbortController()
  const context = contextFrom(0)
  const ended = startBeacon(context, second.signal)
  await waitForMoment(() => findRun(context, 'hoodi') !== undefined)
  assert.equal(findRun(context, 'hoodi')?.status.fillingEpochs, 8)
  await waitForMoment(async () => (await coveredEpochs(context.duties, 'hoodi'))[0]?.from === 0)
  await waitForMoment(() => findRun(context, 'hoodi')?.status.fillingEpochs === 0)
  second.abort()
  await ended
})

test('a contradiction is logged and reported in /readyz, and ingest continues once the node has recovered', async () => {
  await using node = await openReplay()
  await using proxy = await openAlteringProxy(
    node.url,
    bytesAt(/\/blocks\/10$/, (bytes) => {
      bytes[200] = (bytes[200] as number) ^ 1
    }),
  )
  await using plain = await openContext({
    validators: {
      networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [proxy.url], fromEpoch: 0 } } },
    },
  })
  const settings = await withChainTimes({ ...plain, clock: systemClock })
  const stop = new AbortController()
  const warned = Promise.withResolvers<string>()
  const warn = ({ reason }: { reason: string }, message: string) => warned.resolve(`${message}: ${reason}`)
  const log = { ...plain.log, info: () => {}, warn } as unknown as typeof plain.log
  const context = { ...plain, settings, log, clock: systemClock }
  const ended = startBeacon(context, stop.signal, (_, { until }) => {
    if (until === 13) stop.abort()
  })
  assert.match(await warned.promise, /^beacon node contradicts itself\. .*: slot 11: the parent root /)
  const [finding] = await beaconFindings(context)
  assert.equal(finding?.ok, false)
  assert.match(finding?.message ?? '', /its beacon node contradicts itself: slot 11/)
  proxy.alter()
  findRun(context, 'hoodi')?.wakeUp.wake()
  await ended
  const [{ until } = { until: 0 }] = await coveredEpochs(context.duties, 'hoodi')
  assert.equal(until, 13)
})

test('an event of a node starts a poll, and its payload status is kept', async () => {
  let finalized = 4
  const network = simulateNetwork('events', { epochs: 12, outage: { from: 0, until: 0 } })
  await using node = await openNodeOfRun(network, { finalized: () => finalized })
  // It only offers the event stream. Everything else is requested from the second node.
  const streams: ServerResponse[] = []
  await using events = createServer((request, response) => {
    if (!request.url?.startsWith('/eth/v1/events')) return response.writeHead(503).end()
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    streams.push(response)
    return events.emit('stream')
  })
  events.listen(0, '127.0.0.1')
  const connected = once(events, 'stream')
  await once(events, 'listening')
  const eventsUrl = `http://127.0.0.1:${(events.address() as AddressInfo).port}`
  const beacon = { urls: [eventsUrl, node.url], fromEpoch: 0, everyMs: 3_600_000 }
  await using plain = await openContext({ validators: { networks: { hoodi: { beacon } } } })
  const settings = await withChainTimes({ ...plain, clock: systemClock })
  const stop = new AbortController()
  const reached = new Map([3, 5].map((epoch) => [epoch, Promise.withResolvers<void>()]))
  const context = { ...plain, settings, clock: systemClock }
  const running = startBeacon(context, stop.signal, (_, { until }) => reached.get(until)?.resolve())
  await reached.get(3)?.promise
  await connected
  await waitUntil(() => !findRun(context, 'hoodi')?.status.isReading)
  finalized = 6
  streams[0]?.write('event: finalized_checkpoint\ndata: {}\n\n')
  await reached.get(5)?.promise
  const root = `0x${'0a'.repeat(32)}`
  const head = { version: 'gloas', data: { slot: '40', block: root, payload_status: 'empty' } }
  streams[0]?.write(`event: head_v2\ndata: ${JSON.stringify(head)}\n\n`)
  const { headPayloads } = context.validators
  await waitUntil(() => headPayloads.has('hoodi'))
  assert.deepEqual(headPayloads.get('hoodi'), { root, status: 'empty' })
  stop.abort()
  await running
  assert.equal(headPayloads.size, 0, 'another server may ingest from now on')
  events.closeAllConnections()
})
