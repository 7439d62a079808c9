// Ingest stops before a fork that this version does not support (behaviour/validators.md#unknown-forks).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectivityFindings } from '#operations/connectivity.ts'
import { coverageReport } from '#operations/coverage.ts'
import { networkFindings } from '#operations/network-findings.ts'
import { systemClock } from '#runtime/clock.ts'
import type { AppContext } from '#server/context.ts'
import { presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type Alteration, jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, type TestContext } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { everythingStored } from '#test/stored-duties.ts'
import { waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'
import { beaconFindings, startBeacon } from './start.ts'
import { findRun } from './status/ingest-status.ts'

const epochs = 14
const slotsPerEpoch = 4
const world = simulateNetwork('unknown-fork', { epochs, slotsPerEpoch, forkEpochs: presentForks, hasExecution: false })
const { finalized } = world

const scheduleFork = (epoch: number | string): Alteration =>
  jsonAt<object>(/\/config\/spec$/, (spec) => ({ ...spec, HEZE_FORK_EPOCH: String(epoch) }))

/** From this epoch on, blocks and states have a format that cannot be decoded. */
const changeFormat = (epoch: number): Alteration => {
  const path = /\/eth\/v2\/(?:beacon\/blocks|debug\/beacon\/states)\/(\d+)$/
  return (response) => {
    const slot = Number(path.exec(response.path)?.[1] ?? -1)
    return slot >= epoch * slotsPerEpoch ? Buffer.from('{"data":{}}') : undefined
  }
}

const both =
  (...changes: readonly Alteration[]): Alteration =>
  (response) =>
    changes.reduce<Buffer | undefined>((found, change) => found ?? change(response), undefined)

async function openAt(url: string) {
  const context = await openContext({
    validators: { networks: { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [url], fromEpoch: 0 } } } },
  })
  return Object.assign(context, { settings: await withChainTimes({ ...context, clock: systemClock }) })
}

const catchUp = (context: TestContext, url: string) => {
  const beacon = openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const follower = new Follower(context, 'hoodi', beacon)
  return { run: () => follower.catchUp(new AbortController().signal) }
}

const endOf = async (context: TestContext) => (await coveredEpochs(context.duties, 'hoodi')).at(-1)?.until

test('epochs before an unknown fork are stored as without it, and the error names fork and epoch', async () => {
  await using node = await openNodeOfRun(world)
  await using expected = await openAt(node.url)
  await catchUp(expected, node.url).run()
  for (const fork of [5, finalized]) {
    await using proxy = await openAlteringProxy(node.url, both(scheduleFork(fork), changeFormat(fork)))
    await using context = await openAt(proxy.url)
    const { run } = catchUp(context, proxy.url)
    const message = new RegExp(
      `^hoodi: this version of Tetrad does not support the fork heze of epoch ${fork}; update Tetrad$`,
    )
    for (const attempt of ['first', 'second']) {
      await assert.rejects(run(), { name: 'UnknownForkError', message }, attempt)
      // An epoch is processed with the state two epochs later.
      assert.equal(await endOf(context), fork - 2)
    }
    // With an update, ingest continues where it stopped.
    proxy.alter()
    await catchUp(context, proxy.url).run()
    assert.deepEqual(await everythingStored(context), await everythingStored(expected))
  }
})

test('a fork that is not scheduled, or not final yet, does not stop ingest', async () => {
  await using node = await openNodeOfRun(world)
  for (const fork of ['18446744073709551615', String(finalized + 1)]) {
    await using proxy = await openAlteringProxy(node.url, scheduleFork(fork))
    await using context = await openAt(proxy.url)
    const { until } = await catchUp(context, proxy.url).run()
    assert.equal(until, finalized - 1, fork)
  }
})

test('a node that is updated while ingest runs stops it as well', async () => {
  await using node = await openNodeOfRun(world)
  const unreachable: Alteration = ({ path }) => (path.includes('/finality_checkpoints') ? Buffer.from('-') : undefined)
  await using proxy = await openAlteringProxy(node.url, unreachable)
  await using context = await openAt(proxy.url)
  const { run } = catchUp(context, proxy.url)
  await assert.rejects(run(), { name: 'BeaconError' })
  proxy.alter(both(scheduleFork(6), changeFormat(6)))
  // The first attempt may start with the rules that were read before the update.
  await run().catch(() => {})
  await assert.rejects(run(), { name: 'UnknownForkError' })
  assert.equal(await endOf(context), 4)
})

test('a fork that is withdrawn before its epoch does not stop ingest', async () => {
  await using node = await openNodeOfRun(world)
  const unreachable: Alteration = ({ path }) => (path.includes('/finality_checkpoints') ? Buffer.from('-') : undefined)
  await using proxy = await openAlteringProxy(node.url, scheduleFork(6))
  await using context = await openAt(proxy.url)
  const { run } = catchUp(context, proxy.url)
  await assert.rejects(run(), { name: 'UnknownForkError' })
  // The node is updated: it does not respond, and then has another schedule.
  proxy.alter(unreachable)
  await run().catch(() => {})
  proxy.alter()
  await run().catch(() => {})
  await run()
  assert.equal(await endOf(context), finalized - 1)
})

