// Events about epochs that are not final: found at the head, then sent again when they are final, or withdrawn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Branch } from '#simulator/beacon/simulate.ts'
import { epochEndMs, simulateAlertsNetwork, testWebhook, watchedIndices } from '#test/alerts-network.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext } from '#test/context.ts'
import { openFollower, openHead } from '#test/open-follower.ts'
import { MovingHead } from '#test/simulator/moving-head.ts'
import { createProvisionalFollower } from '../../ingest/provisional/provisional-follower.ts'
import { listDeliveries } from './deliveries.ts'
import { examineEpochs } from './examine-epochs.ts'
import { examineHead } from './examine-head.ts'
import { readWatchedValidators } from './watched-validators.ts'

const signal = new AbortController().signal
const slotsPerEpoch = 8

async function openHeadTest(headSlot: number, branches: readonly Branch[] = []) {
  await using cleanup = new AsyncDisposableStack()
  const chain = simulateAlertsNetwork()
  const network = new MovingHead(chain, { headSlot, branches })
  const node = cleanup.use(await openNodeOfRun(network))
  const hoodi = {
    ...{ genesisUnix: chain.genesisUnix, slotSeconds: 12, slotsPerEpoch, epochsPerHour: 2, epochsPerDay: 6 },
    ...{ beacon: { urls: [node.url], fromEpoch: 0 }, showProvisional: true },
    watch: [...watchedIndices, 63].map(String),
  }
  const events = ['attestations_missed', 'block_missed', 'recovered', 'withdrawn']
  const overrides = { validators: { webhooks: [testWebhook({ events })], networks: { hoodi } } }
  const context = cleanup.use(await openContext(overrides, epochEndMs(12)))
  const follower = await openFollower({ ...context, clock: systemClock }, 'hoodi', context.dir)
  const provisional = createProvisionalFollower(context, 'hoodi', await openHead(context, 'hoodi'))
  const resources = cleanup.move()
  const seen = new Set<string>()
  return {
    context,
    network,
    /** One poll of ingest and alerts. Returns the new deliveries, and the missed duties at the head. */
    async moveTo(slot: number) {
      network.advance(slot - network.headSlot)
      await follower.catchUp(signal)
      await provisional.update(signal)
      while (await examineEpochs(context, 'hoodi', { signal }));
      const watched = await readWatchedValidators(context, 'hoodi')
      const head = await examineHead(context, 'hoodi', watched, signal)
      const again = await examineHead(context, 'hoodi', watched, signal)
      assert.equal(again?.deliveries ?? 0, 0, 'nothing is sent twice')
      const unseen = (await listDeliveries(context.ingest, 1000)).filter(({ id }) => !seen.has(id))
      for (const { id } of unseen) seen.add(id)
      const added = unseen.map(({ body }) => JSON.parse(body))
      const lines = added.map(({ event, epoch, finality, validators }) => {
        const indices = validators.map(({ index }: { index: number }) => index)
        return `${finality} ${epoch} ${event}: ${indices}`
      })
      return { lines: lines.sort(), added, missed: head?.missed.length ?? 0 }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const outage = watchedIndices.filter((index) => index >= 20 && index < 30)

test('missed blocks and attestations are sent at the head, and again when they are final', async () => {
  await using at = await openHeadTest(36 - 1)
  assert.deepEqual((await at.moveTo(35)).lines, [])
  // Validator 8 proposes no block in slot 36.
  const first = await at.moveTo(37)
  assert.deepEqual(first.lines, ['head 4 block_missed: 8'])
  assert.deepEqual(first.added[0].validators, [{ index: 8, pool: null, operator: null, slots: [36] }])
  assert.deepEqual((await at.moveTo(6 * slotsPerEpoch - 1)).lines, [])
  // Attestations of epoch 4 can be included until the end of epoch 5.
  const second = await at.moveTo(6 * slotsPerEpoch + 1)
  assert.deepEqual(second.lines, [`head 4 attestations_missed: ${outage}`])
  assert(second.missed > 10)
  const later: string[] = []
  for (let epoch = 7; epoch < 12; epoch++) later.push(...(await at.moveTo(epoch * slotsPerEpoch + 1)).lines)
  assert.deepEqual(later.sort(), [
    `finalized 4 attestations_missed: ${outage}`,
    'finalized 4 block_missed: 8',
    `finalized 6 recovered: ${outage}`,
  ])
  assert.deepEqual(await at.context.ingest.all('select * from head_alerts'), [])
})

test('an event that a reorganization removes is withdrawn at once', async () => {
  // Validator 63 proposes slot 60. The branch has no block there.
  await using at = await openHeadTest(59, [{ from: 60, until: 63, empty: [60] }])
  await at.moveTo(59)
  const [sent] = (await at.moveTo(61)).lines
  assert.equal(sent, 'head 7 block_missed: 63')
  assert.deepEqual((await at.moveTo(62)).lines, [])
  const { lines, added } = await at.moveTo(63)
  assert.deepEqual(lines, ['head 7 withdrawn: 63'])
  assert.deepEqual(added[0].validators, [
    { index: 63, pool: null, operator: null, after: ['block_missed'], slots: [60] },
  ])
})

test('an event is withdrawn when its final epoch does not have it, and stays while nothing is known', async () => {
  await using at = await openHeadTest(59, [{ from: 60, until: 63, empty: [60] }])
  await at.moveTo(59)
  await at.moveTo(61)
  // Without provisional epochs, as after a restart or while the node does not respond.
  const { context } = at
  const hidden = { ...context, validators: { ...context.validators, provisional: new Map() } }
  assert.equal(await examineHead(hidden, 'hoodi', await readWatchedValidators(context, 'hoodi'), signal), undefined)
  assert.equal((await context.ingest.all('select * from head_alerts where epoch = 7')).length, 1)
  at.network.advance(2)
  context.validators.provisional.clear()
  const follower = await openFollower({ ...context, clock: systemClock }, 'hoodi', context.dir)
  at.network.advance(11 * slotsPerEpoch + 1 - at.network.headSlot)
  await follower.catchUp(signal)
  while (await examineEpochs(context, 'hoodi', { signal }));
  const bodies = (await listDeliveries(context.ingest, 100)).map(({ body }) => JSON.parse(body))
  const withdrawn = bodies.filter(({ event }) => event === 'withdrawn')
  assert.deepEqual(
    withdrawn.map(({ epoch, finality, validators }) => [epoch, finality, validators[0].index]),
    [[7, 'finalized', 63]],
  )
  assert.deepEqual(await context.ingest.all('select * from head_alerts'), [])
})

test('each missed block of a validator in one epoch is sent and withdrawn on its own', async () => {
  await using at = await openHeadTest(59)
  await at.moveTo(59)
  const { context } = at
  const view = context.validators.provisional.get('hoodi')
  assert.ok(view?.duties)
  const { duties } = view
  const watched = await readWatchedValidators(context, 'hoodi')
  const known = new Set<string>()
  /** Examines a head at which validator 50 has missed these slots, and returns what is sent. */
  const examine = async (...slots: number[]) => {
    const missedBlocks = new Map(slots.map((slot) => [slot, 50]))
    const provisional = new Map([['hoodi' as const, { ...view, duties: { ...duties, missedBlocks } }]])
    await examineHead({ ...context, validators: { ...context.validators, provisional } }, 'hoodi', watched, signal)
    const added = (await listDeliveries(context.ingest, 100)).filter(({ id }) => !known.has(id))
    for (const { id } of added) known.add(id)
    return added.map(({ event, body }) => `${event} ${JSON.parse(body).validators[0].slots}`)
  }
  await examine()
  assert.deepEqual(await examine(57), ['block_missed 57'])
  assert.deepEqual(await examine(57, 58), ['block_missed 58'])
  assert.deepEqual(await examine(57, 58), [])
  assert.deepEqual(await examine(58), ['withdrawn 57'])
})
