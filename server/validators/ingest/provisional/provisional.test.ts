// Epochs that are not final: their figures, reorganizations, and how they become final
// (behaviour/validators.md#provisional-figures).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExplainedDay } from '#api/contract/wire/validators-explain.ts'
import { chainDays, type Epoch } from '#core/chain-time.ts'
import { systemClock } from '#runtime/clock.ts'
import { gloasFrom } from '#simulator/beacon/plan.ts'
import { type Branch, Simulation } from '#simulator/beacon/simulate.ts'
import { Truth } from '#simulator/beacon/truth.ts'
import { type Beacon, openBeacon } from '#sources/beacon/client.ts'
import { type Alteration, jsonAt, openAlteringProxy } from '#test/altering-proxy.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext, settingsWith, type TestContext } from '#test/context.ts'
import { openFollower } from '#test/open-follower.ts'
import { MovingHead } from '#test/simulator/moving-head.ts'
import { type CompletedNetwork, simulateNetwork } from '#test/simulator/simulate-network.ts'
import { truthMeasures } from '#test/truth-measures.ts'
import { callHandler, register } from '#test/validators-world.ts'
import { waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { plainTime } from '../../duties/layout.ts'
import { effectiveness } from '../../endpoints/effectiveness.ts'
import { metadata } from '../../endpoints/metadata.ts'
import { duties } from '../../extensions/explain/duties.ts'
import { explain } from '../../extensions/explain/explain.ts'
import { measures } from '../../method/measures.ts'
import { readValidator } from '../../registry/registry.ts'
import { provisionalRows } from '../../requests/provisional-epochs.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { NodeStates } from '../read/node-states.ts'
import { startBeacon } from '../start.ts'
import { openLocalProcessors } from '../thread/open-processors.ts'
import { readProcessorStart } from '../thread/read-processor-start.ts'
import {
  createHeadProcessor,
  type HeadProcessor,
  type LocalHeadProcessor,
  type ProvisionalEpoch,
} from './head-processor.ts'
import { createProvisionalFollower, unwatchedValidatorsMax } from './provisional-follower.ts'

const signal = new AbortController().signal
const slotsPerEpoch = 4
const calm = { missed: 0, orphaned: 0, slashing: 0, outage: { from: 0, until: 0 }, hasExecution: false }
const small = { slotsPerEpoch, epochs: 16, validators: 24, committeesPerSlot: 1, syncSeats: 8 }
const chains = new Map<string, CompletedNetwork>()
const simulate = (seed: string, calmEpochs = 2): CompletedNetwork =>
  chains.getOrInsertComputed(`${seed} ${calmEpochs}`, () => simulateNetwork(seed, { ...calm, ...small, calmEpochs }))

interface Options {
  readonly branches?: readonly Branch[]
  readonly watch?: readonly string[]
  readonly showProvisional?: boolean
  readonly headSlot: number
  /** Default: an archive node of the client of this run. */
}

/** A server's ingest of one network; each `step` is one poll. */
async function openWorld(chain: CompletedNetwork, { branches = [], headSlot, ...changes }: Options) {
  await using cleanup = new AsyncDisposableStack()
  const network = new MovingHead(chain, { headSlot, branches })
  const node = cleanup.use(await openNodeOfRun(network))
  const plain = cleanup.use(await openContext())
  const beacon = { urls: [node.url], fromEpoch: 0 }
  const hoodi = { epochsPerHour: 2, epochsPerDay: 4, beacon, showProvisional: true, ...changes }
  const configured = settingsWith({ validators: { networks: { hoodi } } })
  const settings = await withChainTimes({ ...plain, settings: configured, clock: systemClock })
  const context: TestContext = { ...plain, settings }
  const follower = await openFollower({ ...context, clock: systemClock }, 'hoodi', plain.dir)
  const start = await readProcessorStart(context, 'hoodi', plain.dir)
  const head = openLocalProcessors(start, systemClock).head
  const provisional = createProvisionalFollower(context, 'hoodi', head)
  const resources = cleanup.move()
  return {
    ...{ chain, network, node, context, follower, head, provisional },
    async step(slots = 0): Promise<void> {
      network.advance(slots)
      await follower.catchUp(signal)
      await provisional.update(signal)
    },
    shown: (): readonly ProvisionalEpoch[] => context.validators.provisional.get('hoodi')?.epochs ?? [],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
type World = Awaited<ReturnType<typeof openWorld>>

const epochsOf = (epochs: readonly ProvisionalEpoch[]): number[] => epochs.map(({ epoch }) => epoch)
const coverageEnd = async ({ context }: World): Promise<number> =>
  (await coveredEpochs(context.duties, 'hoodi')).at(-1)?.until ?? 0

/** Stored and provisional figures of a validator by chain day. */
async function figuresOf({ context, shown }: World, validator: number, until: number) {
  const time = plainTime(context.settings.validators.networks.hoodi)
  const days = { from: 0, until: chainDays(time).dayOf((until - 1) as Epoch) + 1 }
  const windowOfDay = Array.from({ length: days.until }, (_, day) => day)
  const query = { network: 'hoodi', time, validators: [validator], isUtc: false, days, grain: 'days' } as const
  return context.duties.query('sumRecords', {
    query: { ...query, windowOfDay, byValidator: false },
    wanted: { measures, scores: [] },
    provisional: provisionalRows(shown(), validator),
  })
}

/** All measures of all validators equal those of the simulation, in the epochs before `until`. */
async function assertFigures(world: World, truth: Truth, until: number): Promise<void> {
  const validators = new Set(Array.from({ length: until }, (_, epoch) => [...truth.rows(epoch).keys()]).flat())
  assert(validators.size > 20)
  for (const validator of validators) {
    const { window, sums } = await figuresOf(world, validator, until)
    for (const [at, day] of window.entries()) {
      const epochs = [0, 1, 2, 3].map((epoch) => 4 * day + epoch).filter((epoch) => epoch < until)
      for (const name of truthMeasures) {
        if (name === 'execution_unknown') continue
        const expected = epochs.reduce((sum, epoch) => sum + (truth.rows(epoch).get(validator)?.[name] ?? 0), 0)
        assert.equal(sums[name]?.[at], expected, `validator ${validator}, day ${day}: ${name}`)
      }
    }
  }
}

test('figures of epochs that are not final equal those of the chain, and the stored ones once they are final', async () => {
  await using world = await openWorld(simulate('provisional/chain'), { headSlot: 6 * slotsPerEpoch })
  for (let head = 6; head < 14; head++) {
    await world.step()
    const stored = await coverageEnd(world)
    const expected = Array.from({ length: head - 1 - stored }, (_, at) => stored + at)
    assert(expected.length >= 2)
    assert.deepEqual(epochsOf(world.shown()), expected)
    await assertFigures(world, world.chain.truth, head - 1)
    world.network.advance(slotsPerEpoch)
  }
})

/** The figures of the chain that a branch belongs to. */
function truthOfBranch({ scenario }: CompletedNetwork, branch: Branch): Truth {
  const truth = new Truth()
  const simulation = new Simulation({ ...scenario, branch }, truth)
  while (simulation.epoch < 14) simulation.simulateEpoch()
  return truth
}

const reorganizations = [
  ['in the epoch and after it', simulate('provisional/reorganization'), 8 * slotsPerEpoch + 1],
  [
    // Whether its votes are rewarded depends on slashings up to the end of the next epoch.
    'after the first block of the next epoch',
    simulateNetwork('provisional/slashing 10', { ...calm, ...small, calmEpochs: 2, slashing: 0.15 }),
    9 * slotsPerEpoch + 1,
  ],
] as const

for (const [name, chain, from] of reorganizations)
  test(`after a reorganization ${name} the figures of an epoch are those of the new chain`, async () => {
    const branch = { from, until: 10 * slotsPerEpoch + 2 }
    await using world = await openWorld(chain, { headSlot: 10 * slotsPerEpoch + 1, branches: [branch] })
    await world.step()
    assert.equal(world.shown().at(-1)?.epoch, 8)
    const ofBranch = world.shown().at(-1)
    await assertFigures(world, truthOfBranch(chain, branch), 9)
    await assert.rejects(assertFigures(world, chain.truth, 9), 'the branch has other figures')
    await world.step(1)
    assert.equal(world.shown().at(-1)?.epoch, 8)
    assert.notEqual(world.shown().at(-1)?.anchor, ofBranch?.anchor)
    await assertFigures(world, chain.truth, 9)
  })

test('an epoch that becomes final is never counted twice', async () => {
  const chain = simulate('provisional/chain')
  await using world = await openWorld(chain, { headSlot: 8 * slotsPerEpoch })
  await world.step()
  const [before, shown] = [await coverageEnd(world), epochsOf(world.shown())]
  // The epochs are stored, but the provisional ones are not updated yet.
  world.network.advance(2 * slotsPerEpoch)
  await world.follower.catchUp(signal)
  const stored = await coverageEnd(world)
  assert(stored > before && shown.some((epoch) => epoch < stored))
  assert.deepEqual(epochsOf(world.shown()), shown)
  await assertFigures(world, chain.truth, Math.max(stored, 7))
})

test('a response has every epoch once, even if epochs are stored while it is read', async () => {
  const chain = simulate('provisional/race', 16)
  await using world = await openWorld(chain, { headSlot: 8 * slotsPerEpoch })
  await world.step()
  const before = await coverageEnd(world)
  let queries = 0
  const duties: TestContext['duties'] = {
    ...world.context.duties,
    query: async (name, input, querySignal) => {
      queries += 1
      if (queries === 1) {
        world.network.advance(slotsPerEpoch)
        await world.follower.catchUp(signal)
      }
      return world.context.duties.query(name, input, querySignal)
    },
  }
  const { body, confidence } = await callHandler(explain, { ...world.context, duties }, inputOf(0))
  assert((await coverageEnd(world)) > before)
  assert(queries > 1, 'it was read again')
  assertDays(body.results, chain.truth, 0, 7)
  assert.equal(confidence?.asOf, 6)
})

const inputOf = (validator: number) => ({ network: 'hoodi', validator_index_or_pubkey: String(validator) }) as const

/** The days of a response cover the epochs before `until`, with the sums of the chain. */
function assertDays(days: readonly ExplainedDay[], truth: Truth, validator: number, until: number): void {
  assert.equal(days.at(-1)?.endEpoch, until - 1)
  for (const { day, totalAttestationAssignments, totalUniqueAttestations } of days) {
    const rows = [0, 1, 2, 3].map((at) => 4 * day + at).filter((epoch) => epoch < until)
    const sum = (name: 'assigned' | 'included') =>
      rows.reduce((total, epoch) => total + (truth.rows(epoch).get(validator)?.[name] ?? 0), 0)
    assert.deepEqual([totalAttestationAssignments, totalUniqueAttestations], [sum('assigned'), sum('included')])
  }
}

test('responses about a validator include epochs that are not final, and are marked', async () => {
  const chain = simulate('provisional/chain')
  await using world = await openWorld(chain, { headSlot: 9 * slotsPerEpoch })
  await world.step()
  const { context } = world
  const end = await coverageEnd(world)
  assert(end <= 7)
  const validators = [...chain.truth.rows(7).keys()]
  for (const validator of validators) {
    const { body, confidence } = await callHandler(explain, context, inputOf(validator))
    assertDays(body.results, chain.truth, validator, 8)
    assert.deepEqual(confidence, { asOf: 7, finality: 'head', coverage: 'complete' })
    const explained = body.results.flatMap(({ epochs }) => epochs)
    for (const { epoch, final } of explained) assert.equal(final, epoch < end)
    const missing = explained.filter(({ vote }) => vote?.included === false)
    const expected = [0, 1, 2, 3, 4, 5, 6, 7].filter((epoch) => {
      const { assigned = 0, included = 0 } = chain.truth.rows(epoch).get(validator) ?? {}
      return assigned > included
    })
    assert.deepEqual(
      missing.map(({ epoch }) => epoch),
      expected,
    )
  }
  for (const granularity of ['day', 'hour', 'all'] as const) {
    const { body, confidence } = await callHandler(effectiveness, context, { ...inputOf(0), granularity })
    assert.deepEqual(confidence, { asOf: 7, finality: 'head', coverage: 'complete' })
    assert.equal(Math.max(...body.results.map(({ endEpoch }) => endEpoch ?? 0)), 7)
  }
  // The first day is final.
  const first = await callHandler(effectiveness, context, { ...inputOf(0), toDay: 0 })
  assert.equal(first.confidence?.finality, 'finalized')
})

test('metadata has the status at the end of the newest epoch', async () => {
  const chain = simulate('provisional/chain')
  await using world = await openWorld(chain, { headSlot: 9 * slotsPerEpoch })
  await world.step()
  const { context } = world
  const [first, newest] = [world.shown()[0], world.shown().at(-1)]
  assert(first && newest)
  const index = 3
  assert(first.registry.index.includes(index), 'the first epoch has all entries')
  const registry = { ...first.registry, exit: first.registry.exit.map(() => 90) }
  context.validators.provisional.set('hoodi', { epochs: [first, { ...newest, registry }], duties: undefined })
  const { body, confidence } = await callHandler(metadata, context, inputOf(index))
  assert.equal((await readValidator(context.ingest, 'hoodi', index))?.exitEpoch, null)
  assert.equal(body.exitEpoch, 90)
  assert.deepEqual([confidence?.asOf, confidence?.finality], [7, 'head'])
})

test('without the setting, nothing is computed and responses have finalized epochs only', async () => {
  const chain = simulate('provisional/chain')
  await using world = await openWorld(chain, { headSlot: 9 * slotsPerEpoch, showProvisional: false })
  await world.follower.catchUp(signal)
  const requests = world.node.requestCount()
  await world.provisional.update(signal)
  assert.equal(world.node.requestCount(), requests)
  assert.equal(world.context.validators.provisional.size, 0)
  const end = await coverageEnd(world)
  const finalized = { asOf: end - 1, finality: 'finalized', coverage: 'complete' } as const
  const { body, confidence } = await callHandler(explain, world.context, inputOf(0))
  assertDays(body.results, chain.truth, 0, end)
  assert.deepEqual(confidence, finalized)
  assert.deepEqual((await callHandler(effectiveness, world.context, inputOf(0))).confidence, finalized)
  assert.deepEqual((await callHandler(metadata, world.context, inputOf(0))).confidence, finalized)
})

test('only validators on the watch list have figures, also after a change of the list', async () => {
  const chain = simulate('provisional/chain')
  await using world = await openWorld(chain, { headSlot: 9 * slotsPerEpoch, watch: ['3', '5'] })
  await world.step()
  for (const { watched } of world.shown()) assert.deepEqual([...(watched ?? [])], [3, 5])
  for (const validator of [3, 5]) {
    const { body, confidence } = await callHandler(explain, world.context, inputOf(validator))
    assertDays(body.results, chain.truth, validator, 8)
    assert.deepEqual(confidence, { asOf: 7, finality: 'head', coverage: 'complete' })
  }
  const count = world.shown().length
  world.head.setWatch(['5', '6'])
  await world.provisional.update(signal)
  assert.equal(world.shown().length, count)
  for (const { watched } of world.shown()) assert.deepEqual([...(watched ?? [])], [5, 6])
})

test('a head that has not changed costs one request, and a new block no epochs', async () => {
  await using world = await openWorld(simulate('provisional/chain'), { headSlot: 9 * slotsPerEpoch })
  await world.step()
  const shown = world.shown()
  const requests = world.node.requestCount()
  await world.provisional.update(signal)
  assert.equal(world.node.requestCount(), requests + 1)
  world.network.advance()
  await world.provisional.update(signal)
  assert.deepEqual(
    world.shown().map((epoch, at) => epoch === shown[at]),
    shown.map(() => true),
  )
})

test('a failure removes the epochs and is logged once; a later success shows them again', async () => {
  await using world = await openWorld(simulate('provisional/chain'), { headSlot: 9 * slotsPerEpoch })
  await world.step()
  const shown = world.shown()
  const warnings: string[] = []
  const log = { ...world.context.log, warn: ({ reason }: { reason: string }) => warnings.push(reason) }
  let fails = true
  const processor: HeadProcessor = {
    process: async () => {
      if (fails) throw new Error('no node')
      return { epochs: shown, duties: undefined }
    },
  }
  const context = { ...world.context, log: log as unknown as TestContext['log'] }
  const follower = createProvisionalFollower(context, 'hoodi', processor)
  await follower.update(signal)
  await follower.update(signal)
  assert.deepEqual(world.shown(), [])
  assert.deepEqual(warnings, ['no node'])
  fails = false
  await follower.update(signal)
  assert.equal(world.shown(), shown)
  follower.clear()
  assert.deepEqual(world.shown(), [])
})

test('a large network without a watch list has no provisional epochs', async () => {
  await using world = await openWorld(simulate('provisional/chain'), { headSlot: 9 * slotsPerEpoch })
  await world.step()
  assert(world.shown().length > 0)
  await register(world.context, 'hoodi', [unwatchedValidatorsMax])
  await world.provisional.update(signal)
  assert.deepEqual(world.shown(), [])
})

test('a server computes provisional epochs on its thread, and drops them when it stops ingesting', async () => {
  const chain = simulate('provisional/chain')
  await using world = await openWorld(chain, { headSlot: 9 * slotsPerEpoch })
  const { context } = world
  const stop = new AbortController()
  const running = startBeacon({ ...context, clock: systemClock }, stop.signal)
  await waitUntil(() => world.shown().length > 0)
  assert.equal(world.shown().at(-1)?.epoch, 7)
  await assertFigures(world, chain.truth, 8)
  stop.abort()
  await running
  assert.deepEqual(world.shown(), [])
})

/** Compares the duties of all validators at the current head with the simulation. */
async function assertDuties({ chain, network, context }: World, truth: Truth): Promise<Set<string>> {
  const { headSlot } = network
  const epoch = Math.floor(headSlot / slotsPerEpoch)
  const states = new Set<string>()
  // A new validator is registered when the epoch of its deposit is final.
  for (const validator of chain.truth.rows(epoch - 3).keys()) {
    const { body, confidence } = await callHandler(duties, context, inputOf(validator))
    assert.deepEqual(confidence, { asOf: epoch, finality: 'head', coverage: 'complete' })
    assert.deepEqual([body.headSlot, body.epoch], [headSlot, epoch])
    const epochs = [epoch - 1, epoch, epoch + 1].filter((at) => truth.rows(at).get(validator)?.assigned)
    assert.deepEqual(
      body.attestations.map((attestation) => attestation.epoch),
      epochs,
    )
    for (const { epoch: at, slot, timestamp, dueTimestamp, committee, state, delay } of body.attestations) {
      const dueMs = Math.floor((chain.plan.slotSeconds * 3333) / 10)
      assert.equal(Date.parse(dueTimestamp) - Date.parse(timestamp), dueMs)
      const position = (slot % slotsPerEpoch) * chain.plan.committeesPerSlot + committee
      const members = chain.epochs[at]?.committees[position]
      assert(members?.includes(validator), `validator ${validator}, slot ${slot}, committee ${committee}`)
      const delayInChain = truth.rows(at).get(validator)?.inclusion_delay ?? 0
      const isIncluded = delayInChain > 0 && slot + delayInChain <= headSlot
      assert.equal(state, isIncluded ? 'included' : slot < headSlot ? 'missing' : 'due')
      assert.equal(delay, isIncluded ? delayInChain : null)
      states.add(state)
    }
    const slots = Array.from({ length: 2 * slotsPerEpoch }, (_, at) => epoch * slotsPerEpoch + at)
    const proposerOf = (slot: number) => chain.epochs[Math.floor(slot / slotsPerEpoch)]?.proposers[slot % slotsPerEpoch]
    assert.deepEqual(
      body.proposals.map(({ slot }) => slot),
      slots.filter((slot) => slot > headSlot && proposerOf(slot) === validator),
    )
    assert.equal(body.inSyncCommittee, chain.epochs[epoch]?.sync.includes(validator))
  }
  return states
}

test('current duties follow the head, also after a reorganization', async () => {
  const branch = { from: 9 * slotsPerEpoch + 3, until: 10 * slotsPerEpoch + 2 }
  const chain = simulate('provisional/duties')
  await using world = await openWorld(chain, { headSlot: 9 * slotsPerEpoch, branches: [branch] })
  const ofBranch = truthOfBranch(chain, branch)
  let states = new Set<string>()
  for (let slot = 9 * slotsPerEpoch; slot < 12 * slotsPerEpoch; slot++) {
    await world.step()
    const isBranch = slot >= branch.from && slot < branch.until
    states = states.union(await assertDuties(world, isBranch ? ofBranch : chain.truth))
    world.network.advance()
  }
  assert.deepEqual([...states].sort(), ['due', 'included', 'missing'])
})

test('the payload status of the newest block follows the events of the node, without a new block', async () => {
  await using world = await openWorld(simulate('provisional/chain'), { headSlot: 9 * slotsPerEpoch })
  await world.step()
  const { headPayloads, provisional } = world.context.validators
  const root = provisional.get('hoodi')?.duties?.headRoot ?? ''
  const shown = async () => (await callHandler(duties, world.context, inputOf(2))).body.headPayload
  assert.equal(await shown(), 'unknown')
  for (const status of ['empty', 'full', 'empty', undefined] as const) {
    headPayloads.set('hoodi', { root, status })
    assert.equal(await shown(), status ?? 'unknown')
  }
  headPayloads.set('hoodi', { root: `0x${'00'.repeat(32)}`, status: 'full' })
  assert.equal(await shown(), 'unknown', 'of another block')
})

test('without provisional data, current duties are not known', async () => {
  const chain = simulate('provisional/chain')
  await using world = await openWorld(chain, { headSlot: 9 * slotsPerEpoch, showProvisional: false })
  await world.step()
  const { body, confidence } = await callHandler(duties, world.context, inputOf(2))
  const unknown = { headSlot: null, headPayload: 'unknown', epoch: null, inSyncCommittee: null }
  assert.deepEqual(body, {
    validatorIndex: 2,
    ...unknown,
    attestations: [],
    proposals: [],
    payloadVotes: [],
    blocks: [],
  })
  assert.deepEqual(confidence, { coverage: 'none' })
})

const processorOn = (url: string, epochsMax?: number): LocalHeadProcessor => {
  const beacon = openBeacon({ network: 'hoodi', urls: [url], timeoutMs: 10_000, clock: systemClock, backoffMs: 1 })
  const options = { watch: [], execution: undefined, statesOf: (node: Beacon) => new NodeStates(node) }
  return createHeadProcessor(beacon, epochsMax === undefined ? options : { ...options, epochsMax })
}

test('only the newest epochs are computed if many are not final', async () => {
  const network = new MovingHead(simulate('provisional/limit', 16), { headSlot: 12 * slotsPerEpoch })
  await using node = await openNodeOfRun(network)
  const processor = processorOn(node.url, 3)
  const request = { next: 2 }
  assert.deepEqual(epochsOf((await processor.process(request, signal)).epochs), [8, 9, 10])
  network.advance(slotsPerEpoch)
  assert.deepEqual(epochsOf((await processor.process(request, signal)).epochs), [9, 10, 11])
})

test('epochs and duties from an unknown fork on are not read', async () => {
  const fork = 11
  const network = new MovingHead(simulate('provisional/fork', 16), { headSlot: (fork - 2) * slotsPerEpoch })
  await using node = await openNodeOfRun(network)
  const schedule = jsonAt<object>(/\/config\/spec$/, (spec) => ({ ...spec, HEZE_FORK_EPOCH: String(fork) }))
  await using proxy = await openAlteringProxy(node.url, schedule)
  const processor = processorOn(proxy.url)
  const process = () => processor.process({ next: 6 }, signal)
  const before = await process()
  assert.deepEqual([epochsOf(before.epochs), before.duties?.headSlot], [[6, 7], (fork - 2) * slotsPerEpoch])
  network.advance(3 * slotsPerEpoch)
  const after = await process()
  assert.deepEqual([epochsOf(after.epochs), after.duties], [[6, 7, 8], undefined])
})

const fork = 3
const simulateFork = (seed: string, changes: Parameters<typeof simulateNetwork>[1] = {}): CompletedNetwork =>
  simulateNetwork(seed, { ...calm, ...small, calmEpochs: 4, slotSeconds: 12, forkEpochs: gloasFrom(fork), ...changes })

test('figures of epochs that are not final equal those of the chain across the fork to Gloas', async () => {
  const chain = simulateFork('provisional/gloas', { forkEpochs: gloasFrom(7) })
  await using world = await openWorld(chain, { headSlot: 6 * slotsPerEpoch })
  for (let head = 6; head < 14; head++) {
    await world.step()
    const stored = await coverageEnd(world)
    const expected = Array.from({ length: head - 1 - stored }, (_, at) => stored + at)
    assert.deepEqual(epochsOf(world.shown()), expected)
    assert(expected.length >= 2)
    await assertFigures(world, chain.truth, head - 1)
    world.network.advance(slotsPerEpoch)
  }
})

test('after a reorganization that changes only a payload, figures are those of the new chain', async () => {
  // The payload of the last block of epoch 7 is decided by the block of slot 37.
  const last = 8 * slotsPerEpoch - 1
  const emptySlots = [1, 2, 3, 4, 5].map((after) => last + after)
  const payloads = { [last]: { builder: 'self', value: 0n, executionPayment: 0n, delivery: 'full' } } as const
  const chain = simulateFork('provisional/payload', { emptySlots, payloads })
  const branch = { from: last + 6, until: last + 8, hasParentPayload: false }
  await using world = await openWorld(chain, { headSlot: last + 7, branches: [branch] })
  await world.step()
  assert.equal(world.shown().at(-1)?.epoch, 7)
  await assert.rejects(assertFigures(world, chain.truth, 8), /proposed_empty\s+1 !== 0/)
  await world.step(1)
  await assertFigures(world, chain.truth, 8)
})

test('current duties have the due times of a fork that is scheduled while the server runs', async () => {
  const chain = simulateFork('provisional/scheduled')
  const network = new MovingHead(chain, { headSlot: (fork - 1) * slotsPerEpoch })
  await using node = await openNodeOfRun(network)
  const unscheduled = jsonAt<{ GLOAS_FORK_EPOCH?: string }>(
    /\/config\/spec$/,
    ({ GLOAS_FORK_EPOCH: _, ...spec }) => spec,
  )
  await using proxy = await openAlteringProxy(node.url, unscheduled)
  const processor = processorOn(proxy.url)
  const dueOf = async () => {
    const { duties } = await processor.process({ next: 0 }, signal)
    const dueMs = duties?.epochs.find(({ epoch }) => epoch === fork)?.dueMs ?? 0
    return Math.round((dueMs * 10) / chain.plan.slotSeconds)
  }
  assert.equal(await dueOf(), 3333)
  // The node is down for one request while it is updated.
  let isDown = true
  const restart: Alteration = ({ path }) => {
    if (!path.endsWith('/headers/head') || !isDown) return undefined
    isDown = false
    return Buffer.from('-')
  }
  proxy.alter(restart)
  network.advance()
  // The constants are read again after the failure, so the next poll has them.
  await dueOf()
  network.advance()
  assert.equal(await dueOf(), 2500)
})