test('a block of an unknown fork stops ingest, and its segment is not stored', async () => {
  const fork = 9
  await using node = await openReplay({
    meddle: (exchange) => {
      const slot = Number(/\/beacon\/blocks\/(\d+)$/.exec(exchange.path)?.[1] ?? -1)
      if (slot < fork * 8 || exchange.status !== 200) return exchange
      return { ...exchange, headers: { ...exchange.headers, 'eth-consensus-version': 'Heze' } }
    },
  })
  await using context = await openAt(node.url)
  const message = `this version of Tetrad does not support the fork heze of epoch ${fork}; update Tetrad`
  await assert.rejects(catchUp(context, node.url).run(), { name: 'UnknownForkError', message })
  assert.equal(await endOf(context), 8)
})

/** Runs the loops of a server and collects warnings. */
async function startServer(url: string, nowEpoch: number) {
  const plain = await openAt(url)
  const { genesisUnix, slotSeconds } = plain.settings.validators.networks.hoodi
  const nowMs = (genesisUnix + nowEpoch * slotsPerEpoch * slotSeconds) * 1000
  const warnings: [Record<string, unknown>, string][] = []
  const log = { ...plain.log, info: () => {}, warn: (...line: (typeof warnings)[0]) => warnings.push(line) }
  const clock = { ...systemClock, now: () => nowMs }
  const context = { ...plain, log, clock } as unknown as AppContext & typeof plain
  const stop = new AbortController()
  const ended = startBeacon(context, stop.signal)
  const polled = async (polls = 1) => {
    // Ingest runs on a thread.
    await waitUntil(() => (findRun(context, 'hoodi')?.status.polls ?? 0) >= polls)
  }
  return {
    ...{
      context,
      warnings,
      polled,
      startsAt: (epoch: number) => new Date(nowMs + (epoch - nowEpoch) * slotsPerEpoch * slotSeconds * 1000),
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
      await plain[Symbol.asyncDispose]()
    },
  }
}

test('readiness, coverage with its metric, and the doctor report that ingest stopped and what to do', async () => {
  const fork = 6
  await using node = await openNodeOfRun(world)
  await using proxy = await openAlteringProxy(node.url, both(scheduleFork(fork), changeFormat(fork)))
  // Few epochs behind: without the fork, the network would be healthy.
  await using server = await startServer(proxy.url, fork + 2)
  await server.polled()
  const { context, warnings } = server
  const reason = `hoodi: this version of Tetrad does not support the fork heze of epoch ${fork}; update Tetrad`
  assert.deepEqual(await beaconFindings(context), [
    { name: 'beacon hoodi', ok: false, message: `4 epochs behind; ingest has stopped: ${reason}` },
  ])
  const stream = (await coverageReport(context)).streams.find(({ name }) => name === 'network hoodi')
  // `fresh` is the value of the metric tetrad_stream_fresh, which the alert TetradStreamStale uses.
  assert.deepEqual([stream?.status, stream?.fresh], ['stale', false])
  const [finding] = await networkFindings(context)
  assert.deepEqual([finding?.level, finding?.message], ['fail', `ingest has stopped: ${reason}`])
  assert.match(finding?.todo ?? '', /^install a version that supports the fork/)
  assert.deepEqual(
    warnings.map(([fields, message]) => [fields.reason, message]),
    [[reason, 'ingest has stopped before a fork that is not supported. Stored epochs are still served']],
  )
})

test('a scheduled unknown fork is logged once with its date, and the doctor warns of it', async () => {
  const fork = finalized + 50
  await using node = await openNodeOfRun(world)
  await using proxy = await openAlteringProxy(node.url, scheduleFork(fork))
  await using server = await startServer(proxy.url, finalized + 2)
  await server.polled()
  findRun(server.context, 'hoodi')?.wakeUp.wake()
  await server.polled(2)
  assert.deepEqual(server.warnings, [
    [
      { network: 'hoodi', fork: 'heze', epoch: fork, startsAt: server.startsAt(fork).toISOString() },
      'this version of Tetrad does not support a scheduled fork. Update Tetrad before it starts',
    ],
  ])
  const findings = await connectivityFindings(server.context)
  const warning = findings.find(({ name, level }) => name === 'beacon hoodi' && level === 'warn')
  assert.match(
    warning?.message ?? '',
    new RegExp(`fork heze of epoch ${fork} \\(${server.startsAt(fork).toISOString()}, in \\d+ days\\)`),
  )
  assert.deepEqual(
    (await beaconFindings(server.context)).map(({ ok }) => ok),
    [true],
  )
})
