// A network whose fork to Gloas is scheduled late, or not at all, and an unknown fork after it. A server needs no restart
// (behaviour/validators.md#unknown-forks).

import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { AppContext } from '#server/context.ts'
import { gloasFrom, presentForks } from '#simulator/beacon/plan.ts'
import { openBeacon } from '#sources/beacon/client.ts'
import { type Alteration, jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext } from '#test/context.ts'
import { MovingHead } from '#test/simulator/moving-head.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { everythingStored, storedRows } from '#test/stored-duties.ts'
import { sumTruth } from '#test/sum-truth.ts'
import { truthMeasures } from '#test/truth-measures.ts'
import { callHandler } from '#test/validators-world.ts'
import { waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../duties/coverage.ts'
import { effectiveness } from '../endpoints/effectiveness.ts'
import { duties } from '../extensions/explain/duties.ts'
import { explain } from '../extensions/explain/explain.ts'
import { Follower } from './follow.ts'
import { withChainTimes } from './read/chain-identity.ts'
import { startBeacon } from './start.ts'
import { findRun } from './status/ingest-status.ts'

const network = 'hoodi'
const slotsPerEpoch = 4
const fork = 8
const small = {
  ...{ slotsPerEpoch, epochs: 17, calmEpochs: 4, validators: 24, committeesPerSlot: 1, syncSeats: 8, slotSeconds: 12 },
  ...{ missed: 0, orphaned: 0, slashing: 0, outage: { from: 0, until: 0 }, hasExecution: false },
}

/** The epoch of the fork to Gloas as the node lists it; undefined: it does not know the fork. */
const listFork = (epoch: string | undefined): Alteration =>
  jsonAt<object>(/\/config\/spec$/, (spec) => ({ ...spec, GLOAS_FORK_EPOCH: epoch }))

/** The node is updated: one request fails, and then it lists the fork. */
function restartWith(epoch: string): Alteration {
  let isDown = true
  return (response) => {
    if (!isDown) return listFork(epoch)(response)
    isDown = false
    return Buffer.from('-')
  }
}

const openAt = async (url: string) => {
  const beacon = { urls: [url], fromEpoch: 0, everyMs: 100 }
  const hoodi = { epochsPerHour: 2, epochsPerDay: 4, beacon, showProvisional: true }
  const plain = await openContext({ validators: { networks: { [network]: hoodi } } })
  return Object.assign(plain, { settings: await withChainTimes({ ...plain, clock: systemClock }) })
}

test('a node that knows the fork but does not schedule it changes nothing', async () => {
  const world = simulateNetwork('not scheduled', { ...small, forkEpochs: presentForks })
  await using node = await openNodeOfRun(world)
  await using proxy = await openAlteringProxy(node.url, listFork('18446744073709551615'))
  const stored = []
  for (const url of [node.url, proxy.url]) {
    await using context = await openAt(url)
    const beacon = openBeacon({ network, urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
    const { until } = await new Follower(context, network, beacon).catchUp(new AbortController().signal)
    assert.equal(until, world.finalized - 1)
    stored.push(await everythingStored(context))
  }
  assert(proxy.count() > 0)
  assert.deepEqual(stored[1], stored[0])
})

/** The stored figures equal the expected ones. */
async function assertStored(context: Awaited<ReturnType<typeof openAt>>, { truth }: CompletedNetwork, until: number) {
  const rows = await storedRows(context, network, 'hours')
  const stored = Map.groupBy(rows, ({ validator }) => validator)
  for (const [validator, sums] of sumTruth(truth, 0, until)) {
    for (const name of truthMeasures) {
      const total = (stored.get(validator) ?? []).reduce((sum, row) => sum + row[name], 0)
      assert.equal(total, sums[name] ?? 0, `validator ${validator}: ${name}`)
    }
  }
}

test('a server that runs while the fork is scheduled and happens needs no restart', async () => {
  const world = simulateNetwork('scheduled', { ...small, forkEpochs: gloasFrom(fork) })
  const head = new MovingHead(world, { headSlot: (fork - 1) * slotsPerEpoch })
  await using node = await openNodeOfRun(head)
  await using proxy = await openAlteringProxy(node.url, listFork(undefined))
  await using context = await openAt(proxy.url)
  const stop = new AbortController()
  const running = startBeacon({ ...context, clock: systemClock } as unknown as AppContext, stop.signal)
  const { provisional } = context.validators
  const input = { network, validator_index_or_pubkey: '3' } as const
  try {
    let epochs = 0
    // A node tells the duties of the next epoch, so the chain must have one.
    const end = (small.epochs - 1) * slotsPerEpoch
    for (; head.headSlot < end; head.advance()) {
      const isShown = () => provisional.get(network)?.duties?.headSlot === head.headSlot
      await waitUntil(() => {
        findRun(context as unknown as AppContext, network)?.wakeUp.wake()
        return isShown()
      })
      if (head.headSlot === fork * slotsPerEpoch - 2) proxy.alter(restartWith(String(fork)))
      if (head.headSlot % slotsPerEpoch !== 1) continue
      epochs += 1
      const epoch = Math.floor(head.headSlot / slotsPerEpoch)
      const now = await callHandler(duties, context, input)
      assert.deepEqual([now.body.headSlot, now.confidence?.asOf], [head.headSlot, epoch])
      // Blocks have bids since the fork.
      assert.equal((provisional.get(network)?.duties?.blocks.length ?? 0) > 0, epoch >= fork)
      for (const handler of [effectiveness, explain] as const) {
        const { confidence } = await callHandler(handler as typeof effectiveness, context, input)
        assert.deepEqual(confidence, { asOf: epoch - 2, finality: 'head', coverage: 'complete' })
      }
    }
    assert(epochs > 6, `${epochs} epochs`)
    const until = (await coveredEpochs(context.duties, network)).at(-1)?.until ?? 0
    assert(until > fork + 3, `stored until ${until}`)
    assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 0, until }])
    await assertStored(context, world, until)
  } finally {
    stop.abort()
    await running
  }
})

test('a block of a fork that is not scheduled is requested twice, and ingest continues with the new rules', async () => {
  const world = simulateNetwork('late', { ...small, forkEpochs: gloasFrom(3) })
  const requests: string[] = []
  const intercept = ({ url = '' }: IncomingMessage) => {
    requests.push(url)
    return false
  }
  await using node = await openNodeOfRun({ ...world, intercept })
  await using proxy = await openAlteringProxy(node.url, listFork(undefined))
  await using context = await openAt(proxy.url)
  const beacon = openBeacon({ network, urls: [proxy.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const follower = new Follower(context, network, beacon)
  await beacon.chain()
  proxy.alter(listFork('3'))
  await assert.rejects(follower.catchUp(new AbortController().signal), /is of gloas, but fulu is scheduled/)
  const first = [...world.blocks.values()].find((block) => block.fork === 'gloas')
  assert.equal(requests.filter((url) => url.endsWith(`/blocks/${first?.slot}`)).length, 2)
  const { until } = await follower.catchUp(new AbortController().signal)
  assert.equal(until, world.finalized - 1)
  await assertStored(context, world, until)
})

test('an unknown fork after Gloas stops ingest before it, and the error names it', async () => {
  const world = simulateNetwork('heze', { ...small, forkEpochs: gloasFrom(3) })
  await using node = await openNodeOfRun(world)
  const next = 9
  const schedule = jsonAt<object>(/\/config\/spec$/, (spec) => ({ ...spec, HEZE_FORK_EPOCH: String(next) }))
  await using proxy = await openAlteringProxy(node.url, schedule)
  await using context = await openAt(proxy.url)
  const beacon = openBeacon({ network, urls: [proxy.url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const follower = new Follower(context, network, beacon)
  const message = `hoodi: this version of Tetrad does not support the fork heze of epoch ${next}; update Tetrad`
  await assert.rejects(follower.catchUp(new AbortController().signal), { name: 'UnknownForkError', message })
  assert.deepEqual(await coveredEpochs(context.duties, network), [{ from: 0, until: next - 2 }])
  await assertStored(context, world, next - 2)
})
